// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"sync"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

// faulty commits one fault, once, on the first order where it can.
type faulty struct {
	kind Fault

	mu    sync.Mutex
	done  bool
	saved *orderly.Message // the one that a swap has put aside
	seq   int              // and its number
}

// strike commits the fault if this message is its chance; done is true if the
// message needs no further work.
func (f *faulty) strike(ctx context.Context, rep *record.Reporter, m *orderly.Message, seq int) (done bool, err error) {
	switch act, first := f.plan(m, seq); act {
	case Drop:
		return true, nil
	case Swap:
		if first == nil {
			return true, nil // put aside: acknowledged, not handled yet
		}
		if err := work(ctx, rep, m, seq); err != nil {
			return true, err
		}
		return true, work(ctx, rep, first, seq-1)
	case Double:
		if err := work(ctx, rep, m, seq); err != nil {
			return true, err
		}
		return false, nil // and once more
	case Overlap:
		call, _, err := rep.Start(context.WithoutCancel(ctx), start(m, seq))
		if err != nil {
			return true, err
		}
		if err := work(ctx, rep, m, seq); err != nil {
			return true, fail(ctx, rep, call, err)
		}
		return true, rep.End(ctx, call, false)
	}
	return false, nil
}

// plan decides under the lock what to do with this message: nothing, or the
// fault; for the second half of a swap also which message was put aside.
func (f *faulty) plan(m *orderly.Message, seq int) (act Fault, first *orderly.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.done:
		return NoFault, nil
	case f.kind != Swap:
		f.done = true
		return f.kind, nil
	case f.saved == nil:
		f.saved, f.seq = m, seq
		return Swap, nil
	case f.saved.OrderingKey == m.OrderingKey && seq == f.seq+1:
		f.done = true
		return Swap, f.saved
	}
	return NoFault, nil
}
