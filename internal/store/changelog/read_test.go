// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// snapshotOfDir is every file of a directory with its content.
func snapshotOfDir(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(b)
	}
	return all
}

func TestReadChangesNothing(t *testing.T) {
	o := options(t.TempDir())
	l, h := mustOpen(t, o)
	for i := range 2 {
		fill(t, l, h, i*50+1, i*50+50)
		if err := l.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, l, h, 101, 130)
	left := o
	left.Dir = copyDir(t, o.Dir) // next.tmp and all
	mustClose(t, l)
	flipRecord(90)(t, left.Dir)
	edit(t, files(t, left.Dir, snapshotExt)[1], func(b []byte) []byte { return b[:len(b)-3] })
	before := snapshotOfDir(t, left.Dir)
	got := &history{}
	if _, err := Read(t.Context(), left, got); !isDamage(err) {
		t.Errorf("a damaged log: %v", err)
	}
	if !maps.Equal(before, snapshotOfDir(t, left.Dir)) {
		t.Error("the directory has changed")
	}
	if _, err := Read(t.Context(), o, got); err != nil {
		t.Fatal(err)
	}
	wantRecords(t, got, 130)
}

func TestReadOfNothing(t *testing.T) {
	o := options(filepath.Join(t.TempDir(), "none"))
	if _, err := Read(t.Context(), o, &history{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read: %v", err)
	}
	if _, err := os.Stat(o.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the directory was made")
	}
}

func TestReadBesideARunningLog(t *testing.T) {
	o := options(t.TempDir())
	o.SegmentSize, o.SnapshotAfter = 512, 2000
	l, h := mustOpen(t, o)
	fill(t, l, h, 1, 1)
	var written atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 2; i <= 400; i++ {
			if err := h.add(t.Context(), l, payload(i), false); err != nil {
				t.Error(err)
				return
			}
			written.Store(int64(i))
		}
	}()
	reads := 0
	for running := true; running; reads++ {
		least := written.Load()
		got := &history{}
		if _, err := Read(t.Context(), o, got); err != nil {
			t.Fatalf("read %d: %v", reads, err)
		}
		if int64(len(got.records)) < least {
			t.Fatalf("%d records, %d were answered", len(got.records), least)
		}
		wantRecords(t, got, len(got.records))
		select {
		case <-done:
			running = false
		default:
		}
	}
	t.Logf("%d reads", reads)
	mustClose(t, l)
}
