// SPDX-License-Identifier: Apache-2.0

package order

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// pollModel is a reader of a lane in poll mode, as a child would keep it.
type pollModel struct {
	lane    *Lane
	now     Time
	queue   map[int64]bool // offsets with a message for the group
	token   LaneToken
	hand    []int64
	polled  []int64
	upTo    int64 // the reader's word
	commits []LaneAction
	pull    int64
	over    bool
}

func (m *pollModel) step(t *rapid.T, ev LaneEvent) {
	ev.Until = Never
	for _, a := range m.lane.Step(m.now, &ev, nil) {
		switch a.Kind {
		case LanePull:
			m.pull = a.Offset
		case LaneHandOut:
			m.token, m.hand = a.Token, nil
			for _, e := range a.Entries {
				m.hand = append(m.hand, e.Offset)
			}
			if m.hand[0] != m.expected() {
				t.Fatalf("handed out %v, want %d first", m.hand, m.expected())
			}
		case LaneCommit:
			m.commits = append(m.commits, a)
			m.check(t, a.Offset)
			if rs := m.lane.AppendSettled(nil); len(rs) > 0 {
				t.Fatalf("settled %v: what was only handed over is not settled", rs)
			}
		case LaneReleased:
			m.over = true
		}
	}
}

// expected is the first message that was not handed over.
func (m *pollModel) expected() int64 {
	from := int64(0)
	if n := len(m.polled); n > 0 {
		from = m.polled[n-1] + 1
	}
	for !m.queue[from] {
		from++
	}
	return from
}

// check holds a committed position against the reader's word.
func (m *pollModel) check(t *rapid.T, offset int64) {
	for o := range offset {
		if m.queue[o] && o >= m.upTo {
			t.Fatalf("commit of %d passes %d, the reader is done below %d", offset, o, m.upTo)
		}
	}
	if n := len(m.commits); n > 1 && offset < m.commits[n-2].Offset {
		t.Fatalf("commit of %d after %d", offset, m.commits[n-2].Offset)
	}
}

// TestReaderCommitsByItself: in poll mode the position is the reader's word,
// whatever was handed over; it passes nothing that was not polled, never goes
// back, and a clean end commits all of it.
func TestReaderCommitsByItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &pollModel{lane: NewLane(LaneConfig{Poll: true, Batch: 3, MaxCount: 5, CommitEvery: 20 * time.Millisecond}), queue: map[int64]bool{}, pull: -1}
		m.step(t, LaneEvent{Kind: LaneStart, Grant: Grant{Epoch: 1}})
		for range rapid.IntRange(1, 80).Draw(t, "moves") {
			m.move(t)
		}
		m.settle(t, len(m.hand))
		m.step(t, LaneEvent{Kind: LaneRevoke, Deadline: Never})
		m.settle(t, 0)
		for i := 0; !m.over && i < 3; i++ {
			m.answer(t, false)
			m.now = m.now.Add(time.Second) // a failed commit is tried again
			m.step(t, LaneEvent{Kind: LaneTick})
		}
		if !m.over {
			t.Fatal("nothing is in hand, and the queue is not given up")
		}
		if want := m.lane.CommitOffset(); m.lane.Committed() != want {
			t.Fatalf("given up with %d committed, the reader's word is %d", m.lane.Committed(), want)
		}
		for o := range m.upTo {
			if o >= m.lane.Committed() && m.queue[o] {
				t.Fatalf("the reader was done with %d, committed is %d", o, m.lane.Committed())
			}
		}
	})
}

func (m *pollModel) move(t *rapid.T) {
	switch rapid.IntRange(0, 4).Draw(t, "move") {
	case 0:
		if m.pull < 0 {
			return
		}
		ev := LaneEvent{Kind: LanePulled, Next: m.pull + int64(rapid.IntRange(0, 4).Draw(t, "n"))}
		for o := m.pull; o < ev.Next; o++ {
			if rapid.Bool().Draw(t, "mine") {
				m.queue[o] = true
				ev.Entries = append(ev.Entries, Entry{Offset: o, Size: 1})
			}
		}
		m.pull = -1
		m.step(t, ev)
	case 1:
		m.settle(t, rapid.IntRange(0, 3).Draw(t, "taken"))
	case 2:
		to := int64(rapid.IntRange(0, 40).Draw(t, "to"))
		if n := len(m.polled); n > 0 {
			m.upTo = max(m.upTo, min(to, m.polled[n-1]+1))
		}
		m.step(t, LaneEvent{Kind: LaneCommitTo, Offset: to})
	case 3:
		m.answer(t, rapid.Bool().Draw(t, "failed"))
	case 4:
		m.now = m.now.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "ms")) * time.Millisecond)
		m.step(t, LaneEvent{Kind: LaneTick})
	}
}

// settle ends the hand-out of which the reader took some.
func (m *pollModel) settle(t *rapid.T, taken int) {
	if len(m.hand) == 0 {
		return
	}
	taken = min(taken, len(m.hand))
	m.polled = append(m.polled, m.hand[:taken]...)
	m.hand = nil
	ev := LaneEvent{Kind: LaneSettle, Token: m.token, Done: taken, Verdict: Verdict(rapid.IntRange(0, 4).Draw(t, "verdict"))}
	if n := len(m.polled); ev.Verdict == Commit && n > 0 {
		m.upTo = max(m.upTo, m.polled[n-1]+1)
	}
	m.step(t, ev)
}

func (m *pollModel) answer(t *rapid.T, failed bool) {
	if n := len(m.commits); n > 0 {
		m.step(t, LaneEvent{Kind: LaneCommitted, ID: m.commits[n-1].ID, Failed: failed})
	}
}
