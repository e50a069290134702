// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"slices"

	"github.com/orderlymq/orderly/internal/order"
)

// claims drives the locks of a member at one broker. With locks the decisions
// are order.Claims'; without (broadcasting, and consumers without order, where
// RocketMQ has none) a queue starts as soon as no lane of it is left.
//
// All methods belong to the member's goroutine.
type claims struct {
	m      *member
	b      *broker
	core   *order.Claims // nil: without locks
	buf    []order.ClaimAction
	want   []order.Queue // without locks
	closed bool
}

func newClaims(m *member, b *broker) *claims {
	c := &claims{m: m, b: b}
	if m.cfg.locks() {
		c.core = order.NewClaims(order.ClaimConfig{Stock: !b.ours()})
	}
	return c
}

// tick lets time pass and returns when the next tick is due.
func (c *claims) tick(now order.Time) order.Time {
	if c.core == nil {
		return order.Never
	}
	if c.core.Next() <= now {
		c.step(order.ClaimEvent{Kind: order.ClaimTick})
	}
	return c.core.Next()
}

func (c *claims) step(ev order.ClaimEvent) {
	if c.core == nil {
		c.free(ev)
		return
	}
	c.buf = c.core.Step(c.m.c.now(), &ev, c.buf[:0])
	for i := range c.buf {
		c.act(&c.buf[i])
	}
}

func (c *claims) act(a *order.ClaimAction) {
	switch a.Kind {
	case order.ClaimLock:
		c.lock(a.ID, slices.Clone(a.Queues))
	case order.ClaimUnlock:
		c.unlock(a.ID, slices.Clone(a.Queues), a.Overrun)
	case order.ClaimStart:
		c.m.start(c.b, a.Grant, a.Until)
	case order.ClaimGo:
		if l := c.lane(a.Queue); l != nil {
			l.bound.Store(int64(a.Until))
			l.held.Store(false)
			l.post(order.LaneEvent{Kind: order.LaneGo})
		}
	case order.ClaimHold:
		if l := c.lane(a.Queue); l != nil {
			l.held.Store(true)
			l.post(order.LaneEvent{Kind: order.LaneHold})
		}
	case order.ClaimRevoke:
		c.tell(a.Queue, order.LaneEvent{Kind: order.LaneRevoke, Deadline: a.Deadline})
	case order.ClaimLost:
		c.tell(a.Queue, order.LaneEvent{Kind: order.LaneLost})
	case order.ClaimClosed:
		c.closed = true
	}
}

func (c *claims) lane(q order.Queue) *lane {
	return c.m.lanes[Queue{Topic: q.Topic, Broker: c.b.name, ID: int(q.ID)}]
}

// tell feeds ev to the lane of q.
func (c *claims) tell(q order.Queue, ev order.LaneEvent) {
	if l := c.lane(q); l != nil {
		l.post(ev)
	}
}

// lock sends one lock request; its answer comes back as an event.
func (c *claims) lock(id uint64, queues []order.Queue) {
	c.m.wg.Go(func() {
		ctx, cancel := c.m.c.requestContext()
		defer cancel()
		grants, err := c.b.lock(ctx, c.m, queues)
		c.m.do(func() { c.locked(id, queues, grants, err) })
	})
}

func (c *claims) locked(id uint64, asked []order.Queue, grants []order.Grant, err error) {
	if err != nil {
		c.m.log.Warn("lock request failed; it will be tried again", "broker", c.b.name, "queues", len(asked), "err", err)
		c.step(order.ClaimEvent{Kind: order.ClaimFailed, ID: id})
		return
	}
	for _, q := range asked {
		if !slices.ContainsFunc(grants, func(g order.Grant) bool { return g.Queue == q }) {
			c.m.ready.drop(Queue{Topic: q.Topic, Broker: c.b.name, ID: int(q.ID)})
		}
	}
	c.step(order.ClaimEvent{Kind: order.ClaimLocked, ID: id, Grants: grants})
}

func (c *claims) unlock(id uint64, queues []order.Queue, overrun bool) {
	how := unlocking{overrun: overrun, closing: c.m.closing}
	c.m.wg.Go(func() {
		ctx, cancel := c.m.c.requestContext()
		defer cancel()
		err := c.b.unlock(ctx, c.m, queues, how)
		if err != nil {
			c.m.log.Warn("unlock request failed; the locks will lapse", "broker", c.b.name, "err", err)
		}
		kind := order.ClaimUnlocked
		if err != nil {
			kind = order.ClaimFailed
		}
		c.m.do(func() { c.step(order.ClaimEvent{Kind: kind, ID: id}) })
	})
}

// free is step without locks.
func (c *claims) free(ev order.ClaimEvent) {
	switch ev.Kind {
	case order.ClaimAssign:
		c.want = slices.Clone(ev.Queues)
	case order.ClaimClose:
		c.want, c.closed = nil, true
	case order.ClaimReleased:
	default:
		return
	}
	deadline := order.Never
	if c.m.closing {
		deadline = c.m.bound
	}
	for q, l := range c.m.lanes {
		if q.Broker == c.b.name && !slices.Contains(c.want, order.Queue{Topic: q.Topic, ID: int32(q.ID)}) {
			l.post(order.LaneEvent{Kind: order.LaneRevoke, Deadline: deadline})
		}
	}
	for _, q := range c.want {
		if c.lane(q) == nil {
			c.m.start(c.b, order.Grant{Queue: q, Offset: order.Unknown}, order.Never)
		}
	}
}
