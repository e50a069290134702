// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"
	"time"
)

// laneModel drives one lane at random and keeps a naive record of what was
// handed out and finished, against which each step is checked.
type laneModel struct {
	lane  *Lane
	cfg   LaneConfig
	now   Time
	until Time

	queue    map[int64]uint64 // offset: key, of what is stored; others are holes
	end      int64
	read     int64 // every offset below it was offered to the lane
	finished map[int64]bool
	held     map[int64]bool
	ended    map[int64]int32
	running  map[LaneToken]*modelRun
	letters  map[int64]bool
	pull     int64 // under way from there, or -1
	refill   int64
	commit   uint64 // under way, or 0
	low      int64  // of the last commit
	acts     []LaneAction
	lost     bool
	over     bool
	endBy    Time // of a bounded revoke
	checks   []laneCheck
	bad      string
	history  []string
}

type modelRun struct {
	offsets []int64
	attempt int32
	excused bool // its context ended by the session or a revoke
}

// laneCheck is one invariant: it looks at what a step did.
type laneCheck func(m *laneModel, a *LaneAction)

func newLaneModel(c chooser, checks ...laneCheck) *laneModel {
	m := &laneModel{
		until: Never, endBy: Never, queue: map[int64]uint64{}, finished: map[int64]bool{}, held: map[int64]bool{}, ended: map[int64]int32{},
		running: map[LaneToken]*modelRun{}, letters: map[int64]bool{}, pull: -1, refill: -1, checks: checks,
	}
	m.cfg = LaneConfig{
		ByKey: c.pick("by key", 2) == 1, Workers: 1 + c.pick("workers", 4), Batch: 1 + c.pick("batch", 3),
		Manual: c.pick("manual", 4) == 0, Stock: c.pick("stock", 3) == 0, MaxCount: 1 + c.pick("cache", 20),
		MaxAttempts: c.pick("attempts", 4), Poison: Poison(c.pick("poison", 3)),
		Backoff: []time.Duration{10 * time.Millisecond, 50 * time.Millisecond}, CommitEvery: 20 * time.Millisecond,
	}
	if c.pick("time-out", 3) == 0 {
		m.cfg.Timeout = 100 * time.Millisecond
		m.cfg.Redeliver = c.pick("redeliver", 2) == 0
	}
	m.lane = NewLane(m.cfg)
	m.cfg = m.lane.cfg
	start := int64(c.pick("start", 3))
	m.read, m.low = start, start
	m.step(&LaneEvent{Kind: LaneStart, Grant: Grant{Epoch: 1, Offset: start}})
	return m
}

func (m *laneModel) fail(format string, args ...any) {
	if m.bad == "" {
		m.bad = fmt.Sprintf(format, args...)
	}
}

// step feeds one event and takes note of what the lane does.
func (m *laneModel) step(ev *LaneEvent) {
	if m.over || m.bad != "" {
		return
	}
	ev.Until = m.until
	m.history = append(m.history, fmt.Sprintf("%v %+v", time.Duration(m.now), *ev))
	m.acts = m.lane.Step(m.now, ev, m.acts[:0])
	for i := range m.acts {
		a := m.acts[i]
		m.history = append(m.history, fmt.Sprintf("    %+v", a))
		for _, check := range m.checks {
			check(m, &a)
		}
		m.note(&a)
	}
	for _, check := range m.checks {
		check(m, nil)
	}
}

// note records one action.
func (m *laneModel) note(a *LaneAction) {
	switch a.Kind {
	case LanePull:
		m.pull = a.Offset
	case LaneRefill:
		m.refill = a.Offset
	case LaneHandOut:
		r := &modelRun{attempt: a.Attempt}
		for _, e := range a.Entries {
			r.offsets = append(r.offsets, e.Offset)
		}
		m.running[a.Token] = r
	case LaneCancel:
		m.running[a.Token].excused = a.Cause != CauseTimeout
	case LaneCommit:
		m.commit, m.low = a.ID, a.Offset
	case LaneLetter:
		m.letters[a.Offset] = true
	case LaneReleased:
		m.over = true
	}
}

// lowest is the commit offset as a child would work it out.
func (m *laneModel) lowest() int64 {
	for o := range m.read {
		if _, stored := m.queue[o]; stored && !m.finished[o] {
			return o
		}
	}
	return m.read
}

// move makes one random move.
func (m *laneModel) move(c chooser) {
	switch c.pick("move", 24) {
	case 0, 1, 2, 3:
		m.pulled(c)
	case 4:
		m.refilled(c)
	case 5, 6, 7, 8, 9, 10, 11:
		m.settle(c)
	case 12, 13, 14:
		m.advance(m.now.Add(time.Duration(1+c.pick("ms", 60)) * time.Millisecond))
	case 15, 16, 17:
		if m.commit != 0 {
			id := m.commit
			m.commit = 0
			m.step(&LaneEvent{Kind: LaneCommitted, ID: id, Failed: c.pick("failed", 4) == 0})
		}
	case 18, 19:
		m.lettered(c)
	case 20:
		m.step(&LaneEvent{Kind: []LaneEventKind{LaneHold, LaneGo, LanePause, LaneResume}[c.pick("gate", 4)]})
	case 21:
		m.until = Never
		if c.pick("silent", 2) == 0 {
			m.until = m.now
		}
		m.step(&LaneEvent{Kind: LaneTick})
	case 22:
		m.verb(c)
	case 23:
		switch c.pick("end", 12) {
		case 0:
			m.step(&LaneEvent{Kind: LaneRevoke, Deadline: Never})
		case 1:
			m.endBy = min(m.endBy, m.now.Add(100*time.Millisecond))
			m.step(&LaneEvent{Kind: LaneRevoke, Deadline: m.endBy})
		case 2:
			m.lost = true
			m.step(&LaneEvent{Kind: LaneLost})
		}
	}
}
