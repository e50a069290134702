// SPDX-License-Identifier: Apache-2.0

package order

import (
	"slices"
	"testing"
)

// related reports whether one of two offsets must wait for the other.
func (m *laneModel) related(a, b int64) bool {
	ka, kb := m.queue[a], m.queue[b]
	return !m.cfg.ByKey || ka == kb || ka == 0 || kb == 0
}

func TestOneRunnerPerLane(t *testing.T) {
	laneHistories(t, func(m *laneModel, a *LaneAction) {
		if a == nil || a.Kind != LaneHandOut {
			return
		}
		for _, r := range m.running {
			for _, e := range a.Entries {
				if m.related(r.offsets[0], e.Offset) {
					m.fail("%d is handed out while a handler has %v", e.Offset, r.offsets)
				}
			}
		}
		if len(m.running) >= m.cfg.Workers {
			m.fail("more than %d handlers", m.cfg.Workers)
		}
	})
}

func TestNothingStartsBeforeItsPredecessorIsDone(t *testing.T) {
	laneHistories(t, func(m *laneModel, a *LaneAction) {
		if a == nil || a.Kind != LaneHandOut {
			return
		}
		var batch []int64
		for _, e := range a.Entries {
			if m.finished[e.Offset] || m.held[e.Offset] {
				m.fail("%d is handed out again after it was done", e.Offset)
			}
			for o := range e.Offset {
				_, stored := m.queue[o]
				if stored && o < m.read && m.related(o, e.Offset) && !m.finished[o] && !m.held[o] && !slices.Contains(batch, o) {
					m.fail("%d is handed out before %d is done", e.Offset, o)
				}
			}
			batch = append(batch, e.Offset)
		}
	})
}

func TestCommitNeverPassesUnfinished(t *testing.T) {
	laneHistories(t, func(m *laneModel, a *LaneAction) {
		if m.lost || m.over {
			return
		}
		if want := m.lowest(); m.lane.CommitOffset() != want {
			m.fail("commit offset %d, lowest unfinished is %d", m.lane.CommitOffset(), want)
		}
		if a != nil && a.Kind == LaneCommit && a.Offset != m.lowest() {
			m.fail("commit of %d, lowest unfinished is %d", a.Offset, m.lowest())
		}
	})
}

func TestCommitNeverGoesBack(t *testing.T) {
	laneHistories(t, func(m *laneModel, a *LaneAction) {
		if a != nil && a.Kind == LaneCommit && a.Offset < m.low {
			m.fail("commit of %d after %d", a.Offset, m.low)
		}
	})
}

func TestSettledRangesAreWhatIsFinished(t *testing.T) {
	laneHistories(t, func(m *laneModel, a *LaneAction) {
		if a != nil || m.lost || m.over {
			return
		}
		settled := map[int64]bool{}
		last := m.lane.CommitOffset()
		for _, r := range m.lane.AppendSettled(nil) {
			if r.From <= last || r.From >= r.To {
				m.fail("range %v after %d", r, last)
			}
			for o := r.From; o < r.To; o++ {
				settled[o] = true
			}
			last = r.To
		}
		for o := m.lane.CommitOffset() + 1; o < m.read; o++ {
			_, stored := m.queue[o]
			if settled[o] != (!stored || m.finished[o]) {
				m.fail("%d settled %v, stored %v, finished %v", o, settled[o], stored, m.finished[o])
			}
		}
	})
}

func TestAfterLossNothingCommits(t *testing.T) {
	laneHistories(t, func(m *laneModel, a *LaneAction) {
		if a == nil || !m.lost {
			return
		}
		switch a.Kind {
		case LaneCommit, LaneHandOut, LanePull, LaneRefill, LaneLetter:
			m.fail("%+v after the loss", a)
		case LaneReleased:
			if !a.Lost || len(m.running) > 0 && !a.Overrun {
				m.fail("%+v with %d handlers", a, len(m.running))
			}
		}
	})
}

func TestAttemptsAreExact(t *testing.T) {
	laneHistories(t, func(m *laneModel, a *LaneAction) {
		if a == nil || a.Kind != LaneHandOut {
			return
		}
		o := a.Entries[0].Offset
		if a.Attempt != m.ended[o]+1 {
			m.fail("attempt %d of %d, which has ended %d times", a.Attempt, o, m.ended[o])
		}
		for _, e := range a.Entries[1:] {
			if m.ended[e.Offset] != 0 {
				m.fail("%d goes in a batch after a failure of its own", e.Offset)
			}
		}
	})
}

func TestReleaseComesLast(t *testing.T) {
	laneHistories(t, func(m *laneModel, a *LaneAction) {
		if a == nil || a.Kind != LaneReleased {
			return
		}
		if len(m.running) > 0 != a.Overrun {
			m.fail("released with %d handlers, overrun %v", len(m.running), a.Overrun)
		}
		if inTime := m.now < m.endBy; inTime && (a.Overrun || a.Lost && !m.lost) {
			m.fail("released before the deadline: lost %v, overrun %v", a.Lost, a.Overrun)
		}
		if !a.Lost && !m.lost && m.low != m.lowest() {
			m.fail("released with %d committed, lowest unfinished is %d", m.low, m.lowest())
		}
	})
}

func TestNoTickIsDueInThePast(t *testing.T) {
	laneHistories(t, func(m *laneModel, a *LaneAction) {
		if a == nil && m.lane.Next() <= m.now {
			m.fail("a tick is due at %v, now is %v", clock(m.lane.Next()), clock(m.now))
		}
	})
}

// TestNothingStallsInSilence: whatever is unfinished is in a handler, or
// waits for something that is known and listed; and what could be done is done.
func TestNothingStallsInSilence(t *testing.T) {
	laneHistories(t, func(m *laneModel, a *LaneAction) {
		if a != nil || m.over {
			return
		}
		l := m.lane
		free := l.mayHandOut(m.now) && l.runs.n < m.cfg.Workers
		for i := range l.strands.all {
			st := &l.strands.all[i]
			if st.from == 0 {
				continue
			}
			switch {
			case st.state == strandReady && free:
				m.fail("%d is ready, a worker is free", l.at(st.from).Offset)
			case st.state == strandIdle && l.phase == laneOpen && !l.gated(int32(i)):
				m.fail("%d is idle without a reason", l.at(st.from).Offset)
			case st.state == strandWaiting && st.due <= m.now:
				m.fail("the wait of %d is over", l.at(st.from).Offset)
			case st.state == strandWaiting && l.phase == laneOpen && l.Next() > st.due:
				m.fail("nobody wakes %d", l.at(st.from).Offset)
			case st.state == strandReporting && !l.commits.busy && l.commitDue() == Never && !l.lost:
				m.fail("%d waits for a commit that is not sent", l.at(st.from).Offset)
			case st.state == strandMissing && l.mayPull(m.now, &l.refill):
				m.fail("%d is missing and not read again", l.at(st.from).Offset)
			}
		}
		if l.n > 0 && len(l.Waits(m.now, m.until, nil)) == 0 {
			m.fail("%d messages wait and nothing is listed", l.n)
		}
		if l.mayPull(m.now, &l.pull) && l.room(m.now) {
			m.fail("there is room and nothing is read")
		}
	})
}

// TestWindowIsBounded: what is kept is counted right and bounded by the
// configuration, plus one pull.
func TestWindowIsBounded(t *testing.T) {
	laneHistories(t, func(m *laneModel, a *LaneAction) {
		if a != nil {
			return
		}
		l := m.lane
		kept, bytes, n := 0, int64(0), 0
		for j := l.head; j != 0; j = l.at(j).next {
			n++
			if l.at(j).kept {
				kept++
				bytes += int64(l.at(j).Size)
			}
		}
		if kept != l.cache.count || bytes != l.cache.bytes || n != l.n {
			m.fail("counted %d of %d, %d of %d bytes, %d of %d", l.cache.count, kept, l.cache.bytes, bytes, l.n, n)
		}
		if l.cache.count > m.cfg.MaxCount+7+len(l.strands.all) {
			m.fail("%d messages in memory, the limit is %d", l.cache.count, m.cfg.MaxCount)
		}
	})
}
