// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"
)

// next returns when the next machine wants a tick.
func (w *world) next() Time {
	next := w.table.Next()
	for _, c := range w.members {
		if c.gone || c.frozen {
			continue
		}
		next = min(next, c.session.Next(), c.claims.Next())
		for _, d := range c.lanes {
			if d != nil {
				next = min(next, d.lane.Next())
			}
		}
	}
	return next
}

// tick gives every machine that wants one its tick at the present time.
func (w *world) tick() {
	for range 100 {
		if w.next() > w.now {
			return
		}
		if w.table.Next() <= w.now {
			w.broker(&LeaseEvent{Kind: LeaseTick}, nil, nil)
		}
		for _, c := range w.members {
			w.tickMember(c)
		}
	}
	w.fail("ticks do not end")
}

func (w *world) tickMember(c *client) {
	if c.gone || c.frozen {
		return
	}
	if c.session.Next() <= w.now {
		w.sessionStep(c, SessionEvent{Kind: SessionTick})
	}
	if c.claims.Next() <= w.now {
		w.claimStep(c, &ClaimEvent{Kind: ClaimTick})
	}
	for q, d := range c.lanes {
		if d != nil && d.lane.Next() <= w.now {
			w.laneStep(c, q, &LaneEvent{Kind: LaneTick})
		}
	}
}

// advance lets time pass up to to. Handlers whose context ended return within
// half the grace; they are settled as failed when that is over.
func (w *world) advance(to Time) {
	w.tick()
	for w.now < to && w.bad == "" {
		w.now = min(to, max(w.next(), w.now), w.deadline())
		for _, c := range w.members {
			if !c.gone && !c.frozen {
				w.expireHandlers(c)
			}
		}
		w.tick()
	}
}

// deadline returns when the first cancelled handler must have returned.
func (w *world) deadline() Time {
	next := Never
	for _, c := range w.members {
		if c.gone || c.frozen {
			continue
		}
		for _, d := range c.lanes {
			if d == nil {
				continue
			}
			for _, r := range d.runs {
				if r.cancel != Never {
					next = min(next, max(w.now, r.cancel.Add(w.table.cfg.Grace/2-1)))
				}
			}
		}
	}
	return next
}

func (w *world) expireHandlers(c *client) {
	for q := range c.lanes {
		for i := 0; c.lanes[q] != nil && i < len(c.lanes[q].runs); {
			if r := c.lanes[q].runs[i]; r.cancel != Never && w.now >= r.cancel.Add(w.table.cfg.Grace/2-1) {
				w.settle(c, q, i, Retry)
				continue
			}
			i++
		}
	}
}

// cut closes a frozen member's link at the broker; the member finds out when
// it wakes.
func (w *world) cut(c *client) {
	if c.link != 0 {
		w.broker(&LeaseEvent{Kind: LeaseClosed, Link: c.link}, nil, nil)
		c.link, c.lost = 0, append(c.lost, append(c.out, c.in...)...)
		c.in, c.out = nil, nil
	}
}

// restart makes a new table of what was stored. All links break.
func (w *world) restart() {
	old := w.table.Holders(nil)
	w.cfg.lease.Start = w.now
	w.table = NewLeases(w.cfg.lease)
	for _, h := range old {
		w.table.Step(w.now, &LeaseEvent{Kind: LeaseRestore, Queue: h.Queue, Epoch: h.Epoch, Offset: h.Offset, Reset: h.Reset, Client: h.Client, Session: h.Session, Host: "h"}, nil)
	}
	w.epochs += 1 << 20
	w.table.Step(w.now, &LeaseEvent{Kind: LeaseEpochs, Epoch: w.epochs, EpochEnd: w.epochs + 1<<20}, nil)
	for _, c := range w.members {
		switch {
		case c.gone:
		case c.frozen:
			w.cut(c)
		default:
			w.disconnect(c)
			w.connect(c)
		}
	}
}

// thaw wakes a frozen member.
func (w *world) thaw(c *client) {
	c.frozen = false
	if c.link == 0 {
		lost := c.lost
		c.lost = nil
		w.sessionStep(c, SessionEvent{Kind: SessionClosed})
		for _, p := range lost {
			w.noAnswer(c, p)
		}
		if c.link == 0 {
			w.connect(c)
		}
	}
	for _, d := range c.lanes {
		for i := 0; d != nil && i < len(d.runs); i++ {
			d.runs[i].paused = true
		}
	}
	w.tickMember(c)
}

// finished reports whether everything is handled and committed.
func (w *world) finished() bool {
	for q := range w.end {
		if w.table.Position(worldQueue(q)) != w.end[q] {
			return false
		}
	}
	return true
}

// runOut lets the world run, without faults, until everything is handled.
func (w *world) runOut() {
	for range 3000 {
		if w.bad != "" || w.finished() {
			return
		}
		moved := false
		for _, c := range w.members {
			if c.gone {
				continue
			}
			if c.frozen {
				w.thaw(c)
			}
			for len(c.out) > 0 {
				w.deliverOut(c)
				moved = true
			}
			for len(c.in) > 0 {
				w.deliverIn(c)
				moved = true
			}
			for q := range c.lanes {
				for c.lanes[q] != nil && len(c.lanes[q].runs) > 0 {
					w.settle(c, q, 0, Success)
					moved = true
				}
			}
		}
		if !moved {
			w.advance(min(w.next(), w.now.Add(w.table.cfg.Grace)))
		}
	}
	if !w.finished() {
		w.fail("stalled: %s", w.state())
	}
}

// state describes the world, for failures.
func (w *world) state() string {
	s := ""
	for _, h := range w.table.Holders(nil) {
		s += fmt.Sprintf("%v offset %d epoch %d client %s %v; ", h.Queue, h.Offset, h.Epoch, h.Client, h.Why)
	}
	for _, c := range w.members {
		if c.session != nil {
			s += fmt.Sprintf("session %+v ", c.session.brief())
		}
		if c.claims != nil {
			for _, cl := range c.claims.sorted {
				s += fmt.Sprintf("claim %+v ", *cl)
			}
		}
		s += fmt.Sprintf("member %d gone %v frozen %v link %d in %d out %d", c.id, c.gone, c.frozen, c.link, len(c.in), len(c.out))
		for q, d := range c.lanes {
			if d != nil {
				s += fmt.Sprintf(" lane %d low %d waits %v", q, d.lane.CommitOffset(), d.lane.Waits(w.now, c.session.Until(), nil))
			}
		}
		s += "; "
	}
	return s
}

func (s *Session) brief() string {
	return fmt.Sprintf("state %d silent %v holding %v reading %v heard %v next %v closeAt %v", s.state, s.silent, s.holding, s.reading, clock(s.heard), clock(s.Next()), clock(s.closeAt()))
}
