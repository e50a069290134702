// SPDX-License-Identifier: Apache-2.0

package order

// driveRefill reads again what a strand is missing.
func (l *Lane) driveRefill(now Time, buf *[]LaneAction) {
	if !l.mayPull(now, &l.refill) || l.strands.missing == 0 {
		return
	}
	l.refill.busy, l.refill.from = true, l.lowestMissing()
	*buf = append(*buf, LaneAction{Kind: LaneRefill, Offset: l.refill.from, Epoch: l.epoch})
}

func (l *Lane) lowestMissing() int64 {
	low := l.next
	for i := range l.strands.all {
		if st := &l.strands.all[i]; st.state == strandMissing {
			low = min(low, l.at(st.from).Offset)
		}
	}
	return low
}

// refilled puts what was read again into its slots. What is missing and was
// not in the answer although the answer reaches beyond it is gone.
func (l *Lane) refilled(now Time, ev *LaneEvent, buf *[]LaneAction) {
	if !l.refill.busy {
		return
	}
	l.refill.busy = false
	if l.phase != laneOpen {
		return
	}
	cursor, next := l.head, ev.Next
	for _, e := range l.ascending(ev.Entries) {
		next = max(next, e.Offset+1)
		cursor = l.markGone(cursor, e.Offset, buf)
		if cursor != 0 && l.at(cursor).Offset == e.Offset {
			after := l.at(cursor).next
			l.fill(now, cursor, &e, buf)
			cursor = after
		}
	}
	if next <= l.refill.from {
		l.refill.at = now.Add(pullRetry) // an answer that says nothing
	}
	l.markGone(cursor, min(next, l.next), buf)
	l.wakeGone(now, buf)
}

// fill puts a message into slot j, if it is missing there and there is room or
// its strand waits for it.
func (l *Lane) fill(now Time, j int32, e *Entry, buf *[]LaneAction) {
	s := l.at(j)
	st := l.strands.at(s.strand)
	waits := st.from == j && st.state == strandMissing
	if s.kept || s.gone || !waits && l.cacheFull() {
		return
	}
	s.Ref, s.Size = e.Ref, e.Size
	l.keep(st, s)
	if waits {
		l.wake(now, s.strand, buf)
	}
}

// markGone notes that the missing messages from the refill's offset up to to
// are no longer at the broker, and returns the first slot that is not below to.
func (l *Lane) markGone(cursor int32, to int64, buf *[]LaneAction) int32 {
	for cursor != 0 && l.at(cursor).Offset < to {
		s := l.at(cursor)
		if !s.kept && !s.gone && s.Offset >= l.refill.from {
			s.gone, l.strands.gone = true, true
			*buf = append(*buf, LaneAction{Kind: LaneSkipped, Offset: s.Offset, Next: s.Offset + 1, Epoch: l.epoch})
		}
		cursor = s.next
	}
	return cursor
}

// wakeGone lets the strands go on whose next message is gone.
func (l *Lane) wakeGone(now Time, buf *[]LaneAction) {
	if !l.strands.gone {
		return
	}
	l.strands.gone = false
	for i := range l.strands.all {
		if st := &l.strands.all[i]; st.state == strandMissing && l.at(st.from).gone {
			l.wake(now, int32(i), buf)
		}
	}
}
