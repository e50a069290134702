// SPDX-License-Identifier: Apache-2.0

package order

import (
	"flag"
	"hash/maphash"
	"testing"
	"time"
)

var exploreDeep = flag.Bool("order.deep", false, "explore larger worlds (minutes)")

// TestExhaustive visits every state that 2 members, 2 queues and 4 messages can
// reach with one crash and one reset, and smaller worlds with failing handlers,
// freezes, broken links, a broker restart and keys, in every order of
// deliveries, handlers' ends and faults; and from a sample of them it checks
// that the world comes to its end when the faults stop.
func TestExhaustive(t *testing.T) {
	for _, c := range []struct {
		name   string
		world  worldConfig
		faults faults
		deep   bool
	}{
		{"crash and reset", worldConfig{queues: 2, messages: 2}, faults{crashes: 1, resets: 1}, false},
		{"failure", worldConfig{queues: 1, messages: 2}, faults{failures: 2, crashes: 1}, false},
		{"freeze", worldConfig{queues: 1, messages: 2}, faults{freezes: 1}, false},
		{"freeze and reset", worldConfig{queues: 1, messages: 2}, faults{freezes: 1, resets: 1}, true},
		{"keys", worldConfig{queues: 1, messages: 4, keys: 3}, faults{crashes: 1, failures: 1}, false},
		{"broken link", worldConfig{queues: 1, messages: 2}, faults{breaks: 2}, false},
		{"restart", worldConfig{queues: 1, messages: 2}, faults{restarts: 1, crashes: 1}, false},
		{"all", worldConfig{queues: 1, messages: 2}, faults{crashes: 1, resets: 1, failures: 1, freezes: 1}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.deep && !*exploreDeep {
				t.Log("only with -order.deep")
				return
			}
			c.world.lease = LeaseConfig{Grace: time.Second, Lease: 2 * time.Second}
			c.world.lane = LaneConfig{Backoff: []time.Duration{minBackoff}, CommitEvery: 1, ByKey: c.world.keys > 0, Workers: 2}
			e := explorer{seen: map[uint64]bool{}, seed: maphash.MakeSeed(), sample: 64}
			if share > 1 {
				e.limit = 2000
			}
			w := newWorld(c.world, 2)
			w.faults = c.faults
			w.start(w.members[0])
			w.start(w.members[1])
			e.visit(t, w)
			t.Logf("%d states, %d transitions, %d run to their end", len(e.seen), e.transitions, e.ended)
		})
	}
}

// faults counts what may still go wrong.
type faults struct{ crashes, resets, failures, freezes, breaks, restarts int }

// explorer walks the graph of states depth first.
type explorer struct {
	seen        map[uint64]bool
	seed        maphash.Seed
	buf         []byte
	transitions int
	sample      int
	limit       int // of states; 0: none
	ended       int
}

func (e *explorer) visit(t *testing.T, w *world) {
	stack := []*world{w}
	for len(stack) > 0 && (e.limit == 0 || len(e.seen) < e.limit) {
		w := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if w.bad != "" {
			t.Fatalf("%s\n%s", w.bad, w.path)
		}
		e.buf = w.dump(e.buf[:0])
		h := maphash.Bytes(e.seed, e.buf)
		if e.seen[h] {
			continue
		}
		e.seen[h] = true
		if len(e.seen)%e.sample == 0 {
			end := w.clone()
			if end.runOut(); end.bad != "" {
				t.Fatalf("%s\n%s", end.bad, w.path)
			}
			e.ended++
		}
		for _, m := range w.moves() {
			next := w.clone()
			next.path = &step{before: w.path, move: m}
			next.make(m)
			e.transitions++
			stack = append(stack, next)
		}
	}
}

// step is one move of the way to a state.
type step struct {
	before *step
	move   move
}

func (s *step) String() string {
	if s == nil {
		return ""
	}
	return s.before.String() + s.move.String() + "\n"
}

// move is something that may happen next.
type move struct {
	kind   string
	member int
	queue  int
	run    int
}

func (m move) String() string {
	return m.kind + " member " + string(rune('0'+m.member)) + " queue " + string(rune('0'+m.queue)) + " handler " + string(rune('0'+m.run))
}

// moves lists what may happen next.
func (w *world) moves() []move {
	var ms []move
	busy := false // something is under way: time does not overtake it
	for i, c := range w.members {
		if c.gone {
			continue
		}
		if w.faults.crashes > 0 {
			ms = append(ms, move{kind: "crash", member: i})
		}
		if c.frozen {
			ms = append(ms, move{kind: "thaw", member: i})
			continue
		}
		if w.faults.freezes > 0 {
			ms = append(ms, move{kind: "freeze", member: i})
		}
		if w.faults.breaks > 0 {
			ms = append(ms, move{kind: "break", member: i})
		}
		if len(c.out) > 0 {
			ms, busy = append(ms, move{kind: "out", member: i}), true
		}
		if len(c.in) > 0 {
			ms, busy = append(ms, move{kind: "in", member: i}), true
		}
		for q, d := range c.lanes {
			if d == nil {
				continue
			}
			for r := range d.runs {
				ms = append(ms, move{kind: "success", member: i, queue: q, run: r})
				if w.faults.failures > 0 {
					ms = append(ms, move{kind: "failure", member: i, queue: q, run: r})
				}
			}
		}
	}
	if w.faults.resets > 0 {
		ms = append(ms, move{kind: "reset"})
	}
	if w.faults.restarts > 0 {
		ms = append(ms, move{kind: "restart"})
	}
	if !busy && !w.finished() {
		ms = append(ms, move{kind: "time"})
	}
	return ms
}

// make makes a move.
func (w *world) make(m move) {
	c := w.members[m.member]
	switch m.kind {
	case "crash":
		w.faults.crashes--
		w.crash(c)
	case "freeze":
		w.faults.freezes--
		c.frozen = true
	case "thaw":
		w.thaw(c)
	case "break":
		w.faults.breaks--
		w.disconnect(c)
		w.connect(c)
	case "out":
		w.deliverOut(c)
	case "in":
		w.deliverIn(c)
	case "success":
		w.settle(c, m.queue, m.run, Success)
	case "failure":
		w.faults.failures--
		w.settle(c, m.queue, m.run, Retry)
	case "reset":
		w.faults.resets--
		w.broker(&LeaseEvent{Kind: LeaseReset, Queue: worldQueue(0), Offset: 0}, nil, nil)
	case "restart":
		w.faults.restarts--
		w.restart()
	case "time":
		w.advance(w.now.Add(w.table.cfg.Grace / 4))
	}
}
