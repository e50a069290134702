// SPDX-License-Identifier: Apache-2.0

package order

// epochReserve is kept for resets: they must not fail for want of an epoch.
const (
	epochReserve = 32
	epochLow     = 256
)

// lock answers a lock request, queue by queue.
func (t *Leases) lock(now Time, ev *LeaseEvent, buf *[]LeaseAction) {
	t.locking = true
	m, why := t.asker(now, ev, buf)
	for i, q := range ev.Queues {
		start := Unknown
		if i < len(ev.Starts) {
			start = ev.Starts[i]
		}
		if why != WhyNone {
			*buf = append(*buf, LeaseAction{Kind: LeaseRefused, Why: why, Tag: ev.Tag, Queue: q})
			continue
		}
		t.lockOne(now, m, t.queue(q), start, ev.Tag, buf)
	}
	t.schedule()
}

// asker returns the member that sent a lock, or why it gets none. A stock
// client's link joins it by its lock body; ours must have joined before, hear
// the broker and be within its time.
func (t *Leases) asker(now Time, ev *LeaseEvent, buf *[]LeaseAction) (*member, Why) {
	if ev.Session == 0 {
		l := t.connect(now, ev)
		t.retryWaits(now, ev.Link, buf)
		if l.twin {
			return nil, WhyTwin
		}
		return l.member, WhyNone
	}
	l := t.links[ev.Link]
	switch {
	case l == nil || l.former || l.member.session != ev.Session:
		return nil, WhyStranger
	case l.pending || l.member.lapsed || now >= t.memberUntil(l.member):
		return nil, WhyUnproven
	}
	return l.member, WhyNone
}

// lockOne grants one queue to m or refuses it.
func (t *Leases) lockOne(now Time, m *member, le *lease, start int64, tag uint64, buf *[]LeaseAction) {
	fresh := le.holder == nil
	switch {
	case le.holder == m && !le.taken:
	case le.holder != nil:
		t.refuse(m, le, tag, buf)
		return
	case !t.haveEpochs(epochReserve, buf):
		*buf = append(*buf, LeaseAction{Kind: LeaseRefused, Why: WhyNoEpoch, Tag: tag, Queue: le.queue})
		return
	default:
		t.grant(now, m, le, buf)
	}
	le.refreshed, le.restored, le.leaving = now, false, 0
	if m.session != 0 {
		le.reset = false // ours begins at the position that this answer names
	}
	first := le.offset == Unknown && start >= 0
	if first {
		le.offset = start
	}
	*buf = append(*buf, LeaseAction{
		Kind: LeaseGranted, Fresh: fresh, Start: first, Reset: le.reset, Tag: tag, Queue: le.queue,
		Client: m.client, Session: m.session, Epoch: le.epoch, Offset: le.offset,
	})
}

// grant makes m the holder of a free queue, under a new epoch.
func (t *Leases) grant(now Time, m *member, le *lease, buf *[]LeaseAction) {
	if !t.Leased() {
		t.awake = now
	}
	le.holder, le.epoch, le.since, le.floor = m, t.takeEpoch(buf), now, 0
	m.held++
	le.dropWaiting(m)
}

// refuse tells m who holds the queue and remembers that it waits.
func (t *Leases) refuse(m *member, le *lease, tag uint64, buf *[]LeaseAction) {
	known := false
	for _, w := range le.waiting {
		known = known || w == m
	}
	if !known {
		le.waiting = append(le.waiting, m)
	}
	*buf = append(*buf, LeaseAction{
		Kind: LeaseRefused, Why: le.why(), Tag: tag, Queue: le.queue,
		Client: le.holder.client, Session: le.holder.session, Epoch: le.epoch,
	})
}

// why says in which state the queue is held.
func (le *lease) why() Why {
	switch {
	case le.holder == nil:
		return WhyNone
	case le.taken:
		return WhyOperator
	case le.leaving != 0:
		return WhyLeaving
	case le.restored:
		return WhyRestart
	case !le.holder.open():
		return WhyGrace
	}
	return WhyHeld
}

// unlock takes back what the client gives up. When a stock client gives up all
// it has, it is shutting down and will commit after this: others wait until it
// is done.
func (t *Leases) unlock(now Time, ev *LeaseEvent, buf *[]LeaseAction) {
	m := t.unlocker(ev)
	if m == nil {
		t.refuseUnlock(ev, buf)
		return
	}
	given := 0
	for _, q := range ev.Queues {
		if le := t.queues[q]; le != nil && le.holder == m && le.leaving == 0 {
			given++
		}
	}
	linger := m.session == 0 && given == m.held-t.leavingOf(m) && m.open()
	for _, q := range ev.Queues {
		le := t.queues[q]
		if le == nil || le.holder != m || le.leaving != 0 {
			continue
		}
		if linger {
			le.leaving = now.Add(stockLeaving)
			continue
		}
		t.free(now, le, WhyUnlocked, buf)
	}
	if ev.Overrun {
		t.stats.Overruns += uint64(given)
	}
	t.reap(m)
	t.schedule()
}

// unlocker returns whose leases an unlock may end: a stock client is believed
// by the id in the body, unless its link is a twin's.
func (t *Leases) unlocker(ev *LeaseEvent) *member {
	l := t.links[ev.Link]
	if ev.Session == 0 {
		if l != nil && l.twin {
			return nil
		}
		return t.stock[ev.Client]
	}
	if l == nil || l.former || l.pending || l.member.session != ev.Session {
		return nil
	}
	return l.member
}

// refuseUnlock answers an unlock of ours on a link that does not count yet: the
// client must ask again, for the session, and with it the lease, may live on.
func (t *Leases) refuseUnlock(ev *LeaseEvent, buf *[]LeaseAction) {
	l := t.links[ev.Link]
	if ev.Session == 0 || l == nil || !l.pending || l.member.session != ev.Session {
		return
	}
	for _, q := range ev.Queues {
		*buf = append(*buf, LeaseAction{Kind: LeaseRefused, Why: WhyUnproven, Tag: ev.Tag, Queue: q})
	}
}

func (t *Leases) leavingOf(m *member) int {
	n := 0
	for _, le := range t.sorted {
		if le.holder == m && le.leaving != 0 {
			n++
		}
	}
	return n
}

// free ends the lease of a queue. Its epoch stays the last one given.
func (t *Leases) free(now Time, le *lease, why Why, buf *[]LeaseAction) {
	m := le.holder
	le.holder, le.leaving, le.taken, le.restored, le.floor = nil, 0, false, false, 0
	le.meant.since = max(le.meant.since, now)
	m.held--
	t.announce = true
	*buf = append(*buf, LeaseAction{
		Kind: LeaseFreed, Why: why, Queue: le.queue,
		Client: m.client, Session: m.session, Epoch: le.epoch, Offset: le.offset,
	})
}

// take fences the holder at once and frees the queue after G, when a holder
// that hears of it has stopped.
func (t *Leases) take(now Time, q Queue, buf *[]LeaseAction) {
	le := t.queues[q]
	if le == nil || le.holder == nil || le.taken {
		return
	}
	le.taken, le.leaving, le.floor = true, now.Add(t.cfg.Grace), 0
	t.announce = true
	t.schedule()
}

// addEpochs makes a reserved block of epochs usable.
func (t *Leases) addEpochs(ev *LeaseEvent) {
	if ev.Epoch < t.epochEnd || ev.Epoch >= ev.EpochEnd {
		return
	}
	if ev.Epoch != t.epochEnd || t.epoch == t.epochEnd {
		t.epoch = ev.Epoch // a gap is never given: the rest of the old block is dropped
	}
	t.epoch = max(t.epoch, 1)
	t.epochEnd, t.asked = ev.EpochEnd, false
}

// haveEpochs reports whether more than spare epochs are left.
func (t *Leases) haveEpochs(spare Epoch, buf *[]LeaseAction) bool {
	left := t.epochEnd - t.epoch
	if left < epochLow && !t.asked {
		t.asked = true
		*buf = append(*buf, LeaseAction{Kind: LeaseNeedEpochs, Epoch: t.epochEnd})
	}
	return left > spare
}

func (t *Leases) takeEpoch(buf *[]LeaseAction) Epoch {
	e := t.epoch
	t.epoch++
	t.haveEpochs(0, buf)
	return e
}
