// SPDX-License-Identifier: Apache-2.0

package order

import (
	"slices"
	"time"
)

// pullRetry is the wait after a pull that failed without a wait of its own.
const pullRetry = time.Second

// pullState is the state of reading: one pull at a time.
type pullState struct {
	busy   bool
	from   int64
	at     Time // not before
	beyond bool // the position lies past the end of the queue
	full   LaneWhy
	since  Time // of full
	count  int  // messages in memory
	bytes  int64
	gone   bool    // a message that a strand is missing was found to be gone
	order  []Entry // an answer that had to be sorted
}

// drivePull asks for messages if there is room for them.
func (l *Lane) drivePull(now Time, buf *[]LaneAction) {
	p := &l.pull
	if now >= p.at {
		p.at = 0
	}
	if p.busy || l.phase != laneOpen || l.hold || l.paused || now >= l.until {
		return
	}
	from, why := l.pullFrom()
	if why != p.full {
		p.full, p.since = why, now
	}
	if why != LaneHandling || p.at != 0 {
		return
	}
	p.busy, p.from = true, from
	*buf = append(*buf, LaneAction{Kind: LanePull, Offset: from, Epoch: l.epoch})
}

// pullFrom returns where to read next, or why not to read (LaneHandling: read).
// Messages that a strand is missing come first.
func (l *Lane) pullFrom() (int64, LaneWhy) {
	switch {
	case l.strands.missing > 0:
		return l.lowestMissing(), LaneHandling
	case l.progress.full():
		return 0, LaneWindowFull
	case l.cacheFull() && !l.evict():
		return 0, LaneCacheFull
	}
	return l.next, LaneHandling
}

func (l *Lane) cacheFull() bool {
	return l.pull.count > l.cfg.MaxCount || l.pull.bytes > l.cfg.MaxBytes
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

// evict drops from memory what waits behind the first message of a blocked
// key; it is read again when its turn comes.
func (l *Lane) evict() bool {
	if !l.cfg.ByKey {
		return false
	}
	for i := range l.strands.all {
		st := &l.strands.all[i]
		if i == queueStrand || st.kept < 2 || st.state != strandWaiting && st.state != strandParked {
			continue
		}
		for j := l.at(st.from).after; j != 0; j = l.at(j).after {
			if s := l.at(j); s.kept {
				l.uncache(st, s)
				s.kept, s.Ref, s.Size = false, nil, 0
			}
		}
	}
	return !l.cacheFull()
}

func (l *Lane) cache(st *strand, s *slot) {
	st.kept++
	l.pull.count++
	l.pull.bytes += int64(s.Size)
}

func (l *Lane) uncache(st *strand, s *slot) {
	st.kept--
	l.pull.count--
	l.pull.bytes -= int64(s.Size)
}

// crowds reports whether one more message of st is better read again later:
// no key may fill the memory that the others need.
func (l *Lane) crowds(st *strand) bool {
	if !l.cfg.ByKey || st.key == 0 || st.n == 0 {
		return false
	}
	tight := l.pull.count >= l.cfg.MaxCount/2 || l.pull.bytes >= l.cfg.MaxBytes/2
	return tight && st.kept >= max(1, l.cfg.MaxCount/32)
}

// pulled takes in the answer to the pull under way: what is new joins the
// window, what was missing is filled in, repeats are dropped.
func (l *Lane) pulled(now Time, ev *LaneEvent, buf *[]LaneAction) {
	p := &l.pull
	if !p.busy {
		return
	}
	p.busy, p.beyond = false, false
	p.at = 0
	if len(ev.Entries) > 0 && l.cfg.PullWait > 0 {
		p.at = now.Add(l.cfg.PullWait)
	}
	if l.phase != laneOpen {
		return
	}
	known := l.next // below it the window knows every message
	next := ev.Next
	cursor := l.head
	for _, e := range l.ascending(ev.Entries) {
		next = max(next, e.Offset+1)
		switch {
		case e.Offset < p.from:
		case e.Offset < known:
			cursor = l.refill(now, cursor, &e, buf)
		case e.Offset >= l.next:
			l.admit(now, &e, buf)
		}
	}
	l.markGone(cursor, min(next, known), buf)
	if next > l.next {
		l.advance(next)
	}
	l.wakeGone(now, buf)
}

// ascending returns entries by ascending offset.
func (l *Lane) ascending(entries []Entry) []Entry {
	byOffset := func(a, b Entry) int {
		switch {
		case a.Offset < b.Offset:
			return -1
		case a.Offset > b.Offset:
			return 1
		}
		return 0
	}
	if slices.IsSortedFunc(entries, byOffset) {
		return entries
	}
	l.pull.order = append(l.pull.order[:0], entries...)
	slices.SortFunc(l.pull.order, byOffset)
	return l.pull.order
}

// admit takes in a new message at the read position or above it.
func (l *Lane) admit(now Time, e *Entry, buf *[]LaneAction) {
	if l.settledBefore(e.Offset) {
		l.advance(e.Offset + 1)
		return
	}
	i := l.strands.of(e.Key)
	j := l.push(*e)
	s, st := l.at(j), l.strands.at(i)
	s.strand, s.ended = i, l.triedBefore(e.Offset)
	if l.crowds(st) {
		s.kept, s.Ref, s.Size = false, nil, 0
	} else {
		l.cache(st, s)
	}
	if st.head == 0 {
		st.head = j
	} else {
		l.at(st.tail).after = j
	}
	st.tail = j
	st.n++
	l.advance(e.Offset + 1)
	if st.from == 0 {
		st.from = j
		if st.state == strandIdle {
			l.wake(now, i, buf)
		}
	}
}

// refill puts a message that was read again into its slot, if it is missing
// there. It begins to look at slot cursor and returns where it stopped; what
// it passes and is missing too was not in the answer.
func (l *Lane) refill(now Time, cursor int32, e *Entry, buf *[]LaneAction) int32 {
	cursor = l.markGone(cursor, e.Offset, buf)
	if cursor == 0 || l.at(cursor).Offset != e.Offset {
		return cursor
	}
	s := l.at(cursor)
	i := s.strand
	st := l.strands.at(i)
	first := st.from == cursor
	after := s.next
	if !s.kept && !s.gone && (first || !l.cacheFull()) {
		s.kept, s.Ref, s.Size = true, e.Ref, e.Size
		l.cache(st, s)
		if first && st.state == strandMissing {
			l.wake(now, i, buf)
		}
	}
	return after
}

// markGone notes that the missing messages from the pull's offset up to to are
// no longer at the broker, and returns the first slot that is not below to.
func (l *Lane) markGone(cursor int32, to int64, buf *[]LaneAction) int32 {
	for cursor != 0 && l.at(cursor).Offset < to {
		s := l.at(cursor)
		if !s.kept && !s.gone && s.Offset >= l.pull.from {
			s.gone, l.pull.gone = true, true
			*buf = append(*buf, LaneAction{Kind: LaneSkipped, Offset: s.Offset, Next: s.Offset + 1, Epoch: l.epoch})
		}
		cursor = s.next
	}
	return cursor
}

// wakeGone lets the strands go on whose next message is gone.
func (l *Lane) wakeGone(now Time, buf *[]LaneAction) {
	if !l.pull.gone {
		return
	}
	l.pull.gone = false
	for i := range l.strands.all {
		if st := &l.strands.all[i]; st.state == strandMissing && l.at(st.from).gone {
			l.wake(now, int32(i), buf)
		}
	}
}

func (l *Lane) pullFailed(now Time, delay time.Duration) {
	if !l.pull.busy {
		return
	}
	if delay <= 0 {
		delay = pullRetry
	}
	l.pull.busy = false
	l.pull.at = now.Add(delay)
}

// pullMoved handles a pull from outside of the queue. Below its start messages
// are lost, which is reported; past its end nothing is done but wait: a
// position never jumps back by itself.
func (l *Lane) pullMoved(now Time, ev *LaneEvent, buf *[]LaneAction) {
	p := &l.pull
	if !p.busy {
		return
	}
	p.busy = false
	p.at = now.Add(pullRetry)
	switch {
	case p.from < ev.Offset:
		p.at = 0
		l.markGone(l.head, min(ev.Offset, l.next), buf)
		if l.next < ev.Offset {
			*buf = append(*buf, LaneAction{Kind: LaneSkipped, Offset: l.next, Next: ev.Offset, Epoch: l.epoch})
			l.advance(ev.Offset)
		}
		l.wakeGone(now, buf)
	case p.from > ev.Next && !p.beyond:
		p.beyond = true
		*buf = append(*buf, LaneAction{Kind: LaneBeyond, Offset: p.from, Next: ev.Next, Epoch: l.epoch})
	}
}

// pullDue returns when a pull that waits is due.
func (l *Lane) pullDue() Time {
	if l.pull.busy || l.pull.at == 0 || l.pull.full != LaneHandling {
		return Never
	}
	return l.pull.at
}
