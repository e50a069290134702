// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/vfs"
)

// crashed makes a directory as the end of a process leaves it: n records, all
// written, the ones up to synced also synced. It answers the open segment.
func crashed(t *testing.T, o Options, synced, n int) string {
	t.Helper()
	l, h := mustOpen(t, o)
	fill(t, l, h, 1, synced)
	if err := l.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	fill(t, l, h, synced+1, n)
	dir := copyDir(t, o.Dir)
	mustClose(t, l)
	segments := files(t, dir, segmentExt)
	return segments[len(segments)-1]
}

// offsets answers where the frames of a file begin.
func offsets(t *testing.T, b []byte) []int {
	t.Helper()
	var at []int
	for pos := fileHeader; pos < len(b); {
		f, err := newChecksum(42).parse(b[pos:])
		if err != nil {
			break
		}
		at = append(at, pos)
		pos += f.size
	}
	return at
}

func edit(t *testing.T, file string, change func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, change(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTornTailIsDropped(t *testing.T) {
	for _, c := range []struct {
		name string
		tear func(b []byte, last int) []byte
		want int
	}{
		{"nothing", func(b []byte, _ int) []byte { return b }, 12},
		{"file cut in the last record", func(b []byte, last int) []byte { return b[:last+30] }, 11},
		{"file cut in a header", func(b []byte, last int) []byte { return b[:last+10] }, 11},
		{"last record zero", func(b []byte, last int) []byte { clear(b[last:]); return b }, 11},
		{"last payload zero", func(b []byte, last int) []byte { clear(b[last+frameHeader:]); return b }, 11},
		{"garbage behind", func(b []byte, last int) []byte { b[last+200] = 1; return b }, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options(t.TempDir())
			o.SegmentSize = 64 << 10
			file := crashed(t, o, 10, 12)
			edit(t, file, func(b []byte) []byte {
				at := offsets(t, b)
				return c.tear(b, at[len(at)-1])
			})
			o.Dir = filepath.Dir(file)
			l, h := mustOpen(t, o)
			wantRecords(t, h, c.want)
			fill(t, l, h, c.want+1, 40)
			mustClose(t, l)
			l, h = mustOpen(t, o)
			wantRecords(t, h, 40)
			mustClose(t, l)
		})
	}
}

// A hole in the unsynced tail, as a power cut leaves it when pages were written
// in another order: what is behind it was never synced and goes too, for good.
func TestHoleInTheUnsyncedTailDropsTheRest(t *testing.T) {
	o := options(t.TempDir())
	o.SegmentSize = 64 << 10
	file := crashed(t, o, 5, 12)
	edit(t, file, func(b []byte) []byte {
		at := offsets(t, b)
		hole := at[slices.IndexFunc(at, func(a int) bool { return strings.Contains(string(b[a:a+60]), "record 8 ") })]
		clear(b[hole : hole+frameSize(len(payload(8)))])
		return b
	})
	o.Dir = filepath.Dir(file)
	l, h := mustOpen(t, o)
	wantRecords(t, h, 7)
	if l.Recovery().Dropped == 0 {
		t.Error("nothing dropped")
	}
	mustClose(t, l)
	l, h = mustOpen(t, o)
	wantRecords(t, h, 7)
	mustClose(t, l)
}

// What was dropped does not come back, even when new records end just where an
// old one, of the number that is due, began.
func TestDroppedRecordsStayAway(t *testing.T) {
	o := options(t.TempDir())
	o.SegmentSize = 64 << 10
	file := crashed(t, o, 5, 12)
	edit(t, file, func(b []byte) []byte {
		hole := bytes.Index(b, []byte(payload(8)))
		clear(b[hole : hole+8])
		return b
	})
	for size := 1; size < 2*frameSize(len(payload(8))); size += frameAlign {
		o.Dir = copyDir(t, filepath.Dir(file))
		l, h := mustOpen(t, o)
		wantRecords(t, h, 7)
		if err := h.add(t.Context(), l, strings.Repeat("n", size), false); err != nil {
			t.Fatal(err)
		}
		after := o
		after.Dir = copyDir(t, o.Dir)
		mustClose(t, l)
		l, h = mustOpen(t, after)
		if len(h.records) != 8 || h.records[7] != strings.Repeat("n", size) {
			t.Errorf("new record of %d bytes: %d records", size, len(h.records))
		}
		mustClose(t, l)
	}
}

// Whole frames that do not follow each other.
func TestGapBetweenFrames(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames []frame
		want   int
		lost   uint64 // 0: torn
	}{
		{"record never synced", []frame{{kind: frameRecord, seq: 1}, {kind: frameRecord, seq: 3}}, 1, 0},
		{"record synced", []frame{{kind: frameRecord, seq: 1}, {kind: frameRecord, seq: 3, synced: 2}}, 1, 2},
		{"record twice", []frame{{kind: frameRecord, seq: 1}, {kind: frameRecord, seq: 1}}, 1, 0},
		{"mark behind", []frame{{kind: frameRecord, seq: 1}, {kind: frameMark, seq: 2}}, 1, 0},
		{"mark says synced", []frame{{kind: frameRecord, seq: 1}, {kind: frameMark, seq: 2, synced: 2}}, 1, 2},
		{"old mark", []frame{{kind: frameRecord, seq: 1}, {kind: frameMark, seq: 0}, {kind: frameRecord, seq: 2}}, 2, 0},
		{"item of a snapshot", []frame{{kind: frameRecord, seq: 1}, {kind: frameItem, seq: 2}}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options(t.TempDir())
			b := appendFileHeader(nil, segmentMagic, o.ID, 0)
			for _, f := range c.frames {
				var at int
				b, at = begin(b)
				b = newChecksum(o.ID).finish(append(b, payload(int(f.seq))...), at, f.kind, f.seq, f.synced)
			}
			if err := os.WriteFile(filepath.Join(o.Dir, fileName(1, segmentExt)), b, 0o600); err != nil {
				t.Fatal(err)
			}
			h := &history{}
			l, err := Open(t.Context(), o, h)
			var d *DamageError
			if errors.As(err, &d) != (c.lost != 0) || d != nil && d.Seq != c.lost {
				t.Fatalf("open: %v", err)
			}
			if err == nil {
				wantRecords(t, h, c.want)
				mustClose(t, l)
			}
		})
	}
}

// After a sync without a record behind it the log says that its last record is
// on disk: damage to it is not taken for a torn tail.
func TestSyncedEndIsNoTornTail(t *testing.T) {
	for _, reopen := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			mem := vfs.NewMem()
			o := options("/log")
			o.FS = mem
			l, h := mustOpen(t, o)
			fill(t, l, h, 1, 10)
			if !reopen {
				time.Sleep(time.Second)
				synctest.Wait()
			}
			left := mem.CrashClone(nil, vfs.ProcessCrash)
			mustClose(t, l)
			o.FS = left
			if reopen {
				l, _ = mustOpen(t, o)
				o.FS = left.CrashClone(nil, vfs.ProcessCrash)
				left = o.FS.(*vfs.Mem)
				mustClose(t, l)
			}
			at := int64(fileHeader + 9*frameSize(len(payload(1))) + frameHeader)
			if err := left.Corrupt("/log/"+fileName(1, segmentExt), at, 1, func(b []byte) { b[0]++ }); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), o, &history{})
			if !isDamage(err) {
				t.Errorf("reopened %v: %v", reopen, err)
			}
		})
	}
}

func TestDamageIsRefusedAndNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		file   string
		seq    uint64 // first lost
		next   uint64
	}{
		{"payload in an old segment", flipRecord(3), fileName(1, segmentExt), 3, 4},
		{"length of the first record", func(t *testing.T, dir string) { flip(t, dir, 1, fileHeader+6, 0xFF) }, fileName(1, segmentExt), 1, 2},
		{"header", func(t *testing.T, dir string) { flip(t, dir, 1, 3, 0xFF) }, fileName(1, segmentExt), 1, 1},
		{"last record before the mark of the end", flipRecord(100), "", 100, 101},
		{"first segment gone", func(t *testing.T, dir string) { remove(t, dir, 0) }, "", 1, 0},
		{"second segment gone", func(t *testing.T, dir string) { remove(t, dir, 1) }, "", 0, 0},
		{"old segment cut", func(t *testing.T, dir string) {
			edit(t, files(t, dir, segmentExt)[0], func(b []byte) []byte { return b[:300] })
		}, fileName(1, segmentExt), 0, 0},
		{"old segment zeroed behind a record", func(t *testing.T, dir string) {
			edit(t, files(t, dir, segmentExt)[0], func(b []byte) []byte { clear(b[offsets(t, b)[5]:]); return b })
		}, "", 6, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options(t.TempDir())
			l, h := mustOpen(t, o)
			fill(t, l, h, 1, 100)
			mustClose(t, l)
			c.damage(t, o.Dir)
			_, err := Open(t.Context(), o, &history{})
			var d *DamageError
			if !errors.As(err, &d) {
				t.Fatalf("open: %v", err)
			}
			if c.file != "" && d.File != c.file || c.seq != 0 && d.Seq != c.seq || c.next != 0 && d.Next != c.next {
				t.Errorf("%+v", d)
			}
			checkRepair(t, o, d)
		})
	}
}

// checkRepair opens with Repair and checks that just the lost records are.
func checkRepair(t *testing.T, o Options, d *DamageError) {
	t.Helper()
	o.Repair = true
	l, h := mustOpen(t, o)
	for i, r := range h.records {
		lost := uint64(i+1) >= d.Seq && uint64(i+1) < d.Next
		if want := payload(i + 1); r != want && !lost {
			t.Errorf("record %d is %q after repair", i+1, r)
		}
	}
	if len(l.Recovery().Damage) == 0 {
		t.Error("repair reports nothing")
	}
	if err := h.add(t.Context(), l, "new", true); err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(h.records)
	mustClose(t, l)
	o.Repair = false
	l, h = mustOpen(t, o)
	if !slices.Equal(h.records, want) {
		t.Errorf("%d records after reopening, want %d", len(h.records), len(want))
	}
	mustClose(t, l)
}

func flip(t *testing.T, dir string, segment uint64, at int, bits byte) {
	t.Helper()
	edit(t, filepath.Join(dir, fileName(segment, segmentExt)), func(b []byte) []byte { b[at] ^= bits; return b })
}

func flipRecord(n int) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		for _, file := range files(t, dir, segmentExt) {
			edit(t, file, func(b []byte) []byte {
				if i := strings.Index(string(b), payload(n)); i >= 0 {
					b[i] ^= 1
				}
				return b
			})
		}
	}
}

func remove(t *testing.T, dir string, n int) {
	t.Helper()
	if err := os.Remove(files(t, dir, segmentExt)[n]); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedSnapshotFallsBack(t *testing.T) {
	for _, size := range []int64{100, 200, 333, 2048} { // one record a segment, and more
		o := options(t.TempDir())
		o.SegmentSize = size
		l, h := mustOpen(t, o)
		for i := range 3 {
			fill(t, l, h, i*20+1, i*20+20)
			if err := l.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		fill(t, l, h, 61, 70)
		mustClose(t, l)
		snapshots := files(t, o.Dir, snapshotExt)
		edit(t, snapshots[1], func(b []byte) []byte { b[bytes.Index(b, []byte(payload(55)))] ^= 1; return b })
		l, h = mustOpen(t, o)
		wantRecords(t, h, 70)
		if r := l.Recovery(); r.Snapshot != 40 || len(r.Aside) != 1 {
			t.Errorf("%+v", r)
		}
		mustClose(t, l)

		edit(t, snapshots[0], func(b []byte) []byte { return b[:len(b)-1] })
		if _, err := Open(t.Context(), o, &history{}); !isDamage(err) {
			t.Fatalf("open without a whole snapshot: %v", err)
		}
		o.Repair = true
		l, h = mustOpen(t, o)
		wantRecords(t, h, 70) // only the end of the snapshot was missing
		mustClose(t, l)
	}
}

func TestFileOfAnotherLogIsRefused(t *testing.T) {
	o := options(t.TempDir())
	l, h := mustOpen(t, o)
	fill(t, l, h, 1, 100)
	mustClose(t, l)
	other := options(t.TempDir())
	other.ID = 43
	l, h = mustOpen(t, other)
	fill(t, l, h, 1, 100)
	mustClose(t, l)
	second := filepath.Base(files(t, o.Dir, segmentExt)[1])
	b, err := os.ReadFile(filepath.Join(other.Dir, second))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, second), b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), o, &history{})
	if !isDamage(err) || !strings.Contains(err.Error(), "another change log") {
		t.Fatalf("open: %v", err)
	}
}

// Every flip of a bit in a cleanly closed log is found or does no harm.
func TestEveryFlippedByteIsFoundOrHarmless(t *testing.T) {
	o := options(t.TempDir())
	o.SegmentSize = 512
	l, h := mustOpen(t, o)
	fill(t, l, h, 1, 10)
	if err := l.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	fill(t, l, h, 11, 20)
	if err := l.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	fill(t, l, h, 21, 28)
	mustClose(t, l)
	found, harmless := 0, 0
	for _, file := range slices.Concat(files(t, o.Dir, segmentExt), files(t, o.Dir, snapshotExt)) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for at := range b {
			h := history{}
			o.FS = flippedFS{vfs.OS(), file, bytes.Clone(b)}
			o.FS.(flippedFS).b[at] ^= 1 << (at % 8)
			got, err := recoverDir(t.Context(), o.withDefaults(), &h)
			if got.file != nil {
				_ = got.file.Close()
			}
			switch {
			case err == nil && len(h.records) == 28:
				wantRecords(t, &h, 28)
				harmless++
			case isDamage(err):
				found++
			default:
				t.Fatalf("byte %d of %s: %d records, %v", at, file, len(h.records), err)
			}
		}
	}
	t.Logf("%d found, %d harmless", found, harmless)
	if found == 0 || harmless == 0 {
		t.Error("the test does not reach both")
	}
}

// flippedFS reads other bytes in one file, and renames nothing.
type flippedFS struct {
	vfs.FS
	name string
	b    []byte
}

func (f flippedFS) Open(name string) (vfs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || name != f.name {
		return file, err
	}
	return flippedFile{file, f.b}, nil
}

func (flippedFS) Rename(string, string) error { return nil }

type flippedFile struct {
	vfs.File
	b []byte
}

func (f flippedFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(f.b)) {
		return 0, io.EOF
	}
	return copy(p, f.b[off:]), nil
}

// A log that ends before its snapshot, which a snapshot that was copied alone
// can bring about: the snapshot holds all, and the log goes on behind it.
func TestLogShorterThanItsSnapshot(t *testing.T) {
	o := options(t.TempDir())
	o.SegmentSize = 64 << 10
	l, h := mustOpen(t, o)
	fill(t, l, h, 1, 50)
	short := copyDir(t, o.Dir)
	fill(t, l, h, 51, 60)
	if err := l.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustClose(t, l)
	b, err := os.ReadFile(filepath.Join(o.Dir, fileName(60, snapshotExt)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(short, fileName(60, snapshotExt)), b, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Dir = short
	for n := 60; n < 90; n += 10 {
		l, h = mustOpen(t, o)
		wantRecords(t, h, n)
		fill(t, l, h, n+1, n+10)
		mustClose(t, l)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{
			&DamageError{File: "f.log", From: 5, To: 9, Seq: 3, Next: 7, Why: "bad content"},
			"change log is damaged: f.log bytes 5 to 9: bad content; records from 3 to 6 are lost: restore a backup, or start with repair to set the range aside",
		},
		{
			&DamageError{File: "f.log", Seq: 3, Why: "missing"},
			"change log is damaged: f.log bytes 0 to 0: missing; records from 3 are lost: restore a backup, or start with repair to set the range aside",
		},
		{
			&DamageError{File: "f.log", To: 32, Seq: 3, Next: 3, Why: "checksum of the header differs"},
			"change log is damaged: f.log bytes 0 to 32: checksum of the header differs; no record is lost: restore a backup, or start with repair to set the range aside",
		},
		{
			&FencedError{Op: "sync", File: "f.log", Cause: io.ErrShortWrite},
			"change log is fenced after failed sync of f.log: short write: restart to read back what is on disk",
		},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
