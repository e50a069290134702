// SPDX-License-Identifier: Apache-2.0

package order

import "time"

// minBackoff keeps a failing message from spinning.
const minBackoff = 10 * time.Millisecond

// Lane decides, for one leased queue, what is pulled, handed out, retried,
// committed and released.
//
// After each event it works out from its state alone what is to be done (see
// drive); no step depends on an earlier event not having been lost.
type Lane struct {
	cfg      LaneConfig
	progress // what is unfinished
	strands  strands
	runs     runs

	epoch    Epoch
	until    Time // nothing is handed out from then on
	started  bool
	hold     bool // the lease may be lost: by LaneHold
	heldBack bool // the same, as the last event says
	paused   bool // by the user
	lost     bool // the lease is lost: nothing may be committed
	phase    lanePhase
	endBy    Time // draining: contexts end
	turn     Time // when the present run of hand-outs began
	since    Time // of the present phase, pause or hold

	cache   cacheState
	pull    pullState
	refill  pullState
	commits commitState
	poll    pollState
}

type lanePhase uint8

const (
	laneOpen lanePhase = iota
	laneDraining
	laneOver
)

// NewLane returns a lane that waits for LaneStart.
func NewLane(cfg LaneConfig) *Lane {
	l := &Lane{cfg: cfg.withDefaults(), endBy: Never, turn: Never}
	l.strands.init(cfg.ByKey)
	l.runs.init()
	return l
}

func (c LaneConfig) withDefaults() LaneConfig {
	c.Batch = max(c.Batch, 1)
	switch {
	case !c.ByKey:
		c.Workers = 1
	case c.Workers <= 0:
		c.Workers = 16
	}
	c.Workers = min(c.Workers, maxWorkers)
	c.Manual = c.Manual && !c.ByKey
	c.Poll = c.Poll && !c.ByKey && !c.Manual
	setDefault(&c.MaxCount, 1000)
	setDefault(&c.MaxBytes, 100<<20)
	setDefault(&c.MaxBackoff, 30*time.Second)
	setDefault(&c.MaxTurn, time.Minute)
	setDefault(&c.CommitEvery, time.Second)
	setDefault(&c.SettleTimeout, 500*time.Millisecond)
	return c
}

func setDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// Step applies ev at time now and appends to buf what is to be done.
func (l *Lane) Step(now Time, ev *LaneEvent, buf []LaneAction) []LaneAction {
	if l.phase == laneOver || !l.started && ev.Kind != LaneStart && ev.Kind != LaneRevoke && ev.Kind != LaneLost {
		return buf
	}
	l.until, l.heldBack = ev.Until, ev.Hold
	switch ev.Kind {
	case LaneStart:
		l.start(now, &ev.Grant)
	case LanePulled:
		l.pulled(now, ev, &buf)
	case LaneRefilled:
		l.refilled(now, ev, &buf)
	case LanePullFailed:
		l.pull.fail(now, ev.Delay)
	case LaneRefillFailed:
		l.refill.fail(now, ev.Delay)
	case LanePullMoved:
		l.pullMoved(now, ev, &buf)
	case LaneSettle:
		l.settle(now, ev, &buf)
	case LaneExtend:
		l.extend(ev)
	case LaneLettered:
		l.lettered(now, ev, &buf)
	case LaneCommitted:
		l.committed(now, ev, &buf)
	case LanePause, LaneResume:
		l.pause(now, ev.Kind == LanePause)
	case LaneHold, LaneGo:
		l.holdOn(now, ev.Kind == LaneHold)
	case LaneCommitTo:
		l.commitTo(ev.Offset)
	case LaneRetryNow, LaneLetterNow, LaneParkNow, LaneUnpark:
		l.verb(now, ev, &buf)
	case LaneRevoke:
		l.revoke(now, ev.Deadline)
	case LaneLost:
		l.lose(now)
	}
	return l.drive(now, ev.Kind == LaneSettle, buf)
}

// start begins to consume at the granted position.
func (l *Lane) start(now Time, g *Grant) {
	if l.started {
		return
	}
	l.started, l.epoch, l.since = true, g.Epoch, now
	l.progress.start(g)
	l.commits.low = g.Offset
	l.poll = pollState{upTo: l.next, polled: l.next, known: g.Offset}
}

func (l *Lane) pause(now Time, on bool) {
	if l.paused != on {
		l.paused, l.since = on, now
	}
}

func (l *Lane) holdOn(now Time, on bool) {
	if l.hold != on {
		l.hold, l.since = on, now
	}
}

// revoke begins to give the queue up, or brings the end forward.
func (l *Lane) revoke(now Time, deadline Time) {
	if l.phase == laneOpen {
		l.phase, l.since = laneDraining, now
	}
	l.endBy = min(l.endBy, deadline)
}

// lose ends a lane whose lease is gone: nothing of it counts any more.
func (l *Lane) lose(now Time) {
	l.lost = true
	l.revoke(now, Never)
}

// drive works out from the state alone what is to be done now.
func (l *Lane) drive(now Time, settled bool, buf []LaneAction) []LaneAction {
	if l.started {
		l.checkRuns(now, &buf)
		l.strands.wakeDue(l, now, &buf)
		if l.mayHandOut(now) {
			l.handOuts(now, settled, &buf)
		}
		if l.runs.n == 0 {
			l.turn = Never
		}
		l.drivePull(now, &buf)
		l.driveRefill(now, &buf)
		l.driveCommit(now, &buf)
	}
	l.driveRelease(now, &buf)
	return buf
}

// mayHandOut reports whether handlers may be started at all.
func (l *Lane) mayHandOut(now Time) bool {
	return l.phase == laneOpen && !l.hold && !l.heldBack && !l.paused && now < l.until
}

// driveRelease ends a lane that has nothing left to do, or no time left.
func (l *Lane) driveRelease(now Time, buf *[]LaneAction) {
	if l.phase != laneDraining {
		return
	}
	idle := l.runs.n == 0 && (l.lost || l.strands.lettering == 0 && !l.commitNeeded())
	over := l.endBy != Never && now >= l.endBy.Add(l.cfg.SettleTimeout)
	if !idle && !over {
		return
	}
	l.phase = laneOver
	*buf = append(*buf, LaneAction{
		Kind: LaneReleased, Epoch: l.epoch, Offset: l.mark(),
		Lost: l.lost || l.started && l.commitNeeded(), Overrun: l.runs.n > 0,
	})
}

// Next returns when the next LaneTick is due, or Never.
func (l *Lane) Next() Time {
	if l.phase == laneOver || !l.started {
		return Never
	}
	next := min(l.runs.due(l), l.commitDue())
	if l.phase == laneDraining {
		return min(next, l.endBy.Add(l.cfg.SettleTimeout))
	}
	return min(next, l.strands.due(), l.pull.due(), l.refill.due())
}

// CommitOffset returns the position that is or will be committed: the lowest
// unfinished offset, in poll mode the reader's.
func (l *Lane) CommitOffset() int64 { return l.mark() }

// AppendSettled appends the settled ranges above CommitOffset. In poll mode
// what was handed over is not settled, so there are an earlier owner's only.
func (l *Lane) AppendSettled(dst []Range) []Range {
	if l.cfg.Poll {
		return append(dst, l.before...)
	}
	return l.settled(dst)
}
