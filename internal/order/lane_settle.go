// SPDX-License-Identifier: Apache-2.0

package order

import "time"

// settle handles the return of a handler. Whatever is not clearly a success is
// a retry in place; a late or repeated return says nothing.
func (l *Lane) settle(now Time, ev *LaneEvent, buf *[]LaneAction) {
	ru := l.runs.find(ev.Token)
	if ru == nil {
		return
	}
	l.finishRun(now, ru, l.verdict(ev.Verdict), ev, buf)
}

// expire treats a hand-out whose time is up as failed, without its return.
func (l *Lane) expire(now Time, ru *run, buf *[]LaneAction) {
	l.finishRun(now, ru, Retry, &LaneEvent{}, buf)
}

// verdict returns v if it belongs to the mode, else Retry.
func (l *Lane) verdict(v Verdict) Verdict {
	switch v {
	case Success, Letter:
		return v
	case Commit, Rollback:
		if l.cfg.Manual || l.cfg.Poll && v == Commit {
			return v
		}
	}
	return Retry
}

// finishRun ends a hand-out and applies its verdict.
func (l *Lane) finishRun(now Time, ru *run, v Verdict, ev *LaneEvent, buf *[]LaneAction) {
	i, count, cause := ru.strand, ru.count, ru.cause
	l.runs.remove(ru)
	l.strands.set(now, i, strandIdle)
	l.unhand(i, count)
	if l.lost {
		return
	}
	done := min(max(ev.Done, 0), count)
	if (v == Success || v == Commit) && !l.cfg.Poll {
		done = count
	}
	for range done {
		l.strands.at(i).verb = 0 // it was meant for this message
		l.succeed(now, i, buf)
	}
	switch rest := count - done; {
	case l.cfg.Poll: // what the reader left waits for its next poll
		switch {
		case v == Commit && ev.Offset > 0:
			l.commitTo(ev.Offset)
		case v == Commit:
			l.commitTo(l.poll.polled)
		}
	case v == Commit:
		l.commitHeld(now, i, buf)
	case v == Rollback:
		l.rollBack(now, i, ev.Delay)
	case rest > 1:
		l.split(now, i, rest, ev.Delay)
	case rest == 1 && v == Letter:
		st := l.strands.at(i)
		st.verb = LaneLetterNow
		l.at(st.from).ended++
		l.commits.dirty = true
	case rest == 1:
		l.fail(now, i, cause, ev.Delay)
	}
	if st := l.strands.at(i); st.state == strandIdle {
		l.wake(now, i, buf)
	}
}

// unhand takes the first count messages of strand i out of the hand-out.
func (l *Lane) unhand(i int32, count int) {
	for j := l.strands.at(i).from; count > 0; j, count = l.at(j).after, count-1 {
		l.at(j).state = slotWaiting
	}
}

// succeed settles the first message of strand i; in manual mode it is held
// until Commit.
func (l *Lane) succeed(now Time, i int32, buf *[]LaneAction) {
	if !l.cfg.Manual {
		l.finish(now, i, buf)
		return
	}
	st := l.strands.at(i)
	s := l.at(st.from)
	s.state = slotHeld
	st.from = s.after
}

// finish removes the first message of strand i for good.
func (l *Lane) finish(now Time, i int32, buf *[]LaneAction) {
	st := l.strands.at(i)
	j := st.head
	s := l.at(j)
	if l.cfg.Poll && !s.gone {
		l.polledTo(s.Offset)
	}
	if st.from == j {
		st.from = s.after
	}
	st.head = s.after
	if st.head == 0 {
		st.tail = 0
	}
	st.n--
	if s.kept {
		l.unkeep(st, s)
	}
	l.remove(j)
	l.commits.dirty = l.commits.dirty || !l.cfg.Poll // there the reader's word counts
	l.openGate(now, i, buf)
}

// commitHeld settles everything that is held.
func (l *Lane) commitHeld(now Time, i int32, buf *[]LaneAction) {
	for st := l.strands.at(i); st.head != 0 && l.at(st.head).state == slotHeld; {
		l.finish(now, i, buf)
	}
}

// rollBack returns everything that is held or was handed out, after a wait. No
// attempt is counted: the handler decided so.
func (l *Lane) rollBack(now Time, i int32, delay time.Duration) {
	st := l.strands.at(i)
	for j := st.head; j != 0; j = l.at(j).after {
		if l.at(j).state == slotHeld {
			l.at(j).state = slotWaiting
		}
	}
	st.from = st.head
	l.strands.wait(now, i, now.Add(l.delay(1, delay)))
}

// split lets the messages of a failed batch be tried one by one. Nothing is
// counted before it is known which of them fails.
func (l *Lane) split(now Time, i int32, rest int, delay time.Duration) {
	st := l.strands.at(i)
	j := st.from
	for ; rest > 1; rest-- {
		j = l.at(j).after
	}
	st.oneBelow = max(st.oneBelow, l.at(j).Offset+1)
	if delay > 0 {
		l.strands.wait(now, i, now.Add(l.delay(1, delay)))
	}
}

// fail counts a failed attempt of the first message of strand i and lets it
// wait. An attempt whose context ended because of the session or a revoke does
// not count: it was not the message's fault.
func (l *Lane) fail(now Time, i int32, cause Cause, delay time.Duration) {
	if cause != CauseNone && cause != CauseTimeout {
		return
	}
	st := l.strands.at(i)
	s := l.at(st.from)
	s.ended++
	s.force = false
	l.commits.dirty = true
	switch {
	case st.verb == LaneRetryNow:
		st.verb = 0
		s.force = true
	case st.verb != 0, l.exhausted(s) && l.cfg.Poison != PoisonBlock:
	default:
		l.strands.wait(now, i, now.Add(l.delay(s.ended, delay)))
	}
}

// exhausted reports whether s has used up its attempts.
func (l *Lane) exhausted(s *slot) bool {
	return l.cfg.MaxAttempts > 0 && int(s.ended) >= l.cfg.MaxAttempts && !s.force
}

// delay returns the wait after attempt n ended: the handler's own, or the
// back-off list's; at least 10 ms, at most MaxBackoff.
func (l *Lane) delay(n int32, own time.Duration) time.Duration {
	d := time.Second
	if len(l.cfg.Backoff) > 0 {
		d = l.cfg.Backoff[min(int(n), len(l.cfg.Backoff))-1]
	}
	if own > 0 {
		d = own
	}
	return min(max(d, minBackoff), l.cfg.MaxBackoff)
}

// wake decides, from its first message, what an idle strand does next.
func (l *Lane) wake(now Time, i int32, buf *[]LaneAction) {
	st := l.strands.at(i)
	for st.from != 0 && l.at(st.from).gone && st.from == st.head {
		l.finish(now, i, buf)
	}
	switch {
	case st.head == 0:
		l.strands.set(now, i, strandIdle)
		l.strands.drop(i)
		return
	case st.from == 0 || l.gated(i) || l.phase != laneOpen:
		l.strands.set(now, i, strandIdle)
		return
	}
	s := l.at(st.from)
	switch {
	case st.verb == LaneParkNow || l.exhausted(s) && l.cfg.Poison == PoisonPark && st.verb == 0:
		st.verb = 0
		l.strands.set(now, i, strandParked)
	case !s.kept:
		l.strands.set(now, i, strandMissing)
	case st.verb == LaneLetterNow || l.exhausted(s) && l.cfg.Poison == PoisonLetter:
		l.letter(now, i, buf)
	case !l.cfg.Stock && s.ended > 0 && s.told <= s.ended:
		st.report = l.commits.id + 1
		l.commits.dirty = true
		l.strands.set(now, i, strandReporting)
	default:
		l.strands.set(now, i, strandReady)
	}
}

// letter asks for the first message of strand i to be dead-lettered. Until that
// is stored nothing of the strand goes on.
func (l *Lane) letter(now Time, i int32, buf *[]LaneAction) {
	st := l.strands.at(i)
	s := l.at(st.from)
	st.verb = LaneLetterNow
	l.strands.set(now, i, strandLettering)
	*buf = append(*buf, LaneAction{Kind: LaneLetter, Entries: []Entry{s.Entry}, Offset: s.Offset, Attempt: s.ended, Epoch: l.epoch})
}

// lettered handles the answer of the dead-letter queue.
func (l *Lane) lettered(now Time, ev *LaneEvent, buf *[]LaneAction) {
	i := l.strandAt(ev.Offset)
	if i == 0 || l.strands.at(i).state != strandLettering || l.lost {
		return
	}
	st := l.strands.at(i)
	if ev.Failed {
		l.strands.wait(now, i, now.Add(l.delay(max(l.at(st.from).ended, 1), 0)))
		return
	}
	st.verb = 0
	l.strands.set(now, i, strandIdle)
	l.succeed(now, i, buf)
	l.wake(now, i, buf)
}

// strandAt returns the strand whose first message has that offset.
func (l *Lane) strandAt(offset int64) int32 {
	for j := l.head; j != 0; j = l.at(j).next {
		if s := l.at(j); s.Offset == offset {
			if l.strands.at(s.strand).from == j {
				return s.strand
			}
			return 0
		}
	}
	return 0
}

// gated reports whether strand i must wait for a barrier: a message without key
// waits for all before it, and all after it wait for it.
func (l *Lane) gated(i int32) bool {
	if i == queueStrand {
		return l.cfg.ByKey && l.head != l.strands.at(i).head
	}
	return l.at(l.strands.at(i).from).Offset > l.barrier()
}

// openGate lets go on what a finished message of strand i held back.
func (l *Lane) openGate(now Time, i int32, buf *[]LaneAction) {
	if !l.cfg.ByKey {
		return
	}
	q := l.strands.at(queueStrand)
	if i == queueStrand {
		for j := l.head; j != 0 && j != q.head; j = l.at(j).next {
			k := l.at(j).strand
			if st := l.strands.at(k); st.from == j && st.state == strandIdle {
				l.wake(now, k, buf)
			}
		}
		return
	}
	if q.head != 0 && q.head == l.head && q.state == strandIdle {
		l.wake(now, queueStrand, buf)
	}
}

// verb carries out an operator's word on the first message of a strand. What
// is being handled takes it up when it comes back without success.
func (l *Lane) verb(now Time, ev *LaneEvent, buf *[]LaneAction) {
	i := l.strandAt(ev.Offset)
	if i == 0 {
		return
	}
	st := l.strands.at(i)
	s := l.at(st.from)
	switch st.state {
	case strandRunning:
		if ev.Kind != LaneUnpark {
			st.verb = ev.Kind
		}
		return
	case strandLettering, strandReporting:
		return
	case strandReady:
		l.strands.unready(i)
	}
	switch ev.Kind {
	case LaneUnpark:
		if st.state == strandParked {
			s.ended, s.told, l.commits.dirty = 0, 0, true
		}
	case LaneRetryNow:
		s.force, st.verb = true, 0
	default:
		st.verb = ev.Kind
	}
	l.strands.set(now, i, strandIdle)
	l.wake(now, i, buf)
}
