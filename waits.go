// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"cmp"
	"slices"
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire/body"
)

// missingQueue is a queue that should be the member's and has no lane.
type missingQueue struct {
	queue Queue
	since order.Time
	wait  order.ClaimWait
}

// missing lists the queues that the member waits for. It belongs to the member's
// goroutine.
func (m *member) missing() []missingQueue {
	var out []missingQueue
	for name, c := range m.claims {
		if c.core == nil {
			continue
		}
		for _, w := range c.core.Waits(nil) {
			q := Queue{Topic: w.Queue.Topic, Broker: name, ID: int(w.Queue.ID)}
			out = append(out, missingQueue{q, m.wantedSince[q], w})
		}
	}
	for name, queues := range m.want {
		if m.claims[name] != nil {
			continue
		}
		for _, q := range queues {
			at := Queue{Topic: q.Topic, Broker: name, ID: int(q.ID)}
			out = append(out, missingQueue{at, m.wantedSince[at], order.ClaimWait{Queue: q, Why: order.ClaimUnmet, Next: order.Never}})
		}
	}
	return out
}

// waits is everything in the member that waits and is worth telling: what has
// failed, what stands still until somebody acts, and what takes longer than
// tellAfter.
func (m *member) waits(views map[Queue]laneView, missing []missingQueue) []body.MemberWait {
	var out []body.MemberWait
	for q, v := range views {
		for i := range v.waits {
			if w := &v.waits[i]; v.worthTelling(w) {
				out = append(out, v.memberWait(q, w))
			}
		}
		if v.queued > 0 {
			w := body.MemberWait{
				Topic: q.Topic, Broker: q.Broker, Queue: int32(q.ID), Offset: v.state.Low,
				Why: "all handler slots of the member are taken", Since: millis(v.calledAt),
			}
			if time.Since(v.calledAt) >= tellAfter {
				out = append(out, w)
			}
		}
	}
	now := m.c.now()
	for _, q := range missing {
		w := body.MemberWait{Topic: q.queue.Topic, Broker: q.queue.Broker, Queue: int32(q.queue.ID), Offset: -1, Why: q.wait.Why.String()}
		if q.since != 0 {
			w.Since = wallMillis(now, q.since)
		}
		if q.wait.Next != order.Never {
			w.Next = wallMillis(now, q.wait.Next)
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b body.MemberWait) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Offset, b.Offset))
	})
	return out
}

func (v *laneView) worthTelling(w *order.Wait) bool {
	switch w.Why {
	case order.LaneParked, order.LaneIgnoring, order.LanePastEnd, order.LanePaused, order.LaneBackoff, order.LaneLettering:
		return true
	}
	return w.Attempt > 0 || v.now.Sub(w.Since) >= tellAfter
}

func (v *laneView) memberWait(q Queue, w *order.Wait) body.MemberWait {
	out := body.MemberWait{
		Topic: q.Topic, Broker: q.Broker, Queue: int32(q.ID), Offset: w.Offset, Attempts: w.Attempt, Why: w.Why.String(),
		Since: wallMillis(v.now, w.Since), Behind: w.Behind,
	}
	if w.Next != order.Never {
		out.Next = wallMillis(v.now, w.Next)
	}
	if r, ok := w.Ref.(*storedMessage); ok {
		out.Key = r.OrderingKey()
	}
	if w.Why == order.LaneWindowFull {
		out.Why += " behind this message"
	}
	return out
}

// wallMillis is the wall time at which it was, or will be, at.
func wallMillis(now, at order.Time) int64 { return time.Now().Add(at.Sub(now)).UnixMilli() }
