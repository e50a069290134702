// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"testing"

	"github.com/orderlymq/orderly/internal/vfs"
)

func TestFrameComesBack(t *testing.T) {
	sum := newChecksum(7)
	for _, n := range []int{0, 1, 7, 8, 9, 1000} {
		b, at := begin([]byte("12345678"))
		b = sum.finish(append(b, bytes.Repeat([]byte{0xAB}, n)...), at, frameRecord, 1<<40, 1<<40-5)
		if len(b)%frameAlign != 0 || len(b) != 8+frameSize(n) {
			t.Errorf("payload of %d: length %d", n, len(b))
		}
		f, err := sum.parse(b[8:])
		if err != nil || f.seq != 1<<40 || f.synced != 1<<40-5 || len(f.payload) != n || f.size != len(b)-8 {
			t.Errorf("payload of %d: %+v, %v", n, f, err)
		}
		if _, err := newChecksum(8).parse(b[8:]); !errors.Is(err, errBadContent) {
			t.Errorf("frame of another log: %v", err)
		}
		for cut := 1; cut < len(b)-8; cut++ {
			if _, err := sum.parse(b[8 : 8+cut]); err == nil {
				t.Errorf("payload of %d cut at %d is taken", n, cut)
			}
		}
		if f, at, ok := sum.next(append([]byte("damage!!"), b...), 0); !ok || at != 16 || f.seq != 1<<40 {
			t.Errorf("payload of %d is not found behind damage", n)
		}
	}
}

func TestFrameClaimsOnlyWhatItCanSay(t *testing.T) {
	sum := newChecksum(7)
	for _, c := range []struct{ seq, synced, want uint64 }{
		{5, 0, 0}, {5, 5, 5}, {5, 9, 5}, {1 << 40, 3, 1<<40 - math.MaxUint32},
	} {
		b, at := begin(nil)
		f, err := sum.parse(sum.finish(b, at, frameMark, c.seq, c.synced))
		if err != nil || f.synced != c.want {
			t.Errorf("%+v: %+v, %v", c, f, err)
		}
	}
}

// The bytes of a frame are fixed: what is on disk stays readable.
func TestFrameBytes(t *testing.T) {
	b, at := begin(nil)
	b = newChecksum(42).finish(append(b, "abc"...), at, frameRecord, 3, 1)
	const want = "4f430100" + "00000003" + "0000000000000003" + "00000002" + "d0b91be3" + "6162630000000000"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	h := appendFileHeader(nil, segmentMagic, 42, 0)
	const wantHeader = "4f524443484c4731" + "000000000000002a" + "0000000000000000" + "00000000" + "d3af4885"
	if got := hex.EncodeToString(h); got != wantHeader {
		t.Errorf("%s, want %s", got, wantHeader)
	}
}

func FuzzParse(f *testing.F) {
	sum := newChecksum(1)
	b, at := begin(nil)
	b = sum.finish(append(b, "payload"...), at, frameRecord, 9, 3)
	f.Add(b)
	b2, at := begin(b)
	f.Add(sum.finish(b2, at, frameMark, 9, 9))
	f.Add(make([]byte, 100))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := sum.parse(b)
		if err == nil {
			again, at := begin(nil)
			again = sum.finish(append(again, got.payload...), at, got.kind, got.seq, got.synced)
			if !bytes.Equal(again[:frameHeader+len(got.payload)], b[:frameHeader+len(got.payload)]) {
				t.Fatalf("%x became %x", b, again)
			}
		} else if !isFrameError(err) {
			t.Fatal(err)
		}
		sum.next(b, 0)
	})
}

func FuzzOpenSegment(f *testing.F) {
	sum := newChecksum(42)
	b := appendFileHeader(nil, segmentMagic, 42, 0)
	for i := range 5 {
		var at int
		b, at = begin(b)
		b = sum.finish(append(b, payload(i+1)...), at, frameRecord, uint64(i+1), uint64(i))
	}
	f.Add(b[fileHeader:])
	f.Add(make([]byte, 64))
	f.Fuzz(func(t *testing.T, frames []byte) {
		r := &recovery{o: Options{}.withDefaults(), m: &history{}, sum: sum}
		r.found.id, r.want = 42, 1
		r.have.segments = []uint64{1, 1 << 20} // never the last: no file is touched
		file := append(appendFileHeader(nil, segmentMagic, 42, 0), frames...)
		resume, err := r.replayBytes(0, file, fileHeader)
		if err == nil && resume.ok && resume.segment == 0 && resume.at <= fileHeader {
			t.Fatalf("no progress: %+v", resume)
		}
	})
}

// FuzzLoadSnapshot: whatever the file holds, loading it ends; what is loaded
// without complaint is a whole snapshot.
func FuzzLoadSnapshot(f *testing.F) {
	sum := newChecksum(42)
	snapshot := func(items ...string) []byte {
		var b []byte
		var at int
		for i, item := range items {
			b, at = begin(b)
			b = sum.finish(append(b, item...), at, frameItem, uint64(i+1), 0)
		}
		b, at = begin(b)
		return sum.finish(b, at, frameEnd, uint64(len(items)), 0)
	}
	f.Add(snapshot())
	f.Add(snapshot("a", "item of more than eight bytes"))
	f.Add(snapshot("cut off")[:40])
	f.Add(make([]byte, 64))
	f.Fuzz(func(t *testing.T, frames []byte) {
		mem := vfs.NewMem()
		if err := mem.MkdirAll("log"); err != nil {
			t.Fatal(err)
		}
		file, err := mem.Create("log/" + fileName(3, snapshotExt))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt(append(appendFileHeader(nil, snapshotMagic, 42, 3), frames...), 0); err != nil {
			t.Fatal(err)
		}
		for _, salvage := range []bool{false, true} {
			m := &items{}
			r := &recovery{o: Options{FS: mem, Dir: "log"}.withDefaults(), m: m, sum: sum}
			r.found.id = 42
			damage, err := r.load(t.Context(), 3, salvage)
			if err != nil {
				t.Fatal(err)
			}
			if whole := snapshot(m.got...); damage == nil && !salvage && len(frames) < len(whole) {
				t.Errorf("%d items out of %d bytes", len(m.got), len(frames))
			}
		}
	})
}

// items is a machine that keeps what a snapshot holds.
type items struct {
	history
	got []string
}

func (m *items) Load(item []byte) error {
	m.got = append(m.got, string(item))
	return nil
}
