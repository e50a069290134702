// SPDX-License-Identifier: Apache-2.0

package order

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

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
