// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
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
