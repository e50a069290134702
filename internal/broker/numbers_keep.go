// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/store/meta"
)

const (
	numbersPeriod  = time.Second
	numbersMark    = "producers.log" // frames below this place of the log are in the change log
	numbersRound   = 2048            // pairs noted at a time
	numbersForgets = 256             // pairs and producers forgotten at a time
	numbersBehind  = 64 << 20        // bytes of log that a start reads for frames at most, if there are none
	numbersChanges = 512             // in one step of the change log
)

// rebuildNumbers makes the table anew from the change log, and answers from
// where on the log has more. The store calls it when it opens, before anything
// is stored.
func (b *Broker) rebuildNumbers() int64 {
	n, view, now := &b.numbers, b.meta.View(), b.clock.now()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.table = order.NewNumbers(order.NumbersConfig{Producers: b.cfg.MaxProducers, Pairs: b.cfg.MaxNumbered})
	n.names = map[string]uint64{}
	for p := range view.Producers() {
		if n.table.Advance(now, p.ID, p.Epoch) {
			n.names[p.Group] = p.ID
		}
	}
	for key, frames := range view.AllFrames() {
		for _, f := range frames {
			n.table.Restore(now, &order.NumberedFrame{
				Producer: key.Producer, Epoch: f.Epoch, Queue: order.Queue{Topic: key.Topic, ID: key.Queue},
				KeptFrame: order.KeptFrame{First: f.First, Count: f.Count, Offset: f.Offset},
			})
		}
	}
	n.table.Fresh(nil, b.cfg.MaxNumbered+1) // they need not be noted again
	n.mark, _ = view.Mark(numbersMark)
	n.owed = nil
	return n.mark
}

// restoreNumbers takes in a frame that the log has.
func (b *Broker) restoreNumbers(f *store.Numbered) {
	now := b.clock.now()
	b.numbers.mu.Lock()
	defer b.numbers.mu.Unlock()
	b.numbers.table.Restore(now, &order.NumberedFrame{
		Producer: f.Producer, Epoch: f.Epoch, Queue: order.Queue{Topic: f.Topic, ID: f.Queue},
		KeptFrame: order.KeptFrame{First: f.First, Count: f.Count, Offset: f.Offset},
	})
}

// keeping is one round of noting frames in the change log.
type keeping struct {
	store.Append
	b      *Broker
	frames []order.NumberedFrame
	all    bool
	upTo   int64 // of the log: what is below is in frames, or was noted before
	done   chan error
}

// keepNumbers notes new frames in the change log, so that a start need not read
// far back in the message log, and forgets who was idle for too long. Only what
// is on disk in the message log is noted.
func (b *Broker) keepNumbers(ctx context.Context) {
	if err := b.noteFrames(ctx); err != nil && ctx.Err() == nil {
		b.log.Debug("producers' numbers are not noted yet", "err", err)
	}
	b.numbers.mu.Lock()
	gone := b.numbers.table.Expire(b.clock.now(), numbersForgets, nil)
	b.numbers.mu.Unlock()
	if len(gone) > 0 {
		if err := b.forgetProducers(ctx, gone); err != nil && ctx.Err() == nil {
			b.log.Warn("idle producers are not dropped", "err", err)
		}
	}
}

func (b *Broker) noteFrames(ctx context.Context) error {
	if owed := b.numbers.owed; owed != nil {
		return b.applyFrames(ctx, owed) // before newer ones
	}
	written := b.store.Positions().Written
	b.numbers.mu.Lock()
	due := b.numbers.table.HasFresh() || written-b.numbers.mark > numbersBehind
	b.numbers.mu.Unlock()
	if !due {
		return nil
	}
	k := &keeping{b: b, done: make(chan error, 1)}
	k.Turn, k.Done, k.Arg = keepTurn, keepDone, k
	if err := b.store.Append(ctx, &k.Append); err != nil {
		return err
	}
	select {
	case err := <-k.done:
		if err != nil {
			return err // the log is fenced: the table is about to be made anew
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	b.numbers.owed = k
	return b.applyFrames(ctx, k)
}

// keepTurn collects what is to be noted; the store's writer calls it.
func keepTurn(a *store.Append, _ int64) error {
	k := a.Arg.(*keeping)
	k.upTo = k.b.store.Positions().Written
	k.b.numbers.mu.Lock()
	defer k.b.numbers.mu.Unlock()
	k.frames, k.all = k.b.numbers.table.Fresh(k.frames, numbersRound)
	return nil
}

func keepDone(a *store.Append, err error) { a.Arg.(*keeping).done <- err }

// applyFrames notes a round's frames and, after the last of them, how far the
// log is covered. What it does not get done stays owed.
func (b *Broker) applyFrames(ctx context.Context, k *keeping) error {
	if err := b.store.Sync(ctx); err != nil {
		return err
	}
	for len(k.frames) > 0 {
		n := min(len(k.frames), numbersChanges)
		changes := make([]meta.Change, n)
		for i, f := range k.frames[:n] {
			changes[i] = meta.AddFrame{
				ProducerKey: meta.ProducerKey{Producer: f.Producer, Topic: f.Queue.Topic, Queue: f.Queue.ID},
				Frame:       meta.Frame{Epoch: f.Epoch, First: f.First, Count: f.Count, Offset: f.Offset},
			}
		}
		if err := b.meta.Apply(ctx, changes...); err != nil {
			return err
		}
		k.frames = k.frames[n:]
	}
	if k.all {
		if err := b.meta.Apply(ctx, meta.SetMark{Name: numbersMark, Value: k.upTo}); err != nil {
			return err
		}
		b.numbers.mu.Lock()
		b.numbers.mark = k.upTo
		b.numbers.mu.Unlock()
	}
	b.numbers.owed = nil
	return nil
}
