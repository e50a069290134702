// SPDX-License-Identifier: Apache-2.0

package order

import "time"

// memberUntil returns when a session of ours ends unless it is heard of: L
// after its last refresh, or G after its last link closed.
func (t *Leases) memberUntil(m *member) Time {
	switch {
	case m.session == 0:
		return Never
	case m.restored:
		return m.floor
	case m.open():
		return max(m.refreshed.Add(t.cfg.Lease), m.floor)
	}
	return max(max(m.closed, m.refreshed).Add(t.cfg.Grace), m.floor)
}

// until returns when the lease of a held queue ends unless it is refreshed.
func (t *Leases) until(le *lease) Time {
	m := le.holder
	switch {
	case le.leaving != 0:
		return le.leaving
	case m.session != 0:
		return max(t.memberUntil(m), le.floor)
	case le.restored:
		return le.floor
	case m.open():
		return max(le.refreshed.Add(stockLease), le.floor)
	}
	gone := le.refreshed.Add(stockGone)
	if t.cfg.StockFastRelease {
		gone = min(gone, m.closed.Add(stockFast))
	}
	return max(gone, le.floor)
}

// beat is how often a table with leases wants a tick, to notice pauses.
func (t *Leases) beat() time.Duration { return t.cfg.Grace / 8 }

// tick ends what is over. A tick that is late means that the broker was
// paused, and refreshes may lie unread: every lease gets G more.
func (t *Leases) tick(now Time, buf *[]LeaseAction) {
	late := now.Sub(t.awake) - t.beat()
	if late > max(t.cfg.Grace/4, 100*time.Millisecond) && t.Leased() {
		t.extendAll(now.Add(t.cfg.Grace))
	}
	t.awake = now
	if now >= t.shrinkAt {
		t.cfg.Grace, t.cfg.Lease, t.shrinkAt = t.shrunk.Grace, t.shrunk.Lease, Never
	}
	for _, le := range t.sorted {
		if le.holder != nil && now >= t.until(le) {
			t.expire(now, le, buf)
		}
	}
	t.lapse(now)
	t.passOn(now, buf)
	t.eachWait(func(_ *LeaseEvent, end Time) bool { return now >= end }, func(ev *LeaseEvent) {
		t.drop(ev, t.queue(ev.Queue), WhyUnknown, buf)
	})
	t.schedule()
}

// extendAll lets no lease and no membership end before floor.
func (t *Leases) extendAll(floor Time) {
	t.stats.Pauses++
	for _, le := range t.sorted {
		if le.holder == nil {
			continue
		}
		le.floor = max(le.floor, floor)
		if le.leaving != 0 {
			le.leaving = max(le.leaving, floor)
		}
	}
	for _, m := range t.ours {
		m.floor = max(m.floor, floor)
	}
}

// expire ends the lease of a queue by time.
func (t *Leases) expire(now Time, le *lease, buf *[]LeaseAction) {
	m, why := le.holder, WhyClosed
	switch {
	case le.taken:
		why = WhyOperator
	case le.leaving != 0:
		why = WhyUnlocked
	case le.restored:
		why = WhyRestart
	case m.open() && m.session == 0:
		why = WhyExpired
	case m.open():
		why = WhySilent
	}
	if why != WhyUnlocked {
		t.stats.Takeovers++
	}
	t.free(now, le, why, buf)
	if m.session == 0 {
		t.reap(m)
	}
}

// lapse takes sessions whose time is over off the member list.
func (t *Leases) lapse(now Time) {
	for _, m := range t.ours {
		if now < t.memberUntil(m) {
			continue
		}
		if !m.lapsed {
			m.lapsed, t.announce = true, true
		}
		m.restored = false
		t.reap(m)
	}
}

// schedule works out when the next tick is needed. A refresh only moves ends
// later and needs no new schedule: a tick too early does no harm.
func (t *Leases) schedule() {
	t.next = t.shrinkAt
	leased := false
	for _, le := range t.sorted {
		if le.holder != nil {
			leased = true
			t.next = min(t.next, t.until(le))
		}
		t.next = min(t.next, t.passAt(le))
	}
	for _, m := range t.ours {
		if !m.lapsed {
			t.next = min(t.next, t.memberUntil(m))
		}
	}
	for _, end := range t.waitEnd {
		t.next = min(t.next, end)
	}
	if leased {
		t.next = min(t.next, t.awake.Add(t.beat()))
	}
}

// Next returns when the next LeaseTick is due, or Never.
func (t *Leases) Next() Time { return t.next }
