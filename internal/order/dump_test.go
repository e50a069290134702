// SPDX-License-Identifier: Apache-2.0

package order

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"
)

// dumper writes a state so that two states with the same future have the same
// text: times are relative, names of links, epochs and requests are left out or
// numbered by their order.
type dumper struct {
	b   []byte
	now Time
}

// dump appends the state of the world.
func (w *world) dump(b []byte) []byte {
	d := &dumper{b: b, now: w.now}
	f := w.faults
	d.ints(f.crashes, f.resets, f.failures, f.freezes, f.breaks, f.restarts)
	for q := range w.end {
		d.ints(int(w.base[q]), int(w.top[q]))
		d.set(w.done[q])
		d.ranges(w.settled[q])
		d.attempts(w.attempts[q])
	}
	d.table(w.table)
	for _, c := range w.members {
		d.client(w, c)
	}
	return d.b
}

func (d *dumper) ints(ns ...int) {
	for _, n := range ns {
		d.b = binary.AppendVarint(d.b, int64(n))
	}
	d.b = append(d.b, 0xff)
}

func (d *dumper) bools(bs ...bool) {
	for _, b := range bs {
		c := byte(0)
		if b {
			c = 1
		}
		d.b = append(d.b, c)
	}
}

// time writes a moment relative to now; what is long ago is all the same.
func (d *dumper) time(ts ...Time) {
	for _, t := range ts {
		r := int64(t - d.now)
		if t == Never {
			r = -1 << 60
		}
		d.b = binary.AppendVarint(d.b, max(r, -int64(4*time.Second)))
	}
}

// future writes moments of which only those to come matter.
func (d *dumper) future(ts ...Time) {
	for _, t := range ts {
		d.time(max(t, d.now-1))
	}
}

func (d *dumper) set(m map[int64]bool) {
	for _, o := range slices.Sorted(maps.Keys(m)) {
		d.b = binary.AppendVarint(d.b, o)
	}
	d.b = append(d.b, 0xfe)
}

func (d *dumper) ranges(rs []Range) {
	for _, r := range rs {
		d.ints(int(r.From), int(r.To))
	}
	d.b = append(d.b, 0xfd)
}

func (d *dumper) attempts(as []Attempt) {
	for _, a := range as {
		d.ints(int(a.Offset), int(a.Ended))
		d.bools(a.Running)
	}
	d.b = append(d.b, 0xfc)
}

func (d *dumper) member(t *Leases, m *member) {
	if m == nil {
		d.ints(-1)
		return
	}
	d.ints(int(m.session), len(m.links), m.held)
	d.future(t.memberUntil(m), m.floor)
	d.bools(m.left, m.lapsed, m.restored)
	for _, l := range m.links {
		d.bools(l.pending)
		if l.pending {
			d.time(l.since)
		}
	}
}

func (d *dumper) table(t *Leases) {
	d.time(t.awake, t.next)
	for _, le := range t.sorted {
		d.ints(int(le.offset), len(le.waiting))
		if le.holder == nil {
			d.ints(-1)
			continue
		}
		d.ints(int(le.holder.session))
		d.future(le.floor, le.leaving)
		d.bools(le.taken, le.restored, le.reset)
	}
	for _, k := range slices.Sorted(maps.Keys(t.ours)) {
		d.member(t, t.ours[k])
	}
}

func (d *dumper) client(w *world, c *client) {
	d.bools(c.gone, c.frozen, c.link != 0)
	if c.gone {
		return
	}
	d.session(c.session)
	d.claims(w, c.claims)
	for q, l := range c.lanes {
		d.bools(l != nil)
		if l != nil {
			d.lane(w, q, l)
		}
	}
	for _, p := range c.out {
		d.packet(w, c, p)
	}
	d.b = append(d.b, 0xfb)
	for _, p := range c.in {
		d.packet(w, c, p)
	}
	d.b = append(d.b, 0xfa)
	for _, p := range c.lost {
		d.packet(w, c, p)
	}
}

func (d *dumper) session(s *Session) {
	d.ints(int(s.state))
	d.bools(s.holding, s.silent, s.reading, s.ack == 0, s.slow)
	d.future(s.Until(), s.closeAt(), s.nextPing, s.due)
}

// epoch writes an epoch relative to the queue's last one.
func (d *dumper) epoch(w *world, q int, e Epoch) {
	if le := w.table.queues[worldQueue(q)]; le != nil {
		switch {
		case e == le.epoch:
			d.ints(1)
			return
		case e < le.epoch:
			d.ints(2)
			return
		}
	}
	d.ints(3)
}

func (d *dumper) claims(w *world, c *Claims) {
	d.bools(c.lock != 0, c.unlock != 0, c.noticed, c.closing)
	for _, cl := range c.sorted {
		d.ints(int(cl.queue.ID), int(cl.state))
		d.bools(cl.wanted, cl.mayHold, cl.inLock, cl.stale, cl.inFree, cl.overrun)
		d.epoch(w, int(cl.queue.ID), cl.epoch)
		d.future(cl.tryAt)
	}
}

func (d *dumper) lane(w *world, q int, ld *laneDriver) {
	l := ld.lane
	d.epoch(w, q, l.epoch)
	d.time(l.endBy, ld.until)
	d.ints(int(l.phase), int(l.next), l.n, int(ld.base))
	d.bools(l.hold, l.lost, l.pull.busy, l.refill.busy, l.commits.busy, l.commits.dirty)
	d.future(l.pull.at, l.refill.at, l.commits.at, l.commits.retryAt)
	d.ints(int(l.commits.low), int(l.pull.from), int(l.refill.from))
	d.ranges(l.before)
	d.attempts(l.tried)
	for j := l.head; j != 0; j = l.at(j).next {
		s := l.at(j)
		d.ints(int(s.Offset), int(s.state), int(s.ended), int(s.told))
		d.bools(s.kept, s.gone, s.force)
	}
	for i := range l.strands.all {
		st := &l.strands.all[i]
		if st.head != 0 {
			d.ints(int(st.key), int(st.state), int(st.verb), int(st.oneBelow), int(st.report)-int(l.commits.id))
			d.future(st.due)
		}
	}
	for i := l.strands.ready; i != 0; i = l.strands.at(i).next {
		d.ints(int(l.strands.at(i).key))
	}
	d.set(ld.done)
	for _, r := range ld.runs {
		d.ints(int(r.offsets[0]), len(r.offsets))
		d.time(r.cancel)
		d.bools(r.paused, l.runs.find(r.token) != nil && l.runs.find(r.token).cause != CauseNone)
	}
}

// packet writes a packet; requests are told apart only by whether somebody
// still waits for their answer.
func (d *dumper) packet(w *world, c *client, p packet) {
	d.ints(int(p.kind), p.queue, int(p.offset), len(p.entries), len(p.grants), len(p.queues))
	d.bools(p.failed, p.fenced, p.refill, p.link == c.link)
	switch p.kind {
	case packetLock:
		d.bools(p.id == c.claims.lock)
	case packetUnlock:
		d.bools(p.id == c.claims.unlock)
	case packetCommit:
		l := c.lanes[p.queue]
		d.bools(l != nil && l.lane.epoch == p.epoch && l.lane.commits.id == p.id)
	}
	for _, q := range p.queues {
		d.ints(int(q.ID))
	}
	for _, g := range p.grants {
		d.ints(int(g.Queue.ID), int(g.Offset))
		d.epoch(w, int(g.Queue.ID), g.Epoch)
		d.ranges(g.Settled)
		d.attempts(g.Attempts)
	}
	if p.kind == packetPull || p.kind == packetCommit || p.kind == packetReset {
		d.epoch(w, p.queue, p.epoch)
	}
	d.ranges(p.settled)
	d.attempts(p.attempts)
}
