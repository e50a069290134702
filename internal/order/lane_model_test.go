// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
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

// pulled answers the pull with up to 5 messages, sometimes unsorted or with
// repeats, or fails it.
func (m *laneModel) pulled(c chooser) {
	if m.pull < 0 {
		return
	}
	from := m.pull
	m.pull = -1
	if c.pick("pull fails", 8) == 0 {
		m.step(&LaneEvent{Kind: LanePullFailed, Delay: 20 * time.Millisecond})
		return
	}
	var es []Entry
	next := from
	for range c.pick("messages", 6) {
		if c.pick("hole", 6) != 0 {
			m.queue[next] = uint64(c.pick("key", 4)) // 0: a barrier
			es = append(es, Entry{Offset: next, Size: 1, Key: m.queue[next]})
		}
		next++
	}
	if len(es) > 1 && c.pick("unsorted", 5) == 0 {
		slices.Reverse(es)
		es = append(es, es[0], Entry{Offset: from - 1, Size: 1, Key: m.queue[from-1]})
	}
	m.read, m.end = max(m.read, next), max(m.end, next)
	if m.lane.phase != laneOpen {
		m.read = from // the answer is dropped
	}
	m.step(&LaneEvent{Kind: LanePulled, Entries: es, Next: next})
}

// refilled answers the refill with what is stored.
func (m *laneModel) refilled(c chooser) {
	if m.refill < 0 {
		return
	}
	from := m.refill
	m.refill = -1
	if c.pick("refill fails", 8) == 0 {
		m.step(&LaneEvent{Kind: LaneRefillFailed, Delay: 20 * time.Millisecond})
		return
	}
	var es []Entry
	o := from
	for ; o < m.end && len(es) < 4; o++ {
		if key, ok := m.queue[o]; ok {
			es = append(es, Entry{Offset: o, Size: 1, Key: key})
		}
	}
	m.step(&LaneEvent{Kind: LaneRefilled, Entries: es, Next: o})
}

// settle ends a handler with some verdict.
func (m *laneModel) settle(c chooser) {
	tokens := make([]LaneToken, 0, len(m.running))
	for token := range m.running {
		tokens = append(tokens, token)
	}
	if len(tokens) == 0 {
		return
	}
	slices.Sort(tokens)
	token := tokens[c.pick("handler", len(tokens))]
	v := Verdict(c.pick("verdict", 9))
	if v > Letter {
		v = Success
	}
	if v == Success && c.pick("odd", 10) == 0 {
		v = 99
	}
	done := 0
	if v == Retry {
		done = c.pick("done", len(m.running[token].offsets)+1)
	}
	m.noteSettle(token, v, done)
	m.step(&LaneEvent{Kind: LaneSettle, Token: token, Verdict: v, Done: done})
}

// noteSettle records what a verdict means.
func (m *laneModel) noteSettle(token LaneToken, v Verdict, done int) {
	r := m.running[token]
	delete(m.running, token)
	if m.lost {
		return
	}
	if !m.cfg.Manual && (v == Commit || v == Rollback) {
		v = Retry
	}
	if v == Success || v == Commit {
		done = len(r.offsets)
	}
	for _, o := range r.offsets[:done] {
		if m.cfg.Manual {
			m.held[o] = true
		} else {
			m.finished[o] = true
		}
	}
	rest := r.offsets[done:]
	switch {
	case v == Commit:
		for o := range m.held {
			m.finished[o] = true
		}
		clear(m.held)
	case v == Rollback:
		clear(m.held)
	case len(rest) == 1 && (v == Letter || !r.excused):
		m.ended[rest[0]]++
	}
}

// advance lets time pass, with a tick whenever one is due.
func (m *laneModel) advance(to Time) {
	for range 1000 {
		next := m.lane.Next()
		if next > to || m.over {
			m.now = to
			return
		}
		m.now = max(m.now, next)
		m.expire()
		m.step(&LaneEvent{Kind: LaneTick})
	}
	m.fail("ticks do not end")
}

// expire notes hand-outs that the next tick takes back.
func (m *laneModel) expire() {
	if !m.cfg.Redeliver || m.lost || m.now >= m.until || m.now >= m.lane.endBy {
		return
	}
	for i := range m.lane.runs.all {
		ru := &m.lane.runs.all[i]
		if ru.token != 0 && ru.cause == CauseNone && m.now >= ru.deadline {
			m.noteSettle(ru.token, Retry, 0)
		}
	}
}

func (m *laneModel) lettered(c chooser) {
	for o := range m.end {
		if !m.letters[o] {
			continue
		}
		delete(m.letters, o)
		failed := c.pick("failed", 3) == 0
		if !failed && !m.lost {
			if m.cfg.Manual {
				m.held[o] = true
			} else {
				m.finished[o] = true
			}
		}
		m.step(&LaneEvent{Kind: LaneLettered, Offset: o, Failed: failed})
		return
	}
}

func (m *laneModel) verb(c chooser) {
	if m.end == 0 {
		return
	}
	o := int64(c.pick("offset", int(m.end)))
	kind := []LaneEventKind{LaneRetryNow, LaneLetterNow, LaneParkNow, LaneUnpark}[c.pick("verb", 4)]
	if i := m.lane.strandAt(o); kind == LaneUnpark && i != 0 && m.lane.strands.at(i).state == strandParked {
		m.ended[o] = 0
	}
	m.step(&LaneEvent{Kind: kind, Offset: o})
}

// laneHistories checks an invariant over random histories.
func laneHistories(t *testing.T, checks ...laneCheck) {
	t.Helper()
	for seed := range uint64(2000 / share) {
		c := randChooser{rand.New(rand.NewPCG(seed, 2))}
		m := newLaneModel(c, checks...)
		for range 200 {
			if m.move(c); m.over || m.bad != "" {
				break
			}
		}
		if m.bad != "" {
			for _, line := range m.history {
				t.Log(line)
			}
			t.Fatalf("seed %d %+v: %s", seed, m.cfg, m.bad)
		}
	}
}
