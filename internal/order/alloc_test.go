// SPDX-License-Identifier: Apache-2.0

package order

import (
	"testing"
	"time"
)

// steady is a machine in its steady state: each call of step is one round.
type steady struct {
	name  string
	setup func() (step func(), perRound int)
}

var steadyStates = []steady{
	{"lane by queue", func() (func(), int) { return steadyLane(LaneConfig{}, 8, 0) }},
	{"lane by queue, batch 32", func() (func(), int) { return steadyLane(LaneConfig{Batch: 32}, 8, 0) }},
	{"lane by key", func() (func(), int) { return steadyLane(LaneConfig{ByKey: true, Workers: 64}, 8, 0) }},
	{"lane by key, 10,000 keys", func() (func(), int) { return steadyLane(LaneConfig{ByKey: true, Workers: 64}, 10_000, 0) }},
	{"lane by key, 10,000 keys, one stuck", func() (func(), int) {
		return steadyLane(LaneConfig{ByKey: true, Workers: 64}, 10_000, 1)
	}},
	{"lane by key, one stuck", func() (func(), int) { return steadyStuckLane() }},
	{"leases", steadyLeases},
	{"session", steadySession},
	{"pings", func() (func(), int) {
		p, n := &PingLog{}, uint64(0)
		return func() { n++; p.Answered(n, Time(n)); p.Sent(n) }, 1
	}},
}

// TestNoAllocationInSteadyState: no step allocates once the machine has grown
// to its size.
func TestNoAllocationInSteadyState(t *testing.T) {
	for _, s := range steadyStates {
		t.Run(s.name, func(t *testing.T) {
			step, _ := s.setup()
			for range 2000 {
				step()
			}
			if n := testing.AllocsPerRun(500, step); n != 0 {
				t.Errorf("%v allocations per round", n)
			}
		})
	}
}

func BenchmarkSteadyState(b *testing.B) {
	for _, s := range steadyStates {
		b.Run(s.name, func(b *testing.B) {
			step, per := s.setup()
			b.ReportAllocs()
			for n := 0; n < b.N; n += per {
				step()
			}
		})
	}
}

// steadyLane pulls 32 messages of some keys a round, handles and commits them. A
// message of the stuck key never comes back.
func steadyLane(cfg LaneConfig, keys int64, stuck uint64) (func(), int) {
	l := NewLane(cfg)
	var buf, acts []LaneAction
	now, next := Time(0), int64(0)
	entries := make([]Entry, 32)
	ref := any(&entries)
	buf = l.Step(now, &LaneEvent{Kind: LaneStart, Until: Never}, buf[:0])
	return func() {
		now += Time(time.Millisecond)
		for i := range entries {
			entries[i] = Entry{Offset: next, Size: 100, Key: uint64(next%keys) + 1, Ref: ref}
			next++
		}
		acts = l.Step(now, &LaneEvent{Kind: LanePulled, Until: Never, Entries: entries, Next: next}, acts[:0])
		for len(acts) > 0 {
			buf = buf[:0]
			for i := range acts {
				switch acts[i].Kind {
				case LaneHandOut:
					if acts[i].Entries[0].Key == stuck {
						continue
					}
					buf = l.Step(now, &LaneEvent{Kind: LaneSettle, Until: Never, Token: acts[i].Token, Verdict: Success}, buf)
				case LaneCommit:
					buf = l.Step(now, &LaneEvent{Kind: LaneCommitted, Until: Never, ID: acts[i].ID}, buf)
				}
			}
			acts, buf = buf, acts
		}
	}, len(entries)
}

// steadyStuckLane is a lane by key whose first message never comes back.
func steadyStuckLane() (func(), int) {
	l := NewLane(LaneConfig{ByKey: true, Workers: 64})
	var buf []LaneAction
	now, next := Time(0), int64(0)
	entries := make([]Entry, 1)
	tokens := make([]LaneToken, 0, 64)
	l.Step(now, &LaneEvent{Kind: LaneStart, Until: Never}, nil)
	l.Step(now, &LaneEvent{Kind: LanePulled, Until: Never, Entries: []Entry{{Key: 1000}}, Next: 1}, nil)
	next = 1
	return func() {
		now += Time(time.Millisecond)
		entries[0] = Entry{Offset: next, Size: 100, Key: uint64(next)%500 + 1}
		next++
		buf = l.Step(now, &LaneEvent{Kind: LanePulled, Until: Never, Entries: entries, Next: next}, buf[:0])
		tokens = tokens[:0]
		for i := range buf {
			if buf[i].Kind == LaneHandOut {
				tokens = append(tokens, buf[i].Token)
			}
			if buf[i].Kind == LaneCommit {
				buf = l.Step(now, &LaneEvent{Kind: LaneCommitted, Until: Never, ID: buf[i].ID}, buf)
			}
		}
		for _, token := range tokens {
			buf = l.Step(now, &LaneEvent{Kind: LaneSettle, Until: Never, Token: token, Verdict: Success}, buf[:0])
		}
	}, 1
}

// steadyLeases serves one holder among 4 members with 16 queues.
func steadyLeases() (func(), int) {
	t := NewLeases(LeaseConfig{})
	var buf []LeaseAction
	t.Step(0, &LeaseEvent{Kind: LeaseEpochs, Epoch: 1, EpochEnd: 1 << 30}, nil)
	var queues []Queue
	for i := range int32(16) {
		queues = append(queues, Queue{"orders", i})
	}
	for i := range Token(4) {
		t.Step(0, &LeaseEvent{Kind: LeaseJoin, Link: LinkID(i + 1), Client: "c", Session: i + 1}, nil)
	}
	starts := make([]int64, 16)
	t.Step(0, &LeaseEvent{Kind: LeaseLock, Link: 1, Client: "c", Session: 1, Queues: queues, Starts: starts}, nil)
	now, offset := Time(0), int64(0)
	return func() {
		now += Time(10 * time.Millisecond)
		offset++
		buf = t.Step(now, &LeaseEvent{Kind: LeaseRefresh, Link: 1, Sent: now}, buf[:0])
		buf = t.Step(now, &LeaseEvent{Kind: LeasePull, Link: 1, Session: 1, Epoch: 1, Queue: queues[0], Offset: offset}, buf[:0])
		buf = t.Step(now, &LeaseEvent{Kind: LeaseCommit, Link: 1, Session: 1, Epoch: 1, Queue: queues[0], Offset: offset, End: offset}, buf[:0])
		buf = t.Step(now, &LeaseEvent{Kind: LeaseLock, Link: 1, Client: "c", Session: 1, Queues: queues[:1]}, buf[:0])
		if t.Next() <= now {
			buf = t.Step(now, &LeaseEvent{Kind: LeaseTick}, buf[:0])
		}
	}, 4
}

func steadySession() (func(), int) {
	s := NewSession(SessionConfig{})
	var buf []SessionAction
	now := Time(0)
	buf = s.Step(now, SessionEvent{Kind: SessionConnected}, buf[:0])
	return func() {
		now += Time(50 * time.Millisecond)
		buf = s.Step(now, SessionEvent{Kind: SessionTick}, buf[:0])
		for i := 0; i < len(buf); i++ {
			switch buf[i].Kind {
			case SessionPing:
				buf = s.Step(now, SessionEvent{Kind: SessionPong, N: buf[i].N}, buf)
			case SessionResumed:
				buf = s.Step(now, SessionEvent{Kind: SessionProved}, buf)
			}
		}
	}, 1
}
