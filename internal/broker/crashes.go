// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"slices"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store/meta"
)

// delivery is what the broker has sent to a queue's holder under its epoch.
type delivery struct {
	epoch order.Epoch
	next  int64 // everything below
}

// crash is the unclean end of a lease: its holder may have been inside a
// handler, which nobody will report about.
type crash struct {
	key       meta.QueueKey
	head      int64 // the position
	delivered bool  // the message there has been sent to the holder
}

// delivered notes that messages up to next go to a holder of ours.
func (g *group) delivered(q order.Queue, e order.Epoch, next int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d := g.deliveries[q]; e > d.epoch || e == d.epoch && next > d.next {
		g.deliveries[q] = delivery{e, next}
	}
}

// crashed notes in w if the end of a lease was an unclean one of ours. What was
// delivered before a restart of the broker is not known: as much as there is.
func (g *group) crashed(w *work, act order.LeaseAction, key meta.QueueKey) {
	d := g.deliveries[act.Queue]
	delete(g.deliveries, act.Queue)
	if act.Session == 0 || act.Offset == order.Unknown {
		return
	}
	switch act.Why {
	case order.WhyClosed, order.WhySilent:
		w.crashes = append(w.crashes, crash{key, act.Offset, d.epoch == act.Epoch && d.next > act.Offset})
	case order.WhyRestart:
		_, end := g.b.store.Bounds(key.Topic, key.Queue)
		w.crashes = append(w.crashes, crash{key, act.Offset, end > act.Offset})
	}
}

// decide completes the changes of a work by what depends on the state that they
// meet: the attempts that unclean ends have used up.
func (w *work) decide(v *meta.View, at meta.Time) []meta.Change {
	for _, c := range w.crashes {
		q, _ := v.Queue(c.key)
		before := attemptsOf(q)
		after := order.AfterCrash(slices.Clone(before), c.head, c.delivered)
		if slices.Equal(before, after) || len(after) > meta.MaxAttempts {
			continue
		}
		change := meta.Commit{QueueKey: c.key, Offset: meta.None, At: at}
		for _, a := range after {
			change.Attempts = append(change.Attempts, meta.Attempt{Offset: a.Offset, Count: a.Ended})
		}
		w.changes = append(w.changes, change)
	}
	w.crashes = nil
	return w.changes
}

// attemptsOf are the attempts that are stored of a queue.
func attemptsOf(q *meta.Queue) []order.Attempt {
	attempts := make([]order.Attempt, len(q.Attempts))
	for i, x := range q.Attempts {
		attempts[i] = order.Attempt{Offset: x.Offset, Ended: x.Count}
	}
	return attempts
}
