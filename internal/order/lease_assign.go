// SPDX-License-Identifier: Apache-2.0

package order

// meant is for whom a queue is meant by the broker's split among members of
// ours. The split itself is the driver's; that nobody sits on a free queue is
// decided here.
type meant struct {
	client  string
	session Token // 0: for nobody
	since   Time  // when it was meant for it, or became free, whichever is later
}

// assign notes for whom queues are meant.
func (t *Leases) assign(now Time, ev *LeaseEvent) {
	for _, q := range ev.Queues {
		le := t.queue(q)
		if le.meant.session != ev.Session {
			le.meant = meant{client: ev.Client, session: ev.Session, since: now}
		}
	}
	t.schedule()
}

// passAt returns when a free queue passes to another member, unless the one
// that it is meant for locks it. A group that never locks consumes without
// leases, and nothing passes.
func (t *Leases) passAt(le *lease) Time {
	if !t.locking || le.holder != nil || le.meant.session == 0 {
		return Never
	}
	return le.meant.since.Add(t.cfg.Grace)
}

// passOn takes free queues from those that did not lock them in time.
func (t *Leases) passOn(now Time, buf *[]LeaseAction) {
	for _, le := range t.sorted {
		if now < t.passAt(le) {
			continue
		}
		if m := t.ours[le.meant.session]; m == nil || m.left { // it has gone, and did not sit on it
			le.meant = meant{}
			continue
		}
		*buf = append(*buf, LeaseAction{Kind: LeasePassed, Queue: le.queue, Client: le.meant.client, Session: le.meant.session})
		le.meant = meant{}
		t.announce = true
	}
}
