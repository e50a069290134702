// SPDX-License-Identifier: Apache-2.0

package order

// pull decides whether a pull is served. A leased queue is read by its holder
// only; a stock pull says nothing about who sent it but its link.
func (t *Leases) pull(ev *LeaseEvent, buf *[]LeaseAction) {
	le := t.queues[ev.Queue]
	l := t.links[ev.Link]
	a := LeaseAction{Kind: LeaseServe, Tag: ev.Tag, Queue: ev.Queue}
	switch {
	case ev.Session != 0 && ev.Epoch != 0:
		if !le.heldBy(ev.Session, ev.Epoch) || l == nil || l.member != le.holder {
			t.stats.Fenced++
			a.Kind, a.Why = LeaseFence, WhyFenced
			le.name(&a)
		}
	case le == nil || le.holder == nil:
		t.takeUp(le, l, ev, buf)
	case le.serves(l, ev.Host):
		t.takeUp(le, l, ev, buf)
	default:
		t.stats.Parked++
		a.Kind, a.Why = LeasePark, WhyHeld
		le.name(&a)
	}
	*buf = append(*buf, a)
}

// heldBy reports whether the queue is leased to that session under that epoch.
func (le *lease) heldBy(s Token, e Epoch) bool {
	return le != nil && le.holder != nil && le.holder.session == s && le.epoch == e && !le.taken
}

// serves reports whether a pull without epoch on link l is the holder's, as
// far as one can know: a link that has not joined counts by its address.
func (le *lease) serves(l *link, host string) bool {
	if l == nil {
		return host != "" && host == le.holder.host
	}
	return l.member == le.holder && !l.twin
}

// name puts into a who holds the queue.
func (le *lease) name(a *LeaseAction) {
	if le == nil {
		return
	}
	a.Epoch = le.epoch
	if le.holder != nil {
		a.Client, a.Session = le.holder.client, le.holder.session
	}
}

// takeUp ends the wait for a reset when its value is pulled by the holder, or
// by any member if the queue is free.
func (t *Leases) takeUp(le *lease, l *link, ev *LeaseEvent, buf *[]LeaseAction) {
	if le == nil || !le.reset || ev.Offset != le.offset || l == nil || l.twin || l.former {
		return
	}
	if le.holder == nil || l.member == le.holder {
		le.reset = false
		*buf = append(*buf, LeaseAction{Kind: LeaseStored, Queue: le.queue, Epoch: le.epoch, Offset: le.offset})
	}
}

// commit decides what becomes of an offset commit: stored, dropped, a reset,
// or kept until its link is known.
func (t *Leases) commit(now Time, ev *LeaseEvent, buf *[]LeaseAction) {
	le := t.queue(ev.Queue)
	l := t.links[ev.Link]
	var why Why
	switch {
	case ev.Offset < 0:
		why = WhyNegative
	case ev.End > 0 && ev.Offset > ev.End:
		why = WhyPastEnd
	case ev.Session != 0:
		why = t.admitOurs(le, l, ev)
	case l != nil:
		why = t.admitMember(le, l, ev)
	case !ev.Known && !ev.Async: // somebody waits for it: an operator
		t.move(le, ev.Offset, ev.Tag, buf)
		return
	case !ev.Known: // may turn out to be a member, even a former owner
		t.wait(now, ev, buf)
		return
	case le.offset != Unknown && ev.Offset < le.offset:
		t.move(le, ev.Offset, ev.Tag, buf)
		return
	default:
		why = admitStranger(le, ev)
	}
	if why != WhyNone {
		t.drop(ev, le, why, buf)
		return
	}
	le.offset, le.reset = ev.Offset, false
	*buf = append(*buf, LeaseAction{Kind: LeaseStored, Tag: ev.Tag, Queue: le.queue, Epoch: le.epoch, Offset: le.offset})
}

// admitOurs judges a commit of a session of ours.
func (t *Leases) admitOurs(le *lease, l *link, ev *LeaseEvent) Why {
	switch {
	case l == nil || l.member.session != ev.Session:
		return WhyStranger
	case ev.Epoch != 0 && (ev.Epoch != le.epoch || le.taken):
		return WhyFenced
	case l.pending:
		return WhyUnproven
	case le.holder != nil && le.holder != l.member, le.holder != nil && ev.Epoch == 0:
		return WhyForeign
	case ev.Epoch == 0 && le.reset && ev.Offset != le.offset:
		return WhyReset
	case ev.Offset < le.offset && (ev.Ordered || le.holder != nil || ev.Epoch != 0):
		return WhyLower
	}
	return WhyNone
}

// admitMember judges a commit on a link of a stock member.
func (t *Leases) admitMember(le *lease, l *link, ev *LeaseEvent) Why {
	switch {
	case l.member.session != 0: // our clients name their session in every commit
		return WhyStranger
	case le.holder != nil && (le.holder != l.member || l.twin || le.taken):
		return WhyForeign
	case le.reset && ev.Offset != le.offset:
		return WhyReset
	case ev.Offset < le.offset && (ev.Ordered || le.holder != nil):
		return WhyLower
	}
	return WhyNone
}

// admitStranger judges a commit, not lower than the position, on a link that
// belongs to no member.
func admitStranger(le *lease, ev *LeaseEvent) Why {
	switch {
	case le.holder != nil:
		return WhyForeign
	case le.reset && ev.Offset != le.offset:
		return WhyReset
	}
	return WhyNone
}

// move resets the position of a queue: a new epoch, so that whatever was in
// hand under the old one can't commit any more.
func (t *Leases) move(le *lease, to int64, tag uint64, buf *[]LeaseAction) {
	if to < 0 || !t.haveEpochs(0, buf) {
		t.drop(&LeaseEvent{Tag: tag}, le, WhyNoEpoch, buf)
		return
	}
	a := LeaseAction{Kind: LeaseMoved, Tag: tag, Queue: le.queue, Reset: true, Old: le.offset, Offset: to}
	le.offset, le.epoch, le.reset = to, t.takeEpoch(buf), true
	le.name(&a)
	t.stats.Resets++
	*buf = append(*buf, a)
}

// drop refuses or ignores a commit and counts it.
func (t *Leases) drop(ev *LeaseEvent, le *lease, why Why, buf *[]LeaseAction) {
	switch why {
	case WhyFenced:
		t.stats.Fenced++
	case WhyLower:
		t.stats.Lower++
	case WhyForeign, WhyStranger, WhyUnproven:
		t.stats.Foreign++
	case WhyUnknown, WhyCrowded:
		t.stats.Unknown++
	default:
		t.stats.Ignored++
	}
	a := LeaseAction{Kind: LeaseDropped, Why: why, Tag: ev.Tag, Queue: le.queue, Offset: ev.Offset, Old: le.offset}
	le.name(&a)
	*buf = append(*buf, a)
}

// wait keeps a commit until its link is known.
func (t *Leases) wait(now Time, ev *LeaseEvent, buf *[]LeaseAction) {
	if len(t.waits) >= maxWaits {
		t.drop(ev, t.queue(ev.Queue), WhyCrowded, buf)
		return
	}
	kept := *ev
	kept.Queues, kept.Starts = nil, nil
	t.waits = append(t.waits, kept)
	t.waitEnd = append(t.waitEnd, now.Add(unknownWait))
	t.next = min(t.next, now.Add(unknownWait))
	*buf = append(*buf, LeaseAction{Kind: LeaseWait, Tag: ev.Tag, Queue: ev.Queue})
}

// retryWaits judges the waiting commits of a link that is known now, in the
// order in which they came.
func (t *Leases) retryWaits(now Time, id LinkID, buf *[]LeaseAction) {
	t.eachWait(func(ev *LeaseEvent, _ Time) bool { return ev.Link == id }, func(ev *LeaseEvent) {
		ev.Known = true
		t.commit(now, ev, buf)
	})
}

// dropWaits refuses the waiting commits of a link that is gone.
func (t *Leases) dropWaits(id LinkID, buf *[]LeaseAction) {
	t.eachWait(func(ev *LeaseEvent, _ Time) bool { return ev.Link == id }, func(ev *LeaseEvent) {
		t.drop(ev, t.queue(ev.Queue), WhyUnknown, buf)
	})
}

// eachWait removes the waiting commits that match and passes each to do.
func (t *Leases) eachWait(match func(*LeaseEvent, Time) bool, do func(*LeaseEvent)) {
	if len(t.waits) == 0 {
		return
	}
	kept := 0
	for i := range t.waits {
		ev, end := t.waits[i], t.waitEnd[i]
		if match(&ev, end) {
			do(&ev)
			continue
		}
		t.waits[kept], t.waitEnd[kept] = ev, end
		kept++
	}
	clear(t.waits[kept:])
	t.waits, t.waitEnd = t.waits[:kept], t.waitEnd[:kept]
}
