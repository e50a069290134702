// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"
)

// deliverOut lets the broker handle the first packet of a member.
func (w *world) deliverOut(c *client) {
	p := c.out[0]
	c.out = c.out[1:]
	if p.link != c.link {
		return
	}
	ev := &LeaseEvent{Link: p.link, Host: "h", Client: fmt.Sprint("c", c.id), Session: c.token, Epoch: p.epoch, Queue: worldQueue(p.queue), Offset: p.offset, Tag: 1, Ordered: true}
	switch p.kind {
	case packetLock:
		ev.Kind, ev.Queues = LeaseLock, p.queues
		ev.Starts = make([]int64, len(p.queues))
	case packetUnlock:
		ev.Kind, ev.Queues = LeaseUnlock, p.queues
	case packetPull:
		ev.Kind = LeasePull
	case packetCommit:
		ev.Kind, ev.End = LeaseCommit, w.end[p.queue]
	}
	w.broker(ev, c, &p)
}

// broker feeds the table, carries its actions out and answers p.
func (w *world) broker(ev *LeaseEvent, c *client, p *packet) {
	w.trace("table", ev, p)
	for _, a := range w.table.Step(w.now, ev, nil) {
		w.trace("  does", a, nil)
		if a.Change() {
			w.applied++
		}
		switch a.Kind {
		case LeaseGranted:
			q := int(a.Queue.ID)
			p.grants = append(p.grants, Grant{Queue: a.Queue, Epoch: a.Epoch, Offset: a.Offset, Settled: w.settled[q], Attempts: w.attempts[q]})
		case LeaseRefused:
			p.failed = true
		case LeaseStored:
			w.store(int(a.Queue.ID), a.Offset, p)
		case LeaseDropped:
			p.failed, p.fenced = true, a.Why == WhyFenced
		case LeaseMoved:
			q := int(a.Queue.ID)
			w.tell(a)
			w.base[q], w.top[q] = a.Offset, a.Offset
			w.settled[q], w.attempts[q] = nil, nil
			for o := range w.done[q] {
				if o >= a.Offset {
					delete(w.done[q], o)
				}
			}
		case LeaseFence:
			p.fenced = true
		case LeaseAnnounce:
			for _, m := range w.members {
				if !m.gone && m.link != 0 {
					m.notice()
				}
			}
		}
	}
	if p != nil {
		w.answer(c, p)
	}
}

// tell tells the holder of a queue that it was reset: what it has in hand under
// an older epoch is lost.
func (w *world) tell(a LeaseAction) {
	for _, m := range w.members {
		if !m.gone && m.link != 0 && m.token == a.Session {
			m.in = append(m.in, packet{kind: packetReset, link: m.link, queue: int(a.Queue.ID), epoch: a.Epoch})
		}
	}
}

// notice puts a notice on the link, unless one is on it already.
func (c *client) notice() {
	for _, p := range c.in {
		if p.kind == packetNotice {
			return
		}
	}
	c.in = append(c.in, packet{kind: packetNotice, link: c.link})
}

// store keeps what a commit carries.
func (w *world) store(q int, offset int64, p *packet) {
	w.checkPosition(q, offset)
	w.settled[q], w.attempts[q] = p.settled, p.attempts
	for _, r := range p.settled {
		for o := r.From; o < r.To; o++ {
			if !w.done[q][o] {
				w.fail("queue %d: %d is stored as settled and has not succeeded", q, o)
			}
		}
	}
}

// checkPosition: the position never goes back, and never passes an unfinished
// message.
func (w *world) checkPosition(q int, offset int64) {
	if offset < w.top[q] {
		w.fail("queue %d: position goes back from %d to %d", q, w.top[q], offset)
	}
	w.top[q] = offset
	for o := w.base[q]; o < offset; o++ {
		if !w.done[q][o] {
			w.fail("queue %d: position %d passes %d, which has not succeeded", q, offset, o)
		}
	}
}

// answer sends the answer to p, with the messages of a pull. A pull at the end
// of the queue is never answered: it waits for messages.
func (w *world) answer(c *client, p *packet) {
	if p.kind == packetPull && !p.fenced {
		for o := p.offset; o < w.end[p.queue] && len(p.entries) < 3; o++ {
			p.entries = append(p.entries, Entry{Offset: o, Size: 1, Key: w.key(o)})
		}
		if len(p.entries) == 0 && !p.refill {
			return
		}
	}
	c.in = append(c.in, *p)
}
