// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/vfs"
)

// rig is a store on a memory file system whose calls can be made to fail.
type rig struct {
	t   *testing.T
	mem *vfs.Mem
	fs  *vfs.Faulty
	o   Options
	*Store
}

func newRig(t *testing.T, change func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, mem: vfs.NewMem()}
	r.fs = vfs.NewFaulty(r.mem)
	r.o = small("/store", r.fs)
	if change != nil {
		change(&r.o)
	}
	r.Store = mustOpen(t, r.o)
	t.Cleanup(func() { r.Store.Close() })
	return r
}

// restart closes the store, whatever that says, and opens it again.
func (r *rig) restart() {
	r.t.Helper()
	r.Store.Close()
	r.Store = mustOpen(r.t, r.o)
}

// crash stands for a process that was killed: a second store on what is there.
func (r *rig) crash() *rig {
	r.t.Helper()
	n := &rig{t: r.t, mem: r.mem.CrashClone(nil, vfs.ProcessCrash), o: r.o}
	n.fs = vfs.NewFaulty(n.mem)
	n.o.FS = n.fs
	n.Store = mustOpen(r.t, n.o)
	r.t.Cleanup(func() { n.Store.Close() })
	return n
}

// fill appends n messages with bodies prefix0, prefix1, ...
func (r *rig) fill(queue int32, prefix string, n int) (want []string) {
	r.t.Helper()
	for i := range n {
		body := fmt.Sprintf("%s%d", prefix, i)
		mustAppend(r.t, r.Store, message("T", queue, body, msg.PropKeys, body, msg.PropTags, "tag"))
		want = append(want, body)
	}
	return want
}

func (r *rig) expect(queue int32, want []string) {
	r.t.Helper()
	if got := bodies(r.t, r.Store, "T", queue); fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Fatalf("queue %d holds %d messages, want %d: %.200v", queue, len(got), len(want), got)
	}
}

// tick waits for one round of the keeper.
func (r *rig) tick() {
	r.t.Helper()
	if err := r.Upkeep(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func TestFailedWriteOrSyncFences(t *testing.T) {
	for _, c := range []struct {
		name string
		mode SyncMode
		rule vfs.Rule
	}{
		{"log write", Synced, vfs.Rule{Op: vfs.OpWrite, Path: logDir, Err: syscall.EIO}},
		{"short log write", Synced, vfs.Rule{Op: vfs.OpWrite, Path: logDir, Err: syscall.EIO, Short: 50}},
		{"log write without room", Synced, vfs.Rule{Op: vfs.OpWrite, Path: logDir, Err: syscall.ENOSPC, Short: 50}},
		{"frame write", Synced, vfs.Rule{Op: vfs.OpWrite, Path: logDir, After: 1, Err: syscall.EIO}},
		{"short frame write", Synced, vfs.Rule{Op: vfs.OpWrite, Path: logDir, After: 1, Err: syscall.EIO, Short: 20}},
		{"log sync", Synced, vfs.Rule{Op: vfs.OpSync, Path: logDir, Err: syscall.EIO}},
		{"async log write", Async, vfs.Rule{Op: vfs.OpWrite, Path: logDir, Err: syscall.EIO, Short: 50}},
		{"async frame write", Async, vfs.Rule{Op: vfs.OpWrite, Path: logDir, After: 1, Err: syscall.EIO}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.Mode = c.mode; o.FillAhead = 64 * kib })
			want := r.fill(0, "before", 10)
			waitFilled(r)
			stop := r.fs.Add(c.rule)
			_, err := r.AppendWait(t.Context(), message("T", 0, "lost"))
			if !errors.Is(err, ErrFenced) || !errors.Is(err, ErrUnknown) {
				t.Fatalf("append over the fault: %v", err)
			}
			if _, err := r.AppendWait(t.Context(), message("T", 0, "refused")); !errors.Is(err, ErrFenced) || errors.Is(err, ErrUnknown) {
				t.Fatalf("append after the fault: %v", err)
			}
			h := r.Health()
			if h.State != StateFenced || !errors.Is(h.Err, ErrFenced) {
				t.Fatalf("health: %+v", h)
			}
			r.expect(0, want)
			if err := r.Reopen(t.Context()); c.rule.Op == vfs.OpSync && err == nil {
				t.Fatal("reopened over a disk that still fails")
			}
			r.expect(0, want)
			stop()
			if err := r.Reopen(t.Context()); err != nil {
				t.Fatalf("reopen: %v", err)
			}
			if h := r.Health(); h.State != StateOpen {
				t.Fatalf("health after reopening: %+v", h)
			}
			// In async mode offsets that may have been lost are left out.
			after := bodiesWithHoles(t, r.Store, "T", 0)
			if len(after) > len(want) && after[len(want)] != "lost" || len(after) > len(want)+1 {
				t.Fatalf("after reopening: %v", after)
			}
			want = append(after, r.fill(0, "after", 10)...)
			r.restart()
			n := r.crash()
			for _, s := range []*Store{r.Store, n.Store} {
				if got := bodiesWithHoles(t, s, "T", 0); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("got %v, want %v", got, want)
				}
			}
			if c.mode == Synced {
				r.expect(0, want)
			}
		})
	}
}

// waitFilled waits until the filler rests, so that a fault hits the writer.
func waitFilled(r *rig) {
	r.t.Helper()
	f := r.core.Load().fill
	deadline := time.Now().Add(10 * time.Second)
	for !f.all.Load() {
		if time.Now().After(deadline) {
			r.t.Fatal("the filler does not rest")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestAsyncSyncFailureFences(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Mode = Async; o.SyncEvery = 2 * time.Millisecond })
	r.fill(0, "a", 5)
	r.fs.Add(vfs.Rule{Op: vfs.OpSync, Path: logDir, Err: syscall.EIO})
	deadline := time.Now().Add(10 * time.Second)
	for i := 0; ; i++ {
		_, err := r.AppendWait(t.Context(), message("T", 0, fmt.Sprint("b", i)))
		if errors.Is(err, ErrFenced) {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("append %d: %v", i, err)
		}
	}
	r.fs.Reset()
	if err := r.Reopen(t.Context()); err != nil {
		t.Fatal(err)
	}
	// What could be read back is there; numbers that were given out are not
	// given out again.
	got := bodiesWithHoles(t, r.Store, "T", 0)
	if len(got) < 5 {
		t.Fatalf("%d messages", len(got))
	}
	out := mustAppend(t, r.Store, message("T", 0, "later"))
	if out[0].QueueOffset < int64(len(got)) {
		t.Fatalf("offset %d after %d messages", out[0].QueueOffset, len(got))
	}
}

func bodiesWithHoles(t *testing.T, s *Store, topic string, queue int32) (out []string) {
	t.Helper()
	lo, hi := s.Bounds(topic, queue)
	for at := lo; at < hi; {
		res, err := s.Read(topic, queue, at, ReadLimit{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		msgs, err := msg.DecodeRecords(res.Records)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range msgs {
			out = append(out, string(m.Body))
		}
		at = res.Next
	}
	return out
}

func TestDiskFull(t *testing.T) {
	for _, mode := range []SyncMode{Synced, Async} {
		t.Run(mode.String(), func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.Mode = mode })
			r.mem.SetCapacity(600 * kib)
			var want []string
			var err error
			for i := range 1000 {
				body := fmt.Sprintf("%d %s", i, strings.Repeat("x", 1000))
				if _, err = r.AppendWait(t.Context(), message("T", 0, body)); err != nil {
					break
				}
				want = append(want, body)
			}
			if !errors.Is(err, ErrDiskFull) || errors.Is(err, ErrFenced) {
				t.Fatalf("after %d messages: %v", len(want), err)
			}
			if h := r.Health(); h.State != StateDiskFull {
				t.Fatalf("health: %+v", h)
			}
			r.expect(0, want)
			r.mem.SetCapacity(0)
			r.tick()
			deadline := time.Now().Add(10 * time.Second)
			for {
				if _, err = r.AppendWait(t.Context(), message("T", 0, "after")); err == nil {
					break
				}
				if !errors.Is(err, ErrDiskFull) || time.Now().After(deadline) {
					t.Fatalf("after space is free: %v", err)
				}
				time.Sleep(time.Millisecond)
			}
			want = append(want, "after")
			r.expect(0, want)
			r.restart()
			r.expect(0, want)
		})
	}
}

func TestDiskFullIsRefusedEarly(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MinFree = 100 * mib })
	want := r.fill(0, "a", 3)
	r.mem.SetCapacity(99 * mib)
	r.tick()
	if _, err := r.AppendWait(t.Context(), message("T", 0, "no")); !errors.Is(err, ErrDiskFull) {
		t.Fatalf("append to a full disk: %v", err)
	}
	r.expect(0, want)
	r.mem.SetCapacity(200 * mib)
	r.tick()
	want = append(want, r.fill(0, "b", 3)...)
	r.expect(0, want)
}

func TestReadError(t *testing.T) {
	r := newRig(t, func(o *Options) { o.TailCache = 8 * kib })
	want := r.fill(0, "message", 400)
	stop := r.fs.Add(vfs.Rule{Op: vfs.OpRead, Path: logDir, Err: syscall.EIO})
	if _, err := r.Read("T", 0, 0, ReadLimit{}, nil); !errors.Is(err, syscall.EIO) {
		t.Fatalf("read over a failing disk: %v", err)
	}
	if h := r.Health(); h.ReadErrors != 1 || h.State != StateOpen {
		t.Fatalf("health: %+v", h)
	}
	want = append(want, r.fill(0, "more", 1)...)
	stop()
	r.expect(0, want)
}

func TestClockSteps(t *testing.T) {
	var mu sync.Mutex
	now := time.UnixMilli(1_700_000_000_000)
	set := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	r := newRig(t, func(o *Options) {
		o.Clock = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	})
	stamp := func() int64 { return mustAppend(t, r.Store, message("T", 0, "x"))[0].StoreTimestamp }
	first := stamp()
	set(time.Second)
	second := stamp()
	set(-time.Hour)
	third := stamp()
	r.restart()
	fourth := stamp()
	n := r.crash()
	fifth := mustAppend(t, n.Store, message("T", 0, "x"))[0].StoreTimestamp
	if second != first+1000 || third != second || fourth != second || fifth != second {
		t.Fatalf("stamps %d %d %d %d %d", first, second, third, fourth, fifth)
	}
	if at, err := r.OffsetAtTime("T", 0, first+1, false); err != nil || at != 1 {
		t.Fatalf("offset at time: %d, %v", at, err)
	}
}

func TestFilesChangedUnderTheStore(t *testing.T) {
	active := "/store/" + logDir + "/" + segName(0)
	for name, harm := range map[string]func(m *vfs.Mem) error{
		"removed": func(m *vfs.Mem) error { return m.Remove(active) },
		"replaced": func(m *vfs.Mem) error {
			_, err := m.Create(active + "x")
			return errors.Join(err, m.Rename(active+"x", active))
		},
		"cut": func(m *vfs.Mem) error { f, err := m.OpenRW(active); return errors.Join(err, f.Truncate(10)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			want := r.fill(0, "a", 5)
			if err := harm(r.mem); err != nil {
				t.Fatal(err)
			}
			r.tick()
			if h := r.Health(); h.State != StateFenced || !strings.Contains(h.Err.Error(), "under the running store") {
				t.Fatalf("health: %+v", h)
			}
			if _, err := r.AppendWait(t.Context(), message("T", 0, "no")); !errors.Is(err, ErrFenced) {
				t.Fatalf("append: %v", err)
			}
			r.expect(0, want) // from memory
			if err := r.Reopen(t.Context()); !errors.Is(err, ErrDamaged) {
				t.Fatalf("reopen: %v", err)
			}
		})
	}
}

func TestColdFileGone(t *testing.T) {
	r := newRig(t, func(o *Options) { o.TailCache = 8 * kib; o.OpenFiles = 1 })
	r.fill(0, strings.Repeat("m", 1000), 200)
	if err := r.mem.Remove("/store/" + logDir + "/" + segName(0)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read("T", 0, 0, ReadLimit{}, nil); err == nil {
		t.Fatal("read from a file that is gone")
	}
	lo, hi := r.Bounds("T", 0)
	if res, err := r.Read("T", 0, hi-10, ReadLimit{}, nil); err != nil || res.Count != 10 || lo != 0 {
		t.Fatalf("read of the rest: %+v, %v", res.Count, err)
	}
	r.Close()
	r.o.Repair = true
	if _, err := Open(t.Context(), r.o); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "restore a backup; repair cannot") {
		t.Fatalf("open with a file missing: %v", err)
	}
}

func TestReadOnlyDisk(t *testing.T) {
	mem := vfs.NewMem()
	f := vfs.NewFaulty(mem)
	writes := vfs.OpCreate | vfs.OpMkdir | vfs.OpRename | vfs.OpRemove | vfs.OpWrite | vfs.OpTruncate | vfs.OpLock
	f.Add(vfs.Rule{Op: writes, Err: syscall.EROFS})
	if _, err := Open(t.Context(), small("/store", f)); !errors.Is(err, syscall.EROFS) {
		t.Fatalf("open on a read-only disk: %v", err)
	}
	r := newRig(t, func(o *Options) { o.FillAhead = 64 * kib })
	want := r.fill(0, "a", 3)
	waitFilled(r)
	r.fs.Add(vfs.Rule{Op: writes, Err: syscall.EROFS})
	if _, err := r.AppendWait(t.Context(), message("T", 0, "x")); !errors.Is(err, ErrFenced) {
		t.Fatalf("append after the disk became read-only: %v", err)
	}
	r.expect(0, want)
}

func TestIndexCannotBeWritten(t *testing.T) {
	r := newRig(t, func(o *Options) { o.IndexEvery = 2 * kib })
	want := r.fill(0, "a", 10)
	r.fs.Add(vfs.Rule{Op: vfs.OpWrite | vfs.OpCreate, Path: queueDir, Err: syscall.EIO})
	var err error
	for i := 0; i < 2000 && err == nil; i++ {
		body := fmt.Sprint("b", i)
		if _, err = r.AppendWait(t.Context(), message("T", 0, body)); err == nil {
			want = append(want, body)
		}
	}
	if !errors.Is(err, ErrIndex) || errors.Is(err, ErrFenced) {
		t.Fatalf("after %d messages: %v", len(want), err)
	}
	if h := r.Health(); h.IndexErr == nil {
		t.Fatal("health does not tell")
	}
	r.expect(0, want)
	r.fs.Reset()
	r.tick()
	for deadline := time.Now().Add(10 * time.Second); ; {
		if _, err = r.AppendWait(t.Context(), message("T", 0, "after")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	want = append(want, "after")
	r.restart()
	r.expect(0, want)
}

func TestBackPressure(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxQueued = 4 * kib })
	block := make(chan struct{})
	r.fs.Add(vfs.Rule{Op: vfs.OpSync, Path: logDir, Times: 1, Do: func(vfs.Op, string) { <-block }})
	var done sync.WaitGroup
	full := false
	for i := range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		done.Add(1)
		a := &Append{Msgs: []msg.Message{message("T", 0, fmt.Sprintf("%d %s", i, strings.Repeat("x", 500)))}, Done: func(_ *Append, err error) {
			if err != nil {
				t.Error(err)
			}
			done.Done()
		}}
		err := r.Append(ctx, a)
		cancel()
		if err == nil {
			continue
		}
		done.Done()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		full = true
		if h := r.Health(); h.Queued < 4*kib || h.Queued > 6*kib {
			t.Fatalf("queued %d bytes", h.Queued)
		}
		break
	}
	if !full {
		t.Fatal("nothing held the callers back")
	}
	close(block)
	done.Wait()
	if h := r.Health(); h.Queued != 0 {
		t.Fatalf("queued %d bytes at rest", h.Queued)
	}
}

func TestAppendIsRefused(t *testing.T) {
	r := newRig(t, nil)
	for name, a := range map[string]*Append{
		"nothing":        {},
		"no topic":       {Msgs: []msg.Message{message("", 0, "x")}},
		"bad queue":      {Msgs: []msg.Message{message("T", -1, "x")}},
		"body too large": {Msgs: []msg.Message{message("T", 0, strings.Repeat("x", 64*kib))}},
		"too many":       {Msgs: []msg.Message{message("T", 0, strings.Repeat("x", 40*kib)), message("T", 0, strings.Repeat("x", 40*kib))}},
	} {
		if err := r.Append(t.Context(), a); !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.Close()
	if err := r.Append(t.Context(), &Append{Msgs: []msg.Message{message("T", 0, "x")}}); !errors.Is(err, ErrClosed) {
		t.Errorf("append to a closed store: %v", err)
	}
}
