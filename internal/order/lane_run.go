// SPDX-License-Identifier: Apache-2.0

package order

import "math"

// maxWorkers is what a token's low bits can tell apart.
const maxWorkers = 1 << 12

// run is one hand-out: a handler has it, or ignores that its context ended.
type run struct {
	token    LaneToken
	strand   int32
	count    int // messages, from the strand's first not held one on
	entries  []Entry
	started  Time
	deadline Time
	ended    Time // when its context ended
	cause    Cause
	told     bool // LaneOverrun was said
}

// runs holds the hand-outs of a lane.
type runs struct {
	all  []run
	free []int32
	n    int
	seq  uint64
}

func (r *runs) init() { r.all = make([]run, 0, 1) }

// add returns a new run.
func (r *runs) add() *run {
	var i int32
	if n := len(r.free); n > 0 {
		i, r.free = r.free[n-1], r.free[:n-1]
	} else {
		i = int32(len(r.all))
		r.all = append(r.all, run{})
	}
	r.n++
	r.seq++
	ru := &r.all[i]
	*ru = run{token: LaneToken(r.seq*maxWorkers) | LaneToken(i), entries: ru.entries[:0]}
	return ru
}

// find returns the run of token, unless it is settled.
func (r *runs) find(token LaneToken) *run {
	i := int(token % maxWorkers)
	if token == 0 || i >= len(r.all) || r.all[i].token != token {
		return nil
	}
	return &r.all[i]
}

func (r *runs) remove(ru *run) {
	r.free = append(r.free, int32(ru.token%maxWorkers))
	ru.token, ru.strand = 0, 0
	clear(ru.entries)
	r.n--
}

// handOuts starts handlers while strands are ready and workers are free.
func (l *Lane) handOuts(now Time, settled bool, buf *[]LaneAction) {
	for l.runs.n < l.cfg.Workers {
		i := l.strands.popReady()
		if i == 0 {
			return
		}
		a := l.handOut(now, i)
		if l.turn == Never || now.Sub(l.turn) > l.cfg.MaxTurn {
			l.turn = now
		} else {
			a.SameTurn = settled
		}
		settled = false
		*buf = append(*buf, a)
	}
}

// handOut gives the next messages of strand i to a handler.
func (l *Lane) handOut(now Time, i int32) LaneAction {
	st := l.strands.at(i)
	l.strands.set(now, i, strandRunning)
	ru := l.runs.add()
	ru.strand, ru.started, ru.deadline = i, now, Never
	if l.cfg.Timeout > 0 {
		ru.deadline = now.Add(l.cfg.Timeout)
	}
	first := l.at(st.from)
	for j := st.from; j != 0 && ru.count < l.batch(st); j = l.at(j).after {
		s := l.at(j)
		if ru.count > 0 && !l.joins(st, s) {
			break
		}
		s.state = slotRunning
		ru.entries = append(ru.entries, s.Entry)
		ru.count++
	}
	return LaneAction{Kind: LaneHandOut, Token: ru.token, Entries: ru.entries, Attempt: first.ended + 1, Deadline: ru.deadline, Epoch: l.epoch}
}

// joins reports whether s may go in the same hand-out as the messages before
// it. Tried messages go alone, so that attempts are theirs; and none passes a
// barrier.
func (l *Lane) joins(st *strand, s *slot) bool {
	return s.kept && s.ended == 0 && s.Offset >= st.oneBelow && s.Offset < l.barrier()
}

// barrier returns the offset of the first barrier, which no later message may
// pass.
func (l *Lane) barrier() int64 {
	if b := l.strands.at(queueStrand).head; l.cfg.ByKey && b != 0 {
		return l.at(b).Offset
	}
	return math.MaxInt64
}

// batch is how many messages of st may go together.
func (l *Lane) batch(st *strand) int {
	s := l.at(st.from)
	if s.ended > 0 || s.Offset < st.oneBelow || l.cfg.ByKey && st.key == 0 {
		return 1
	}
	return l.cfg.Batch
}

// checkRuns ends the contexts of handlers whose time is up, for whatever
// reason, and reports those that ignore it.
func (l *Lane) checkRuns(now Time, buf *[]LaneAction) {
	if l.runs.n == 0 {
		return
	}
	for i := range l.runs.all {
		ru := &l.runs.all[i]
		if ru.token == 0 {
			continue
		}
		if cause := l.cause(now, ru); cause != CauseNone && ru.cause == CauseNone {
			if cause == CauseTimeout && l.cfg.Redeliver {
				l.expire(now, ru, buf)
				continue
			}
			ru.cause, ru.ended = cause, now
			*buf = append(*buf, LaneAction{Kind: LaneCancel, Token: ru.token, Cause: cause})
		}
		l.checkOverrun(now, ru, buf)
	}
}

// cause returns why the context of ru must end, if it must.
func (l *Lane) cause(now Time, ru *run) Cause {
	switch {
	case l.lost:
		return CauseLost
	case now >= l.until:
		return CauseSilent
	case now >= l.endBy:
		return CauseRevoked
	case now >= ru.deadline:
		return CauseTimeout
	}
	return CauseNone
}

// checkOverrun reports a handler that ignores its ended context, and by policy
// gives the queue up in spite of it.
func (l *Lane) checkOverrun(now Time, ru *run, buf *[]LaneAction) {
	if ru.cause == CauseNone {
		return
	}
	if !ru.told && now >= ru.ended.Add(l.cfg.SettleTimeout) {
		ru.told = true
		*buf = append(*buf, LaneAction{Kind: LaneOverrun, Token: ru.token, Cause: ru.cause, Entries: ru.entries})
	}
	if l.cfg.MaxHandler > 0 && l.endBy == Never && now >= ru.ended.Add(l.cfg.MaxHandler) {
		l.revoke(now, now)
	}
}

// due returns when the next run needs a look.
func (r *runs) due(l *Lane) Time {
	next := Never
	if r.n == 0 {
		return next
	}
	for i := range r.all {
		ru := &r.all[i]
		switch {
		case ru.token == 0:
		case ru.cause == CauseNone:
			next = min(next, ru.deadline, l.endBy)
		default:
			if !ru.told {
				next = min(next, ru.ended.Add(l.cfg.SettleTimeout))
			}
			if l.cfg.MaxHandler > 0 && l.endBy == Never {
				next = min(next, ru.ended.Add(l.cfg.MaxHandler))
			}
		}
	}
	return next
}

// extend moves the deadline of a hand-out.
func (l *Lane) extend(ev *LaneEvent) {
	if ru := l.runs.find(ev.Token); ru != nil && ru.cause == CauseNone {
		ru.deadline = ev.Deadline
	}
}
