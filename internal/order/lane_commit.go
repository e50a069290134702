// SPDX-License-Identifier: Apache-2.0

package order

import "time"

// commitRetry is the wait after a commit that failed.
const commitRetry = 500 * time.Millisecond

// commitState is the state of committing: one commit at a time, each carrying
// the whole state.
type commitState struct {
	id      uint64 // the last one
	busy    bool
	dirty   bool  // something changed since the last one
	low     int64 // the offset in the last one
	at      Time  // not before, unless something waits for it
	retryAt Time  // not before, whatever waits
}

// commitNeeded reports whether the broker does not yet know all.
func (l *Lane) commitNeeded() bool {
	return l.started && (l.commits.busy || l.commits.dirty || l.mark() != l.commits.low)
}

// commitUrgent reports whether something waits for the next commit: the report
// of an attempt, the reader, or the release.
func (l *Lane) commitUrgent() bool {
	return l.strands.reporting > 0 || l.poll.asked || l.phase == laneDraining && l.runs.n == 0
}

// commitDue returns when the next commit is due.
func (l *Lane) commitDue() Time {
	c := &l.commits
	switch {
	case l.lost || c.busy || !l.commitNeeded():
		return Never
	case l.commitUrgent():
		return c.retryAt
	}
	return max(c.retryAt, c.at)
}

// driveCommit sends the next commit if it is due.
func (l *Lane) driveCommit(now Time, buf *[]LaneAction) {
	if now < l.commitDue() {
		return
	}
	c := &l.commits
	c.id++
	c.busy, c.dirty, c.low = true, false, l.mark()
	l.poll.asked = false
	c.at = now.Add(l.cfg.CommitEvery)
	*buf = append(*buf, LaneAction{Kind: LaneCommit, ID: c.id, Offset: c.low, Epoch: l.epoch})
}

// committed handles the answer to a commit. What waited for its report to be
// stored goes on.
func (l *Lane) committed(now Time, ev *LaneEvent, buf *[]LaneAction) {
	c := &l.commits
	if !c.busy || ev.ID != c.id {
		return
	}
	c.busy = false
	if ev.Failed {
		c.dirty, c.retryAt = true, now.Add(commitRetry)
		return
	}
	l.poll.known = c.low
	if l.strands.reporting == 0 {
		return
	}
	for i := range l.strands.all {
		st := &l.strands.all[i]
		if st.state == strandReporting && st.report <= ev.ID {
			s := l.at(st.from)
			s.told = s.ended + 1
			l.wake(now, int32(i), buf)
		}
	}
}

// AppendAttempts appends the attempts of unfinished messages, by offset.
func (l *Lane) AppendAttempts(dst []Attempt) []Attempt {
	for j := l.head; j != 0; j = l.at(j).next {
		s := l.at(j)
		if s.ended == 0 {
			continue
		}
		st := l.strands.at(s.strand)
		running := s.state == slotRunning || st.state == strandReporting && st.from == j
		dst = append(dst, Attempt{Offset: s.Offset, Ended: s.ended, Running: running})
	}
	return append(dst, l.tried...)
}
