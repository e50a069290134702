// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"sync"

	"github.com/orderlymq/orderly/internal/testutil/record"
)

// faulty commits one fault, once, on the first order where it can.
type faulty struct {
	kind Fault

	mu    sync.Mutex
	done  bool
	key   string // of a swap that has begun: the order
	saved int    // and the message that was put aside
}

// strike commits the fault if this message is its chance; done is true if the
// message needs no further work.
func (f *faulty) strike(ctx context.Context, rep *record.Reporter, key string, seq int) (done bool, err error) {
	switch act, first := f.plan(key, seq); act {
	case Drop:
		return true, nil
	case Swap:
		if first == 0 {
			return true, nil // put aside: acknowledged, not handled yet
		}
		if err := work(ctx, rep, key, seq); err != nil {
			return true, err
		}
		return true, work(ctx, rep, key, first)
	case Double:
		if err := work(ctx, rep, key, seq); err != nil {
			return true, err
		}
		return false, nil // and once more
	case Overlap:
		call, _, err := rep.Start(ctx, record.Start{Key: key, Seq: seq})
		if err != nil {
			return true, err
		}
		if err := work(ctx, rep, key, seq); err != nil {
			return true, fail(ctx, rep, call, err)
		}
		return true, rep.End(ctx, call, false)
	}
	return false, nil
}

// plan decides under the lock what to do with this message: nothing, or the
// fault; for the second half of a swap also which message was put aside.
func (f *faulty) plan(key string, seq int) (act Fault, first int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.done:
		return NoFault, 0
	case f.kind != Swap:
		f.done = true
		return f.kind, 0
	case f.saved == 0:
		f.key, f.saved = key, seq
		return Swap, 0
	case f.key == key && seq == f.saved+1:
		f.done = true
		return Swap, f.saved
	}
	return NoFault, 0
}
