// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/vfs"
)

// reopened is a directory with an empty segment: its file is known to faults
// by its own name, which a segment made since then is not.
func reopened(t *testing.T) Options {
	t.Helper()
	o := options(t.TempDir())
	l, _ := mustOpen(t, o)
	mustClose(t, l)
	return o
}

// faults is a file system in which chosen calls fail.
type faults struct {
	vfs.FS
	hit func(op, name string) error // nil lets the call through
}

func (f *faults) check(op, name string) error { return f.hit(op, filepath.Base(name)) }

func (f *faults) Create(name string) (vfs.File, error) {
	if err := f.check("create", name); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(name)
	return &faultFile{file, f}, err
}

func (f *faults) OpenRW(name string) (vfs.File, error) {
	file, err := f.FS.OpenRW(name)
	return &faultFile{file, f}, err
}

func (f *faults) Open(name string) (vfs.File, error) {
	file, err := f.FS.Open(name)
	return &faultFile{file, f}, err
}

func (f *faults) Rename(from, to string) error {
	if err := f.check("rename", to); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f *faults) SyncDir(dir string) error {
	if err := f.check("syncdir", dir); err != nil {
		return err
	}
	return f.FS.SyncDir(dir)
}

type faultFile struct {
	vfs.File
	f *faults
}

func (f *faultFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.f.check("write", f.Name()); err != nil {
		n, _ := f.File.WriteAt(b[:len(b)/2], off)
		return n, err
	}
	return f.File.WriteAt(b, off)
}

func (f *faultFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.f.check("read", f.Name()); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, off)
}

func (f *faultFile) SyncData() error {
	if err := f.f.check("sync", f.Name()); err != nil {
		return err
	}
	return f.File.SyncData()
}

func (f *faultFile) Sync() error {
	if err := f.f.check("sync", f.Name()); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultFile) Allocate(off, n int64) error {
	if err := f.f.check("allocate", f.Name()); err != nil {
		return err
	}
	return f.File.Allocate(off, n)
}

func TestFailureFences(t *testing.T) {
	for _, c := range []struct {
		name, op, file string
		sync           bool
	}{
		{"write", "write", segmentExt, false},
		{"sync", "sync", segmentExt, true},
		{"rename of the next segment", "rename", segmentExt, false},
		{"creation of the next segment", "create", spareName, false},
		{"sync of the next segment", "sync", spareName, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var broken atomic.Bool
			f := &faults{vfs.OS(), func(op, name string) error {
				if broken.Load() && op == c.op && strings.HasSuffix(name, c.file) {
					return syscall.EIO
				}
				return nil
			}}
			o := reopened(t)
			o.FS = f
			l, h := mustOpen(t, o)
			fill(t, l, h, 1, 10)
			if err := l.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			broken.Store(true)
			answered := 10
			var err error
			for err == nil && answered < 500 {
				if err = h.add(t.Context(), l, payload(answered+1), c.sync); err == nil {
					answered++
				}
			}
			broken.Store(false) // a sync that succeeds later is no excuse
			wantFenced(t, l, err)
			if err := h.add(t.Context(), l, "more", true); !errors.As(err, new(*FencedError)) {
				t.Errorf("append after the failure: %v", err)
			}
			if err := l.Snapshot(t.Context()); !errors.As(err, new(*FencedError)) {
				t.Errorf("snapshot after the failure: %v", err)
			}
			if err := l.Close(); !errors.As(err, new(*FencedError)) {
				t.Errorf("close: %v", err)
			}
			if synced := l.Health().Synced; c.op == "sync" && c.file == segmentExt && synced != 10 {
				t.Errorf("%d records taken for synced after a sync failed", synced)
			}
			l, h = mustOpen(t, o)
			if len(h.records) < answered || len(h.records) > answered+1 {
				t.Errorf("%d records read back, %d were answered", len(h.records), answered)
			}
			wantRecords(t, h, len(h.records))
			mustClose(t, l)
		})
	}
}

// A segment that is removed, replaced or cut under the log is noticed before
// anything that is to be on disk is answered.
func TestFileChangedUnderTheLogFences(t *testing.T) {
	for name, harm := range map[string]func(file string) error{
		"removed": os.Remove,
		"replaced": func(file string) error {
			return errors.Join(os.WriteFile(file+"x", nil, 0o600), os.Rename(file+"x", file))
		},
		"cut": func(file string) error { return os.Truncate(file, 40) },
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t.TempDir())
			l, h := mustOpen(t, o)
			fill(t, l, h, 1, 5)
			if err := l.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := harm(filepath.Join(o.Dir, fileName(1, segmentExt))); err != nil {
				t.Fatal(err)
			}
			var fenced *FencedError
			if err := h.add(t.Context(), l, payload(6), true); !errors.As(err, &fenced) {
				t.Fatalf("append: %v", err)
			}
			if hl := l.Health(); hl.State != Fenced || !strings.Contains(hl.Err.Error(), "under the running broker") {
				t.Errorf("health: %+v", hl)
			}
			if err := l.Close(); !errors.As(err, &fenced) {
				t.Errorf("close: %v", err)
			}
		})
	}
}

func wantFenced(t *testing.T, l *Log, err error) {
	t.Helper()
	var fenced *FencedError
	if !errors.As(err, &fenced) || !errors.Is(err, syscall.EIO) {
		t.Errorf("append: %v", err)
	}
	if h := l.Health(); h.State != Fenced || !errors.Is(h.Err, syscall.EIO) {
		t.Errorf("health: %+v", h)
	}
}

// A record that was written and waits for a sync that fails gets an error.
func TestFailedSyncAnswersEveryWaiter(t *testing.T) {
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var slow atomic.Bool
	f := &faults{vfs.OS(), func(op, name string) error {
		if !slow.Load() || op != "sync" || name != fileName(1, segmentExt) {
			return nil
		}
		once.Do(func() { close(reached) })
		<-goOn
		return syscall.EIO
	}}
	o := reopened(t)
	o.FS = f
	l, h := mustOpen(t, o)
	slow.Store(true)
	answers := make(chan error, 3)
	add := func() {
		if err := l.Submit(t.Context(), h.record("x", true, func(_ uint64, err error) { answers <- err })); err != nil {
			t.Error(err)
		}
	}
	add()
	<-reached
	add() // written while the sync runs
	add()
	close(goOn)
	for range 3 {
		if err := <-answers; !errors.As(err, new(*FencedError)) {
			t.Errorf("answer: %v", err)
		}
	}
	if err := l.Close(); !errors.As(err, new(*FencedError)) {
		t.Errorf("close: %v", err)
	}
}

func TestFullDiskRefusesAndGoesOn(t *testing.T) {
	const segments = 4 // that there is space for
	var allocated atomic.Int32
	var full atomic.Bool
	full.Store(true)
	f := &faults{vfs.OS(), func(op, name string) error {
		if full.Load() && op == "allocate" && allocated.Add(1) > segments {
			return syscall.ENOSPC
		}
		return nil
	}}
	o := options(t.TempDir())
	o.FS = f
	l, h := mustOpen(t, o)
	n := 0
	var err error
	for err == nil && n < 1000 {
		if err = h.add(t.Context(), l, payload(n+1), false); err == nil {
			n++
		}
	}
	if !errors.Is(err, ErrNoSpace) || !errors.Is(err, syscall.ENOSPC) || errors.As(err, new(*FencedError)) {
		t.Fatalf("append on a full disk: %v", err)
	}
	if room := segments * int(o.SegmentSize-fileHeader) / frameSize(len(payload(100))); n < room-segments || n > room+segments {
		t.Errorf("%d records fit, there is room for about %d", n, room)
	}
	if s := l.Health().State; s != Healthy {
		t.Errorf("state %v", s)
	}
	if err := h.add(t.Context(), l, payload(n+1), false); !errors.Is(err, ErrNoSpace) {
		t.Fatalf("append on a full disk, again: %v", err)
	}
	full.Store(false)
	deadline := time.Now().Add(10 * time.Second)
	for err != nil && time.Now().Before(deadline) {
		err = h.add(t.Context(), l, payload(n+1), false)
	}
	if err != nil {
		t.Fatalf("append after space came back: %v", err)
	}
	fill(t, l, h, n+2, n+50)
	mustClose(t, l)
	l, h = mustOpen(t, o)
	wantRecords(t, h, n+50)
	mustClose(t, l)
}

func TestFailedSnapshotKeepsTheTail(t *testing.T) {
	for _, op := range []string{"create", "write", "sync", "rename"} {
		t.Run(op, func(t *testing.T) {
			var broken atomic.Bool
			f := &faults{vfs.OS(), func(o, name string) error {
				if broken.Load() && o == op && strings.Contains(name, snapshotExt) {
					return syscall.ENOSPC
				}
				return nil
			}}
			o := options(t.TempDir())
			o.FS = f
			l, h := mustOpen(t, o)
			fill(t, l, h, 1, 100)
			broken.Store(true)
			if err := l.Snapshot(t.Context()); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("snapshot: %v", err)
			}
			if hl := l.Health(); hl.State != Healthy || hl.SnapshotErr == nil || hl.Tail == 0 {
				t.Errorf("%+v", hl)
			}
			broken.Store(false)
			fill(t, l, h, 101, 110)
			if err := l.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
			if hl := l.Health(); hl.SnapshotErr != nil || hl.Tail != 0 {
				t.Errorf("%+v", hl)
			}
			mustClose(t, l)
			l, h = mustOpen(t, o)
			wantRecords(t, h, 110)
			mustClose(t, l)
		})
	}
}

func TestReadErrorRefusesToOpen(t *testing.T) {
	o := options(t.TempDir())
	l, h := mustOpen(t, o)
	fill(t, l, h, 1, 100)
	mustClose(t, l)
	for _, segment := range files(t, o.Dir, segmentExt) {
		o.FS = &faults{vfs.OS(), func(op, name string) error {
			if op == "read" && name == filepath.Base(segment) {
				return syscall.EIO
			}
			return nil
		}}
		if _, err := Open(t.Context(), o, &history{}); !errors.Is(err, syscall.EIO) || isDamage(err) {
			t.Errorf("%s: %v", segment, err)
		}
	}
	o.FS = vfs.OS()
	l, h = mustOpen(t, o)
	wantRecords(t, h, 100)
	mustClose(t, l)
}

// A caller's context ends its waiting, in the queue and for the answer.
func TestContextEndsWaiting(t *testing.T) {
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var slow atomic.Bool
	o := reopened(t)
	o.FS = &faults{vfs.OS(), func(op, name string) error {
		if slow.Load() && op == "write" && name == fileName(1, segmentExt) {
			once.Do(func() { close(reached) })
			<-goOn
		}
		return nil
	}}
	l, h := mustOpen(t, o)
	if err := l.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	slow.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := h.add(ctx, l, payload(1), false); !errors.Is(err, context.Canceled) {
			t.Errorf("waiting for the answer: %v", err)
		}
	})
	<-reached
	for range maxQueued {
		if err := l.Submit(t.Context(), h.record("x", false, func(uint64, error) {})); err != nil {
			t.Fatal(err)
		}
	}
	wg.Go(func() {
		if err := h.add(ctx, l, "y", false); !errors.Is(err, context.Canceled) {
			t.Errorf("waiting for room: %v", err)
		}
	})
	cancel()
	wg.Wait()
	close(goOn)
	mustClose(t, l)
}

// A record written while a sync runs is not taken for synced by it.
func TestSyncCoversOnlyWhatWasWrittenBefore(t *testing.T) {
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var slow atomic.Bool
	o := reopened(t)
	o.SyncEvery = time.Hour
	o.FS = &faults{vfs.OS(), func(op, name string) error {
		if slow.Load() && op == "sync" && strings.HasSuffix(name, ".log") { // not the segment made ready ahead
			once.Do(func() { close(reached); <-goOn })
		}
		return nil
	}}
	l, h := mustOpen(t, o)
	slow.Store(true)
	answer := make(chan error, 1)
	if err := l.Submit(t.Context(), h.record("1", true, func(_ uint64, err error) { answer <- err })); err != nil {
		t.Fatal(err)
	}
	<-reached
	if err := h.add(t.Context(), l, "2", false); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	if hl := l.Health(); hl.Synced != 1 || hl.Written != 2 {
		t.Errorf("%+v", hl)
	}
	mustClose(t, l)
}

// What is not known to be synced is written again when the log is opened: after
// a failed sync the kernel may show it and not have it on disk.
func TestOpenWritesUnsyncedRecordsAgain(t *testing.T) {
	o := options(t.TempDir())
	o.SegmentSize = 64 << 10
	file := crashed(t, o, 5, 12)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	from := bytes.Index(b, []byte(payload(6))) - frameHeader
	to := bytes.Index(b, []byte(payload(12))) - frameHeader + frameSize(len(payload(12)))
	w := &writes{FS: vfs.OS(), name: file}
	o.FS, o.Dir = w, filepath.Dir(file)
	l, h := mustOpen(t, o)
	wantRecords(t, h, 12)
	mustClose(t, l)
	if len(w.before) != 1 || w.before[0] != [2]int{from, to} {
		t.Errorf("written before the first sync: %v, want %d to %d", w.before, from, to)
	}
}

// writes notes what is written to a file before its first sync.
type writes struct {
	vfs.FS
	name   string
	before [][2]int
	synced bool
}

func (w *writes) OpenRW(name string) (vfs.File, error) {
	f, err := w.FS.OpenRW(name)
	if name == w.name {
		f = &writesFile{f, w}
	}
	return f, err
}

type writesFile struct {
	vfs.File
	w *writes
}

func (f *writesFile) WriteAt(b []byte, off int64) (int, error) {
	if !f.w.synced {
		f.w.before = append(f.w.before, [2]int{int(off), int(off) + len(b)})
	}
	return f.File.WriteAt(b, off)
}

func (f *writesFile) SyncData() error {
	f.w.synced = true
	return f.File.SyncData()
}
