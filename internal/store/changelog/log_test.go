// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/vfs"
)

func TestReopenReplaysEverything(t *testing.T) {
	o := options(t.TempDir())
	n := 0
	for range 4 {
		l, h := mustOpen(t, o)
		wantRecords(t, h, n)
		fill(t, l, h, n+1, n+100)
		n += 100
		mustClose(t, l)
	}
	if s := files(t, o.Dir, segmentExt); len(s) < 5 {
		t.Errorf("only %d segments", len(s))
	}
}

func TestSnapshotTakesThePlaceOfTheTail(t *testing.T) {
	o := options(t.TempDir())
	l, h := mustOpen(t, o)
	for i := range 3 {
		fill(t, l, h, i*100+1, i*100+100)
		if err := l.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if hl := l.Health(); hl.Snapshot != 300 || hl.Tail != 0 {
		t.Errorf("%+v", hl)
	}
	fill(t, l, h, 301, 310)
	mustClose(t, l)
	if s := files(t, o.Dir, snapshotExt); len(s) != 2 {
		t.Errorf("snapshots %v, want the last two", s)
	}
	if s := files(t, o.Dir, segmentExt); filepath.Base(s[0]) <= fileName(100, segmentExt) {
		t.Errorf("segment %v is older than the snapshots", s[0])
	}
	l, h = mustOpen(t, o)
	wantRecords(t, h, 310)
	if h.loaded != 300 || l.Recovery().Replayed != 10 {
		t.Errorf("%d loaded, %+v", h.loaded, l.Recovery())
	}
	mustClose(t, l)
}

func TestSnapshotWhenTheTailIsLong(t *testing.T) {
	o := options(t.TempDir())
	o.SnapshotAfter = 1000
	l, h := mustOpen(t, o)
	fill(t, l, h, 1, 2000)
	mustClose(t, l)
	l, h = mustOpen(t, o)
	wantRecords(t, h, 2000)
	r := l.Recovery()
	if r.Snapshot == 0 {
		t.Fatalf("no snapshot: %+v", r)
	}
	mustClose(t, l)
}

func TestSnapshotWithoutRecords(t *testing.T) {
	o := options(t.TempDir())
	l, h := mustOpen(t, o)
	if err := l.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	fill(t, l, h, 1, 3)
	mustClose(t, l)
	l, h = mustOpen(t, o)
	wantRecords(t, h, 3)
	mustClose(t, l)
}

func TestSecondOpenIsRefused(t *testing.T) {
	o := options(t.TempDir())
	l, _ := mustOpen(t, o)
	defer mustClose(t, l)
	var locked *vfs.LockedError
	if _, err := Open(t.Context(), o, &history{}); !errors.As(err, &locked) {
		t.Fatalf("second open: %v", err)
	}
}

func TestClosedLogRefuses(t *testing.T) {
	l, h := mustOpen(t, options(t.TempDir()))
	mustClose(t, l)
	if err := h.add(t.Context(), l, "x", false); !errors.Is(err, ErrClosed) {
		t.Errorf("append: %v", err)
	}
	if err := l.Snapshot(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("snapshot: %v", err)
	}
	if err := l.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("close: %v", err)
	}
	if s := l.Health().State; s != Closed {
		t.Errorf("state %v", s)
	}
}

func TestRefusedRecordsTakeNoNumber(t *testing.T) {
	o := options(t.TempDir())
	l, h := mustOpen(t, o)
	refused := errors.New("refused")
	_, err := l.wait(t.Context(), &Record{Prepare: func(dst []byte, _ uint64) ([]byte, error) {
		return append(dst, "half of it"...), refused
	}})
	if !errors.Is(err, refused) {
		t.Errorf("refused: %v", err)
	}
	if err := h.add(t.Context(), l, strings.Repeat("x", MaxRecord+1), false); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if seq, err := l.Append(t.Context(), nil, false); err != nil || seq != 0 {
		t.Errorf("empty: %d, %v", seq, err)
	}
	fill(t, l, h, 1, 1)
	mustClose(t, l)
	l, h = mustOpen(t, o)
	wantRecords(t, h, 1)
	mustClose(t, l)
}

func TestRecordLargerThanASegment(t *testing.T) {
	o := options(t.TempDir())
	l, h := mustOpen(t, o)
	big := strings.Repeat("x", 3*int(o.SegmentSize))
	for range 3 {
		for _, p := range []string{"small", big, big} {
			if err := h.add(t.Context(), l, p, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustClose(t, l)
	l, h = mustOpen(t, o)
	if len(h.records) != 9 || h.records[8] != big {
		t.Errorf("%d records", len(h.records))
	}
	mustClose(t, l)
}

func TestSyncedWithinTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t.TempDir())
		o.SyncEvery = 700 * time.Millisecond
		l, h := mustOpen(t, o)
		fill(t, l, h, 1, 10)
		if hl := l.Health(); hl.Written != 10 || hl.Synced != 0 {
			t.Errorf("after writing: %+v", hl)
		}
		time.Sleep(o.SyncEvery)
		synctest.Wait()
		if hl := l.Health(); hl.Synced != 10 {
			t.Errorf("after the bound: %+v", hl)
		}
		if err := h.add(t.Context(), l, payload(11), true); err != nil {
			t.Fatal(err)
		}
		if hl := l.Health(); hl.Synced != 11 {
			t.Errorf("after a synced record: %+v", hl)
		}
		fill(t, l, h, 12, 12)
		if err := l.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if hl := l.Health(); hl.Synced != 12 {
			t.Errorf("after Sync: %+v", hl)
		}
		mustClose(t, l)
	})
}

func TestManyCallersAreAnsweredInOrder(t *testing.T) {
	l, h := mustOpen(t, options(t.TempDir()))
	var mu sync.Mutex
	var order []uint64
	var wg, answers sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				answers.Add(1)
				err := l.Submit(t.Context(), h.record("x", false, func(seq uint64, err error) {
					mu.Lock()
					order = append(order, seq)
					mu.Unlock()
					if err != nil {
						t.Error(err)
					}
					answers.Done()
				}))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	answers.Wait()
	for i, seq := range order {
		if seq != uint64(i+1) {
			t.Fatalf("answer %d is for record %d", i, seq)
		}
	}
	mustClose(t, l)
}

func TestForeignAndUnfinishedFiles(t *testing.T) {
	o := options(t.TempDir())
	l, h := mustOpen(t, o)
	fill(t, l, h, 1, 5)
	mustClose(t, l)
	for _, name := range []string{"readme.txt", fileName(9, snapshotExt) + temporaryExt} {
		if err := os.WriteFile(filepath.Join(o.Dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, h = mustOpen(t, o)
	wantRecords(t, h, 5)
	mustClose(t, l)
	if s := files(t, o.Dir, temporaryExt); len(s) != 0 {
		t.Errorf("unfinished %v", s)
	}
	if s := files(t, o.Dir, "readme.txt"); len(s) != 1 {
		t.Error("a foreign file was removed")
	}
}
