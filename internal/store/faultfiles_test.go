// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/vfs"
)

// TestReadErrorWhileOpening: a disk that cannot be read is neither a torn end
// nor damage. Reads of a start fail, one at a time; whatever comes of it, nothing is
// cut off.
func TestReadErrorWhileOpening(t *testing.T) {
	for _, clean := range []bool{true, false} {
		s := makeSample(t, clean)
		s.few = true
		refused := 0
		for n := 0; ; n += 1 + n/8 {
			c := s.clone()
			f := vfs.NewFaulty(c.mem)
			var hits atomic.Int64
			f.Add(vfs.Rule{
				Op: vfs.OpRead, After: n, Times: 1, Err: syscall.EIO,
				Do: func(vfs.Op, string) { hits.Add(1) },
			})
			c.o.FS = f
			st, err := Open(t.Context(), c.o)
			switch {
			case errors.Is(err, ErrDamaged) || err != nil && !errors.Is(err, syscall.EIO):
				t.Fatalf("clean %v: read %d fails: %v", clean, n, err)
			case err != nil:
				refused++
			default:
				mustClose(t, st)
			}
			f.Reset()
			if err := c.open(t); err != nil {
				t.Fatalf("clean %v: after read %d has failed: %v", clean, n, err)
			}
			if hits.Load() == 0 {
				break // that was the last one
			}
		}
		if refused == 0 {
			t.Errorf("clean %v: no start was refused", clean)
		}
	}
}

// TestDiskFullEndsByItself: messages that a group has not finished fill the
// disk; when it has, their files go and writes come back, with nobody's help.
func TestDiskFullEndsByItself(t *testing.T) {
	var keep atomic.Int64
	r := newRig(t, func(o *Options) {
		o.SegmentSize, o.FillAhead, o.IndexEvery = 16*kib, 8*kib, 4*kib
		o.DiskHigh, o.MinFree, o.Upkeep = 0.9, 64*kib, time.Millisecond
		o.KeepFrom = keep.Load
	})
	r.mem.SetCapacity(600 * kib)
	var err error
	n := 0
	for ; err == nil && n < 2000; n++ {
		_, err = r.AppendWait(t.Context(), message("T", 0, strings.Repeat("x", 1000)))
	}
	if !errors.Is(err, ErrDiskFull) {
		t.Fatalf("after %d messages: %v", n, err)
	}
	if lo, _ := r.Bounds("T", 0); lo != 0 {
		t.Fatalf("messages below %d went, which were needed", lo)
	}
	keep.Store(r.Positions().Committed)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		lo, _ := r.Bounds("T", 0)
		if _, err = r.AppendWait(t.Context(), message("T", 0, "after")); err == nil && lo > 0 {
			break
		}
		if err != nil && !errors.Is(err, ErrDiskFull) || time.Now().After(deadline) {
			t.Fatalf("messages from %d on are kept; %v", lo, err)
		}
	}
}

// TestSideFilesGoneUnderTheStore removes files beside the log under a running
// store: nothing is lost and nothing is read wrong.
func TestSideFilesGoneUnderTheStore(t *testing.T) {
	for _, part := range []string{queueDir + "/", keyDir + "/", ckptFileName} {
		t.Run(path.Clean(part), func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.SegmentSize, o.IndexEvery, o.TailCache, o.OpenFiles = 16*kib, 3*kib, 8*kib, 2 })
			want := r.fill(0, strings.Repeat("m", 300), 150)
			r.tick()
			gone := 0
			for _, name := range r.mem.Files() {
				if strings.HasPrefix(name, "/store/"+part) {
					gone++
					if err := r.mem.Remove(name); err != nil {
						t.Fatal(err)
					}
				}
			}
			if gone == 0 {
				t.Fatal("there are no such files")
			}
			want = append(want, r.fill(0, "n", 150)...)
			r.expect(0, want)
			key := want[3]
			if got, err := r.QueryKey(t.Context(), "T", key, 10, 0, 1<<60); err != nil || len(got) != 1 {
				t.Errorf("query by key: %d, %v", len(got), err)
			}
			n := r.crash()
			if got := bodies(t, n.Store, "T", 0); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("after a kill: %d messages, want %d", len(got), len(want))
			}
			r.restart()
			r.expect(0, want)
			if _, err := r.QueryKey(t.Context(), "T", key, 10, 0, 1<<60); err != nil {
				t.Fatal(err) // it waits for what is rebuilt in the background
			}
			if v, err := Verify(t.Context(), r.mem, "/store", nil); err != nil || !v.OK() {
				t.Errorf("verify: %+v, %v", v, err)
			}
		})
	}
}
