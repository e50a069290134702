// SPDX-License-Identifier: Apache-2.0

package order

// Wait is something that waits: since when, why and until when.
type Wait struct {
	Offset  int64
	Key     uint64
	Ref     any   // of the message, if it is in memory
	Attempt int32 // attempts that ended without success
	Since   Time
	Next    Time // Never: not by time
	Why     LaneWhy
	Behind  int // messages of the same key behind it
}

// LaneState is how far a lane is.
type LaneState struct {
	Low     int64 // the lowest unfinished offset, which is or will be committed
	High    int64 // the highest offset in the window; below Low if there is none
	Cached  int   // messages in memory
	Bytes   int64 // their size
	Running int   // hand-outs under way
}

// State returns how far the lane is.
func (l *Lane) State() LaneState {
	s := LaneState{Low: l.mark(), High: l.low() - 1, Cached: l.cache.count, Bytes: l.cache.bytes}
	if l.tail != 0 {
		s.High = l.at(l.tail).Offset
	}
	for i := range l.runs.all {
		if l.runs.all[i].token != 0 {
			s.Running++
		}
	}
	return s
}

// LaneWhy is why something waits in a lane.
type LaneWhy uint8

// Reasons of waiting.
const (
	LaneHandling     LaneWhy = iota // a handler has it
	LaneIgnoring                    // a handler has it and ignores its ended context
	LaneBackoff                     // it failed and is tried again at Next
	LaneParked                      // its key is parked until an operator resumes it
	LaneLettering                   // it is being dead-lettered
	LaneReporting                   // its next attempt is being reported to the broker
	LaneMissing                     // it is being read again
	LaneBarrier                     // a message without key waits for all before it
	LaneWindowFull                  // nothing is read ahead: too many unfinished messages
	LaneCacheFull                   // nothing is read ahead: too many or too large messages in memory
	LaneHeld                        // manual mode: waits for Commit
	LaneSilentBroker                // the broker has not been heard for half the grace
	LaneHolding                     // the lease is being asked for again
	LanePastEnd                     // the position lies past the end of the queue
	LanePaused                      // paused by the user
	LaneDraining                    // being given up
	LaneReady                       // waits for a worker
)

// Waits appends everything that waits in the lane at time now, and why; until
// as in LaneEvent.
func (l *Lane) Waits(now, until Time, dst []Wait) []Wait {
	dst = l.laneWaits(now, until, dst)
	for i := range l.strands.all {
		if w, ok := l.strandWait(int32(i)); ok {
			dst = append(dst, w)
		}
	}
	return dst
}

// WaitAt returns what the message at offset waits for, if it is the first
// unfinished one of its key: the one that verbs may name.
func (l *Lane) WaitAt(offset int64) (Wait, bool) {
	i := l.strandAt(offset)
	if i == 0 {
		return Wait{}, false
	}
	return l.strandWait(i)
}

// Idle reports that the lane has nothing in hand, and no reason to have nothing:
// it does not pull, and nobody is to make it. After a step it never is; a driver
// that finds it so has lost something.
func (l *Lane) Idle(now, until Time) bool {
	return l.started && l.phase == laneOpen && !l.hold && !l.heldBack && !l.paused && now < until &&
		l.n == 0 && !l.pull.busy && l.pull.due() == Never && !l.commitNeeded()
}

// Pulling reports whether a pull is under way.
func (l *Lane) Pulling() bool { return l.pull.busy }

// Open reports whether the lane takes verbs: it has begun and is not being given
// up.
func (l *Lane) Open() bool { return l.started && l.phase == laneOpen && !l.lost }

// laneWaits appends what holds up the whole lane, with the lowest unfinished
// message, which a full window is stuck behind.
func (l *Lane) laneWaits(now, until Time, dst []Wait) []Wait {
	add := func(why LaneWhy, since, next Time) {
		w := Wait{Offset: l.low(), Since: since, Next: next, Why: why, Behind: l.n}
		if l.head != 0 {
			s := l.at(l.head)
			w.Key, w.Ref, w.Attempt, w.Behind = s.Key, s.Ref, s.ended, l.n-1
		}
		dst = append(dst, w)
	}
	switch {
	case !l.started || l.phase == laneOver:
		return dst
	case l.phase == laneDraining:
		add(LaneDraining, l.since, l.endBy)
	case l.paused:
		add(LanePaused, l.since, Never)
	case now >= until:
		add(LaneSilentBroker, until, Never)
	case l.hold || l.heldBack:
		add(LaneHolding, l.since, Never)
	case l.pull.beyond:
		add(LanePastEnd, l.pull.lost, Never)
	case l.cache.why != LaneHandling:
		add(l.cache.why, l.cache.since, Never)
	}
	return dst
}

// strandWait returns what strand i waits for.
func (l *Lane) strandWait(i int32) (Wait, bool) {
	st := l.strands.at(i)
	if st.head == 0 {
		return Wait{}, false
	}
	j := st.from
	if j == 0 {
		j = st.head
	}
	s := l.at(j)
	w := Wait{Offset: s.Offset, Key: st.key, Ref: s.Ref, Attempt: s.ended, Since: st.since, Next: Never, Behind: st.n - 1}
	switch st.state {
	case strandRunning:
		w.Why = l.runWhy(i)
	case strandWaiting:
		w.Why, w.Next = LaneBackoff, st.due
		if st.verb == LaneLetterNow {
			w.Why = LaneLettering
		}
	case strandParked:
		w.Why = LaneParked
	case strandLettering:
		w.Why = LaneLettering
	case strandReporting:
		w.Why = LaneReporting
	case strandMissing:
		w.Why = LaneMissing
	case strandReady:
		w.Why = LaneReady
	default:
		w.Why = LaneBarrier
		if l.at(st.head).state == slotHeld {
			w.Why = LaneHeld
		}
	}
	return w, true
}

// runWhy tells a handler at work from one that ignores its ended context.
func (l *Lane) runWhy(i int32) LaneWhy {
	for k := range l.runs.all {
		if ru := &l.runs.all[k]; ru.token != 0 && ru.strand == i && ru.told {
			return LaneIgnoring
		}
	}
	return LaneHandling
}
