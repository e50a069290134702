// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/vfs"
)

// sample is a small store with something in every file, and what it holds.
type sample struct {
	o    Options
	mem  *vfs.Mem
	want map[QueueID][]string
	keys map[string]string // key to body
	few  bool              // check a part of the keys only
}

func makeSample(t *testing.T, clean bool) *sample {
	t.Helper()
	s := &sample{mem: vfs.NewMem(), want: map[QueueID][]string{}, keys: map[string]string{}}
	s.o = small("/store", s.mem)
	s.o.SegmentSize, s.o.IndexEvery, s.o.FillAhead, s.o.TailCache = 16*kib, 3*kib, 8*kib, 8*kib
	st := mustOpen(t, s.o)
	st.RaiseFloor("T", 3, 7)
	for i := range 130 {
		id := QueueID{fmt.Sprint("T", i%2), int32(i % 3)}
		body := fmt.Sprintf("message %d %0*d", i, i%300, i)
		key := fmt.Sprint("key", i)
		mustAppend(t, st, message(id.Topic, id.Queue, body, msg.PropKeys, key, msg.PropTags, fmt.Sprint("tag", i%4)))
		s.want[id] = append(s.want[id], body)
		s.keys[key] = body
	}
	if err := st.DropTopic("none"); err != nil {
		t.Fatal(err)
	}
	if clean {
		mustClose(t, st)
		return s
	}
	// The process is killed: what it wrote is there.
	s.mem, s.o.FS = s.mem.CrashClone(nil, vfs.ProcessCrash), nil
	mustClose(t, st)
	s.o.FS = s.mem
	return s
}

// clone returns a copy whose bytes can be spoilt.
func (s *sample) clone() *sample {
	c := *s
	c.mem = s.mem.CrashClone(nil, vfs.ProcessCrash)
	c.o.FS = c.mem
	return &c
}

// check reads everything. An error of the kind ErrDamaged is fair, a wrong
// answer is not.
func (s *sample) check(st *Store, t *testing.T) error {
	for id, want := range s.want {
		got, err := readBodies(st, id.Topic, id.Queue)
		if err != nil {
			return err
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("%v: %d messages, want %d", id, len(got), len(want))
		}
		tag := func(h int64) bool { return h == msg.TagHash("tag1") }
		n := 0
		for at := int64(0); at < int64(len(want)); {
			r, err := st.Read(id.Topic, id.Queue, at, ReadLimit{}, tag)
			if err != nil {
				return err
			}
			n += r.Count
			at = r.Next
		}
		if have := tagged(want); n != have {
			return fmt.Errorf("%v: filter took %d of %d", id, n, have)
		}
	}
	for key, body := range s.keys {
		if s.few && !strings.HasSuffix(key, "3") {
			continue
		}
		n := 0
		for _, topic := range []string{"T0", "T1"} {
			got, err := st.QueryKey(t.Context(), topic, key, 10, 0, 1<<60)
			if err != nil {
				return err
			}
			for _, rec := range got {
				if string(msg.View(rec).Body()) != body {
					return fmt.Errorf("key %s has a wrong body", key)
				}
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("key %s: %d records", key, n)
		}
	}
	return nil
}

func tagged(bodies []string) (n int) {
	for _, b := range bodies {
		var i int
		fmt.Sscanf(b, "message %d", &i)
		if i%4 == 1 {
			n++
		}
	}
	return n
}

// open opens and checks a spoilt store. It returns what was reported.
func (s *sample) open(t *testing.T) error {
	st, err := Open(t.Context(), s.o)
	if err != nil {
		return err
	}
	err = s.check(st, t)
	return errors.Join(err, st.Close())
}

// TestBitFlips flips single bits in every file of a store: each must be found
// by opening, reading or verifying, or do no harm. Nothing may be read wrong.
func TestBitFlips(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	each := max(30**crashPoints/500, 1) // more of them in make crash
	for _, clean := range []bool{true, false} {
		s := makeSample(t, clean)
		if err := s.clone().open(t); err != nil {
			t.Fatalf("unspoilt: %v", err)
		}
		s.few = true
		found, harmless := 0, 0
		for _, name := range s.mem.Files() {
			in, err := s.mem.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			flips := min(int(in.Size), each)
			for range flips {
				off, bit := rng.Int64N(in.Size), rng.IntN(8)
				if flips < each {
					off = int64(rng.IntN(flips))
				}
				c := s.clone()
				if err := c.mem.Corrupt(name, off, 1, func(b []byte) { b[0] ^= 1 << bit }); err != nil {
					t.Fatal(err)
				}
				v, verr := Verify(t.Context(), c.mem, "/store", nil)
				err := c.open(t)
				switch {
				case err == nil && verr == nil && v.OK():
					harmless++
				case err == nil || errors.Is(err, ErrDamaged):
					found++
				default:
					t.Fatalf("clean %v: bit %d of byte %d of %s: %v (verify: %+v, %v)", clean, bit, off, name, err, v, verr)
				}
				if err != nil && (verr != nil || v.OK()) && clean {
					t.Fatalf("bit %d of byte %d of %s: open says %v, verify nothing", bit, off, name, err)
				}
			}
		}
		t.Logf("clean %v: %d flips found, %d harmless", clean, found, harmless)
	}
}

// TestLiveBytesAreChecked flips bits where messages and frames are: none may be
// called harmless by verify.
func TestLiveBytesAreChecked(t *testing.T) {
	s := makeSample(t, true)
	in, err := Inspect(t.Context(), s.mem, "/store")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 4))
	for _, g := range in.Segments {
		for range 40 {
			for start, limit := range map[int64]int64{0: g.Used, in.SegmentSize: int64(g.Frames) * slotSize} {
				if start == 0 && g.Used == in.SegmentSize {
					limit -= 600 // the filler at the end is not written in full
				}
				if limit <= 0 {
					continue
				}
				off := start + rng.Int64N(limit)
				c := s.clone()
				name := path.Join("/store", logDir, g.Name)
				if err := c.mem.Corrupt(name, off, 1, func(b []byte) { b[0] ^= 1 << rng.IntN(8) }); err != nil {
					t.Fatal(err)
				}
				if v, err := Verify(t.Context(), c.mem, "/store", nil); err != nil || v.OK() {
					t.Fatalf("byte %d of %s: verify finds nothing, %v", off, name, err)
				}
			}
		}
	}
}

func TestIndexesAreRebuilt(t *testing.T) {
	for name, harm := range map[string]func(m *vfs.Mem, file string) error{
		"removed": func(m *vfs.Mem, f string) error { return m.Remove(f) },
		"empty":   func(m *vfs.Mem, f string) error { _, err := m.Create(f); return err },
		"cut":     cutInHalf,
		"zeroed": func(m *vfs.Mem, f string) error {
			in, err := m.Stat(f)
			return errors.Join(err, m.Corrupt(f, 0, int(in.Size), func(b []byte) { clear(b) }))
		},
	} {
		for _, dir := range []string{queueDir, keyDir} {
			t.Run(name+" "+dir, func(t *testing.T) {
				s := makeSample(t, true)
				for i, f := range s.mem.Files() {
					if strings.Contains(f, "/"+dir+"/") && (name != "removed" || i%2 == 0) {
						if err := harm(s.mem, f); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := s.open(t); err != nil {
					t.Fatal(err)
				}
				if v, err := Verify(t.Context(), s.mem, "/store", nil); err != nil || !v.OK() {
					t.Fatalf("after the rebuild: %+v, %v", v, err)
				}
			})
		}
	}
}

func cutInHalf(m *vfs.Mem, name string) error {
	f, err := m.OpenRW(name)
	if err != nil {
		return err
	}
	n, err := f.Size()
	return errors.Join(err, f.Truncate(n/2), f.Close())
}

// TestOtherIndex gives a store the indexes of another one.
func TestOtherIndex(t *testing.T) {
	a, b := makeSample(t, true), makeSample(t, true)
	for _, f := range a.mem.Files() {
		if !strings.Contains(f, "index/") {
			continue
		}
		src, err := b.mem.Open(f)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := readAll(src, maxFloors)
		if err != nil {
			t.Fatal(err)
		}
		dst, err := a.mem.Create(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dst.WriteAt(data, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.open(t); err != nil {
		t.Fatal(err)
	}
}

// TestDamage breaks batches in the middle and follows them through refusal and
// repair.
func TestDamage(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, s *sample){
		"body":        func(t *testing.T, s *sample) { s.flip(t, logDir, 1, 3*kib) },
		"two bodies":  func(t *testing.T, s *sample) { s.flip(t, logDir, 1, 3*kib); s.flip(t, logDir, 2, 300) },
		"frame":       func(t *testing.T, s *sample) { s.flip(t, logDir, 1, 16*kib+5*slotSize+20) },
		"first frame": func(t *testing.T, s *sample) { s.flip(t, logDir, 1, 16*kib+20) },
		"zeros": func(t *testing.T, s *sample) {
			f := path.Join("/store", logDir, segName(16*kib))
			if err := s.mem.Corrupt(f, 4*kib, 4*kib, func(b []byte) { clear(b) }); err != nil {
				t.Fatal(err)
			}
		},
		"zero frames": func(t *testing.T, s *sample) {
			f := path.Join("/store", logDir, segName(16*kib))
			if err := s.mem.Corrupt(f, 16*kib+512, 512, func(b []byte) { clear(b) }); err != nil {
				t.Fatal(err)
			}
		},
		"no frames": func(t *testing.T, s *sample) {
			f, err := s.mem.OpenRW(path.Join("/store", logDir, segName(0)))
			if err := errors.Join(err, f.Truncate(16*kib)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := makeSample(t, true)
			harm(t, s)
			v, err := Verify(t.Context(), s.mem, "/store", nil)
			if err != nil || v.OK() {
				t.Fatalf("verify finds nothing: %v", err)
			}
			// A read names the range; messages elsewhere are readable.
			if err := s.clone().open(t); !errors.Is(err, ErrDamaged) {
				t.Fatalf("read of damage: %v", err)
			}
			s.o.Repair = true
			st := mustOpen(t, s.o)
			reps := st.Repairs()
			if len(reps) == 0 {
				t.Fatal("nothing repaired")
			}
			for _, r := range reps {
				in, err := s.mem.Stat(r.File)
				if err != nil || in.Size != r.To-r.From || r.To <= r.From {
					t.Fatalf("repair %+v: file of %d bytes, %v", r, in.Size, err)
				}
			}
			left := s.remaining(t, st)
			kept := !slices.ContainsFunc(reps, func(r Repair) bool { return !r.Kept })
			if left == 0 || kept != (left == 130) || kept != strings.Contains(name, "frame") {
				t.Fatalf("%d messages left of 130, kept %v: %+v", left, kept, reps)
			}
			mustAppend(t, st, message("T0", 0, "after"))
			mustClose(t, st)
			s.o.Repair = false
			st = mustOpen(t, s.o)
			if again := s.remaining(t, st); again != left+1 {
				t.Fatalf("%d messages after the restart, want %d", again, left+1)
			}
			mustClose(t, st)
			if v, err := Verify(t.Context(), s.mem, "/store", nil); err != nil || !v.OK() {
				t.Fatalf("verify after repair: %+v, %v", v.Findings, err)
			}
			if in, err := Inspect(t.Context(), s.mem, "/store"); err != nil || len(in.Aside) != len(reps) || in.Aside[0] != reps[0].File {
				t.Fatalf("inspect after repair: %v, %v", in.Aside, err)
			}
		})
	}
}

func (s *sample) flip(t *testing.T, dir string, segment int64, off int64) {
	t.Helper()
	f := path.Join("/store", dir, segName(segment*16*kib))
	if err := s.mem.Corrupt(f, off, 1, func(b []byte) { b[0] ^= 4 }); err != nil {
		t.Fatal(err)
	}
}

// remaining reads what a repaired store has: right messages, holes between.
func (s *sample) remaining(t *testing.T, st *Store) (n int) {
	t.Helper()
	for id, want := range s.want {
		lo, hi := st.Bounds(id.Topic, id.Queue)
		for at := lo; at < hi; {
			r, err := st.Read(id.Topic, id.Queue, at, ReadLimit{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			msgs, err := msg.DecodeRecords(r.Records)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range msgs {
				n++
				if m.QueueOffset < int64(len(want)) && string(m.Body) != want[m.QueueOffset] {
					t.Fatalf("%v %d: %.30q, want %.30q", id, m.QueueOffset, m.Body, want[m.QueueOffset])
				}
			}
			at = r.Next
		}
	}
	return n
}

// TestDamageAtTheEnd breaks the last batch: behind a clean stop that is damage,
// after a kill as well, since the kernel has run on.
func TestDamageAtTheEnd(t *testing.T) {
	for _, clean := range []bool{true, false} {
		s := makeSample(t, clean)
		in, err := Inspect(t.Context(), s.mem, "/store")
		if err != nil {
			t.Fatal(err)
		}
		s.flip(t, logDir, in.End/(16*kib), in.End%(16*kib)-100)
		if err := s.open(t); !errors.Is(err, ErrDamaged) {
			t.Fatalf("clean %v: open: %v", clean, err)
		}
	}
}
