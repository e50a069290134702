// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/vfs"
)

// TestAsyncLagIsBounded: when the disk stops syncing, Async mode acknowledges
// for as long as the mode allows and no longer, so that what is acknowledged
// and not synced never spans more than that.
func TestAsyncLagIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const every = 500 * time.Millisecond
		fsys := vfs.NewFaulty(vfs.NewMem())
		o := small("/store", fsys)
		o.Mode, o.SyncEvery, o.SegmentSize, o.FillAhead = Async, every, mib, 256*kib
		s := mustOpen(t, o)
		defer mustClose(t, s)
		mustAppend(t, s, message("T", 0, "before"))
		time.Sleep(2 * every) // all is synced
		goOn := make(chan struct{})
		fsys.Add(vfs.Rule{Op: vfs.OpSync, Path: logDir, Do: func(vfs.Op, string) { <-goOn }})

		first := time.Now()
		var last time.Time
		for time.Since(first) < 3*every {
			ctx, cancel := context.WithTimeout(t.Context(), 10*every)
			_, err := s.AppendWait(ctx, message("T", 0, "x"))
			cancel()
			if err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				break
			}
			last = time.Now()
			time.Sleep(10 * time.Millisecond)
		}
		if span := last.Sub(first); span > every || span < every/2 {
			t.Errorf("acknowledged for %v without a sync", span)
		}
		close(goOn)
		mustAppend(t, s, message("T", 0, "after"))
	})
}

// TestAsyncCloseSyncs: a store that was closed loses nothing in a power cut.
func TestAsyncCloseSyncs(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Mode, o.SyncEvery = Async, time.Hour })
	want := r.fill(0, "message", 50)
	mustClose(t, r.Store)
	cut := r.mem.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.PowerCut)
	o := r.o
	o.FS = cut
	s := mustOpen(t, o)
	defer mustClose(t, s)
	if got := bodies(t, s, "T", 0); !slices.Equal(got, want) {
		t.Errorf("%d messages of %d", len(got), len(want))
	}
}
