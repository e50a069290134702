// SPDX-License-Identifier: Apache-2.0

package order

import (
	"slices"
	"time"
)

// pullRetry is the wait after a pull that failed without a wait of its own.
const pullRetry = time.Second

// pullState is the state of reading: one pull at a time at the read position,
// and beside it one refill of what was not kept.
type pullState struct {
	busy   bool
	from   int64
	at     Time    // not before; 0: at once
	beyond bool    // the position lies past the end of the queue
	lost   Time    // since when
	order  []Entry // an answer that had to be sorted
}

// mayPull reports whether p may be sent now.
func (l *Lane) mayPull(now Time, p *pullState) bool {
	if now >= p.at {
		p.at = 0
	}
	return !p.busy && p.at == 0 && l.phase == laneOpen && !l.hold && !l.heldBack && !l.paused && now < l.until
}

// drivePull reads ahead if there is room.
func (l *Lane) drivePull(now Time, buf *[]LaneAction) {
	if may := l.mayPull(now, &l.pull); !l.room(now) || !may {
		return
	}
	l.pull.busy, l.pull.from = true, l.next
	*buf = append(*buf, LaneAction{Kind: LanePull, Offset: l.next, Epoch: l.epoch})
}

// pulled takes in the answer to the pull under way. Repeats, and what lies
// below the read position for whatever reason, are dropped.
func (l *Lane) pulled(now Time, ev *LaneEvent, buf *[]LaneAction) {
	p := &l.pull
	if !p.busy {
		return
	}
	p.busy, p.beyond, p.at = false, false, 0
	if len(ev.Entries) > 0 && l.cfg.PullWait > 0 {
		p.at = now.Add(l.cfg.PullWait)
	}
	if l.phase != laneOpen {
		return
	}
	for _, e := range l.ascending(ev.Entries) {
		if e.Offset >= l.next {
			l.admit(now, &e, buf)
		}
	}
	l.advance(ev.Next)
}

// ascending returns entries by ascending offset.
func (l *Lane) ascending(entries []Entry) []Entry {
	if slices.IsSortedFunc(entries, byOffset) {
		return entries
	}
	l.pull.order = append(l.pull.order[:0], entries...)
	slices.SortFunc(l.pull.order, byOffset)
	return l.pull.order
}

func byOffset(a, b Entry) int {
	switch {
	case a.Offset < b.Offset:
		return -1
	case a.Offset > b.Offset:
		return 1
	}
	return 0
}

// admit takes in a new message at the read position or above it, unless an
// earlier owner has settled it.
func (l *Lane) admit(now Time, e *Entry, buf *[]LaneAction) {
	if l.settledBefore(e.Offset) {
		l.advance(e.Offset + 1)
		return
	}
	i := l.strands.of(e.Key)
	j := l.push(*e)
	s, st := l.at(j), l.strands.at(i)
	s.strand, s.ended = i, l.triedBefore(e.Offset)
	crowds := l.crowds(st)
	l.keep(st, s)
	if crowds {
		l.unkeep(st, s)
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

// fail lets p be sent again after a while.
func (p *pullState) fail(now Time, delay time.Duration) {
	if !p.busy {
		return
	}
	if delay <= 0 {
		delay = pullRetry
	}
	p.busy, p.at = false, now.Add(delay)
}

// pullMoved handles a pull from outside of the queue. Below its start messages
// are lost, which is reported; past its end nothing is done but wait: a
// position never jumps back by itself.
func (l *Lane) pullMoved(now Time, ev *LaneEvent, buf *[]LaneAction) {
	p := &l.pull
	if !p.busy {
		return
	}
	p.fail(now, 0)
	switch {
	case p.from < ev.Offset:
		p.at = 0
		*buf = append(*buf, LaneAction{Kind: LaneSkipped, Offset: p.from, Next: ev.Offset, Epoch: l.epoch})
		l.advance(ev.Offset)
	case p.from > ev.Next && !p.beyond:
		p.beyond, p.lost = true, now
		*buf = append(*buf, LaneAction{Kind: LaneBeyond, Offset: p.from, Next: ev.Next, Epoch: l.epoch})
	}
}

// due returns when p may be sent again.
func (p *pullState) due() Time {
	if p.busy || p.at == 0 {
		return Never
	}
	return p.at
}
