// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The codecs give back what they were given, and take nothing with a bit
// flipped.

func TestFrameCodec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := frame{
			kind: frameKind(rapid.IntRange(1, 3).Draw(t, "kind")), slots: rapid.Uint16Min(1).Draw(t, "slots"),
			start: rapid.Int64Min(0).Draw(t, "start"), length: rapid.Uint32Min(1).Draw(t, "length"),
			records: rapid.Uint32().Draw(t, "records"), stamp: rapid.Int64().Draw(t, "stamp"), durable: rapid.Int64().Draw(t, "durable"),
			term: rapid.Uint64().Draw(t, "term"), index: rapid.Uint64().Draw(t, "index"), dataCRC: rapid.Uint32().Draw(t, "crc"),
		}
		b := make([]byte, slotSize)
		f.encode(b)
		if got, ok := decodeFrame(b); !ok || got != f {
			t.Fatalf("got %+v, %v; want %+v", got, ok, f)
		}
		flip(t, b)
		if _, ok := decodeFrame(b); ok {
			t.Fatal("accepted with a bit flipped")
		}
	})
}

func flip(t *rapid.T, b []byte) {
	b[rapid.IntRange(0, len(b)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
}

func TestUnitCodec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := unit{
			phys: rapid.Int64Range(0, 1<<56-1).Draw(t, "phys"), tag: rapid.Int64().Draw(t, "tag"),
			stamp: rapid.Int64Range(0, 1<<48-1).Draw(t, "stamp"), key: rapid.Uint32().Draw(t, "key"), size: rapid.Uint32Range(0, maxRecord).Draw(t, "size"),
		}
		offset := rapid.Int64Min(0).Draw(t, "offset")
		b := make([]byte, unitSize)
		u.encode(b, offset)
		if got, ok := decodeUnit(b, offset); !ok || got != u {
			t.Fatalf("got %+v, %v; want %+v", got, ok, u)
		}
		if _, ok := decodeUnit(b, offset+1); ok {
			t.Fatal("accepted at another offset")
		}
		flip(t, b)
		if _, ok := decodeUnit(b, offset); ok {
			t.Fatal("accepted with a bit flipped")
		}
	})
}

func TestCheckpointCodec(t *testing.T) {
	c := checkpoint{
		seq: 7, clean: true, async: true, boot: "8c2f9d3e-0000-4000-8000-000000000000", segSize: 1, start: 2, synced: 3,
		framePos: 4, indexed: 5, keyed: 6, stamp: 7, floors: 8,
	}
	b := make([]byte, ckptBytes)
	c.encode(b)
	if got, ok := decodeCheckpoint(b); !ok || got != c {
		t.Fatalf("got %+v, %v", got, ok)
	}
	for i := range len(b) * 8 {
		b[i/8] ^= 1 << (i % 8)
		if _, ok := decodeCheckpoint(b); ok {
			t.Fatalf("accepted with bit %d flipped", i)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

func TestFloorsCodec(t *testing.T) {
	want := []floorEntry{{floorNext, "T", 0, 5}, {floorMark, "%RETRY%group", 7, 1 << 40}, {floorDrop, "x", 1, 0}}
	b := appendFloorGroup([]byte("front"), want)[5:]
	got, n := decodeFloorGroup(append(b, "behind"...))
	if n != len(b) || n%floorsAlign != 0 || !slices.Equal(got, want) {
		t.Fatalf("got %v, %d of %d bytes", got, n, len(b))
	}
	for i := range len(b) * 8 {
		b[i/8] ^= 1 << (i % 8)
		if _, n := decodeFloorGroup(b); n != 0 {
			t.Fatalf("accepted with bit %d flipped", i)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

func TestRunCodec(t *testing.T) {
	var r runBuilder
	r.reset(100, 900, frameRef{pos: 64, crc: 5})
	q1, q2 := &queue{topic: "A", id: 1}, &queue{topic: "B", id: 2}
	units := func(n int, stamp int64) (out []unit) {
		for i := range n {
			out = append(out, unit{phys: int64(100 + i), size: 91, stamp: stamp})
		}
		return out
	}
	r.add(q1, memExtent{base: 0, units: units(3, 50)})
	r.add(q1, memExtent{base: 3, units: units(2, 60)}) // goes on
	r.add(q1, memExtent{base: 9, units: units(1, 70)}) // a hole before
	r.add(q2, memExtent{base: 4, units: units(4, 40)})
	b := append([]byte("0123456789"), r.bytes()...)
	h, dir, ok, err := readRun(bytes.NewReader(b), 10)
	if err != nil || !ok || h.from != 100 || h.to != 900 || h.units != 10 || h.oldest != 40 || h.newest != 70 || h.length != int64(len(b)-10) {
		t.Fatalf("header %+v, %v, %v", h, ok, err)
	}
	var got []string
	if err := decodeDir(dir, &h, func(e dirEntry, at int64) error {
		got = append(got, fmt.Sprintf("%s/%d %d+%d @%d", e.topic, e.id, e.base, e.count, at))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"A/1 0+5 @0", "A/1 9+1 @160", "B/2 4+4 @192"}; !slices.Equal(got, want) {
		t.Fatalf("directory %v", got)
	}
	on := r.extents(&indexFile{}, 10)
	if e := on[q2][0]; e.base != 4 || e.count != 4 || e.pos != 10+runHeader+int64(len(dir))+192 {
		t.Fatalf("extent %+v", e)
	}
	for i := 10 * 8; i < (10+runHeader+len(dir))*8; i++ {
		b[i/8] ^= 1 << (i % 8)
		if _, _, ok, err := readRun(bytes.NewReader(b), 10); ok && err == nil {
			t.Fatalf("accepted with bit %d flipped", i)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

func TestKeyRunCodec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3*keyInBlock).Draw(t, "keys")
		var keys []keyRef
		for i := range n {
			keys = append(keys, keyRef{hash: bits.Reverse64(uint64(i%200) * 0x9e3779b97f4a7c15), phys: int64(i)})
		}
		want := slices.Clone(keys)
		b := encodeKeyRun(10, 20, frameRef{1, 2}, keys)
		h, ok := decodeKeyHead(b)
		if !ok || h.entries != int64(n) || h.length != int64(len(b)) || h.from != 10 || h.to != 20 || h.last != (frameRef{1, 2}) {
			t.Fatalf("header %+v, %v", h, ok)
		}
		run := keyRun{head: h}
		for _, k := range want {
			got, err := run.search(bytes.NewReader(b), k.hash, nil)
			if err != nil || !slices.Contains(got, k.phys) {
				t.Fatalf("search for %x: %v, %v", k.hash, got, err)
			}
		}
		if got, err := run.search(bytes.NewReader(b), 12345, nil); err != nil || len(got) != 0 {
			t.Fatalf("search for nothing: %v, %v", got, err)
		}
	})
}

func FuzzDecoders(f *testing.F) {
	fr := frame{kind: frameBatch, slots: 1, start: 5, length: 9}
	b := make([]byte, slotSize)
	fr.encode(b)
	f.Add(b)
	c := checkpoint{boot: "x"}
	b = make([]byte, ckptBytes)
	c.encode(b)
	f.Add(b)
	f.Add(appendFloorGroup(nil, []floorEntry{{floorNext, "T", 0, 5}}))
	var r runBuilder
	r.reset(1, 2, frameRef{})
	r.add(&queue{topic: "A"}, memExtent{units: make([]unit, 2)})
	f.Add(slices.Clone(r.bytes()))
	f.Add(encodeKeyRun(1, 2, frameRef{}, []keyRef{{1, 2}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if fr, ok := decodeFrame(b); ok {
			again := make([]byte, slotSize)
			fr.encode(again)
			if b[5] == 0 && !bytes.Equal(again, b[:slotSize]) {
				t.Errorf("frame %+v", fr)
			}
		}
		if c, ok := decodeCheckpoint(b); ok {
			again := make([]byte, ckptBytes)
			c.encode(again)
			if d, ok := decodeCheckpoint(again); !ok || d != c {
				t.Errorf("checkpoint %+v", c)
			}
		}
		if e, n := decodeFloorGroup(b); n > 0 {
			if d, m := decodeFloorGroup(appendFloorGroup(nil, e)); m == 0 || !reflect.DeepEqual(d, e) {
				t.Errorf("floors %+v", e)
			}
		}
		if h, dir, ok, err := readRun(bytes.NewReader(b), 0); ok && err == nil {
			_ = decodeDir(dir, &h, func(dirEntry, int64) error { return nil })
		}
		if h, ok := decodeKeyHead(b); ok {
			run := keyRun{head: h}
			_, _ = run.search(bytes.NewReader(b), 1, nil)
		}
		if len(b) >= keyBlock {
			_, _ = decodeKeyBlock(nil, b)
		}
		if len(b) >= unitSize {
			_, _ = decodeUnit(b, 3)
		}
		s := scanFrames(bytes.NewReader(b), 0)
		for range len(b) + 2 {
			if more, err := s.next(); !more || err != nil {
				break
			}
		}
		_, _ = findFrame(bytes.NewReader(b), int64(len(b)), 7)
	})
}

// FuzzOpen spoils the files of a store: opening, reading and verifying it may
// fail but must end, and nothing read may be wrong.
func FuzzOpen(f *testing.F) {
	f.Add(uint16(0), uint32(0), []byte{0})
	f.Add(uint16(1), uint32(100), []byte("spoilt"))
	f.Add(uint16(3), uint32(16*kib+70), bytes.Repeat([]byte{0xff}, 200))
	f.Fuzz(func(t *testing.T, file uint16, off uint32, with []byte) {
		s := makeSample(t, file%2 == 0)
		s.few = true
		names := s.mem.Files()
		name := names[int(file)%len(names)]
		w, err := s.mem.OpenRW(name)
		if err != nil {
			return // the lock file
		}
		size, _ := w.Size()
		if _, err := w.WriteAt(with, int64(off)%(size+1)); err != nil {
			t.Fatal(err)
		}
		_, _ = Verify(t.Context(), s.mem, "/store", nil)
		_, _ = Inspect(t.Context(), s.mem, "/store")
		st, err := Open(t.Context(), s.o)
		if err != nil {
			return
		}
		defer st.Close()
		for id, want := range s.want {
			got, err := readBodies(st, id.Topic, id.Queue)
			if err != nil {
				continue
			}
			for i, b := range got {
				if b != want[i] {
					t.Fatalf("%v %d: %.40q", id, i, b)
				}
			}
		}
	})
}
