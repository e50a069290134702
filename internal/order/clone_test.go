// SPDX-License-Identifier: Apache-2.0

package order

import (
	"maps"
	"slices"
)

// clone returns an independent copy of the world.
func (w *world) clone() *world {
	n := *w
	n.table = w.table.clone()
	n.members = make([]*client, len(w.members))
	for i, c := range w.members {
		n.members[i] = c.clone()
	}
	n.done = make([]map[int64]bool, len(w.done))
	for i := range w.done {
		n.done[i] = maps.Clone(w.done[i])
	}
	n.end, n.base, n.top = slices.Clone(w.end), slices.Clone(w.base), slices.Clone(w.top)
	n.settled, n.attempts = slices.Clone(w.settled), slices.Clone(w.attempts)
	return &n
}

func (c *client) clone() *client {
	n := *c
	n.in, n.out, n.lost = slices.Clone(c.in), slices.Clone(c.out), slices.Clone(c.lost)
	if c.session != nil {
		s := *c.session
		n.session = &s
	}
	if c.claims != nil {
		n.claims = c.claims.clone()
	}
	n.lanes = slices.Clone(c.lanes)
	for i, d := range c.lanes {
		if d != nil {
			n.lanes[i] = d.clone()
		}
	}
	return &n
}

func (d *laneDriver) clone() *laneDriver {
	n := *d
	n.lane = d.lane.clone()
	n.runs = slices.Clone(d.runs)
	n.done = maps.Clone(d.done)
	return &n
}

func (l *Lane) clone() *Lane {
	n := *l
	n.slots, n.before, n.tried = slices.Clone(l.slots), slices.Clone(l.before), slices.Clone(l.tried)
	n.strands.byKey = maps.Clone(l.strands.byKey)
	n.strands.all, n.strands.timers = slices.Clone(l.strands.all), slices.Clone(l.strands.timers)
	n.runs.all, n.runs.free = slices.Clone(l.runs.all), slices.Clone(l.runs.free)
	for i := range n.runs.all {
		n.runs.all[i].entries = slices.Clone(n.runs.all[i].entries)
	}
	n.pull.order = nil
	return &n
}

func (c *Claims) clone() *Claims {
	n := *c
	n.byQueue = make(map[Queue]*claim, len(c.byQueue))
	n.sorted = make([]*claim, len(c.sorted))
	for i, cl := range c.sorted {
		copied := *cl
		n.sorted[i] = &copied
		n.byQueue[cl.queue] = &copied
	}
	n.locks, n.unlocks = nil, nil
	return &n
}

func (t *Leases) clone() *Leases {
	n := *t
	members := map[*member]*member{}
	links := map[*link]*link{}
	var copyMember func(*member) *member
	copyLink := func(l *link) *link {
		if c := links[l]; c != nil {
			return c
		}
		c := *l
		links[l] = &c
		c.member = copyMember(l.member)
		return &c
	}
	copyMember = func(m *member) *member {
		if m == nil || members[m] != nil {
			return members[m]
		}
		c := *m
		members[m] = &c
		c.links = nil
		for _, l := range m.links {
			c.links = append(c.links, copyLink(l))
		}
		return &c
	}
	n.ours, n.stock = map[Token]*member{}, map[string]*member{}
	for k, m := range t.ours {
		n.ours[k] = copyMember(m)
	}
	for k, m := range t.stock {
		n.stock[k] = copyMember(m)
	}
	n.links = map[LinkID]*link{}
	for k, l := range t.links {
		n.links[k] = copyLink(l)
	}
	n.queues, n.sorted = map[Queue]*lease{}, nil
	for _, le := range t.sorted {
		c := *le
		c.holder = copyMember(le.holder)
		c.waiting = nil
		for _, m := range le.waiting {
			c.waiting = append(c.waiting, copyMember(m))
		}
		n.queues[c.queue] = &c
		n.sorted = append(n.sorted, &c)
	}
	n.waits, n.waitEnd = slices.Clone(t.waits), slices.Clone(t.waitEnd)
	return &n
}
