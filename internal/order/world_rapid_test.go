// SPDX-License-Identifier: Apache-2.0

package order

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var seeds = flag.Int("order.seeds", 1500, "random histories that TestSeeds plays")

// chooser makes the choices of a history.
type chooser interface {
	pick(what string, n int) int // 0 to n-1
}

type rapidChooser struct{ t *rapid.T }

func (c rapidChooser) pick(what string, n int) int { return rapid.IntRange(0, n-1).Draw(c.t, what) }

type randChooser struct{ r *rand.Rand }

func (c randChooser) pick(_ string, n int) int { return c.r.IntN(n) }

// TestWorld plays histories that rapid chooses, and shrinks those that break
// the promise.
func TestWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := randomWorld(rapidChooser{t})
		if os.Getenv("ORDER_TRACE") != "" {
			w.log = func(s string) { t.Log(s) }
		}
		if w.play(rapidChooser{t}, 150); w.bad != "" {
			t.Fatal(w.bad)
		}
	})
}

// TestSeeds plays long histories of up to 3 members with crashes, restarts,
// freezes, broken links and resets, and checks the promise at every step.
func TestSeeds(t *testing.T) {
	for seed := range uint64(*seeds / share) {
		c := randChooser{rand.New(rand.NewPCG(seed, 1))}
		w := randomWorld(c)
		if os.Getenv("ORDER_TRACE") == strconv.FormatUint(seed, 10) {
			w.log = func(s string) { t.Log(s) }
		}
		if w.play(c, 600); w.bad != "" {
			t.Fatalf("seed %d: %s", seed, w.bad)
		}
	}
}

func randomWorld(c chooser) *world {
	cfg := worldConfig{
		queues:   1 + c.pick("queues", 4),
		messages: 1 + int64(c.pick("messages", 20)),
		lane: LaneConfig{
			Batch: 1 + c.pick("batch", 3), Backoff: []time.Duration{20 * time.Millisecond},
			CommitEvery: time.Duration(1+c.pick("commit every", 300)) * time.Millisecond,
		},
		lease: LeaseConfig{Grace: time.Second, Lease: 3 * time.Second},
	}
	if c.pick("by key", 2) == 1 {
		cfg.keys = 2 + uint64(c.pick("keys", 3))
		cfg.lane.ByKey, cfg.lane.Workers = true, 1+c.pick("workers", 4)
		cfg.lane.MaxCount = 1 + c.pick("cache", 12)
	}
	return newWorld(cfg, 1+c.pick("members", 3))
}

// play makes moves, then lets everything come to its end without faults.
func (w *world) play(c chooser, moves int) {
	w.start(w.members[0])
	for range c.pick("moves", moves) {
		if w.randomMove(c); w.bad != "" {
			return
		}
	}
	for _, m := range w.members {
		if m.gone {
			w.start(m)
		}
	}
	w.runOut()
}

// randomMove makes one move.
func (w *world) randomMove(c chooser) {
	m := w.members[c.pick("member", len(w.members))]
	move := c.pick("move", 100)
	switch {
	case m.gone && move < 30:
		w.start(m)
	case m.gone:
		w.advance(w.now.Add(time.Duration(1+c.pick("ms", 1200)) * time.Millisecond))
	case move < 30 && len(m.out) > 0 && !m.frozen:
		w.deliverOut(m)
	case move < 55 && len(m.in) > 0 && !m.frozen:
		w.deliverIn(m)
	case move < 75 && !m.frozen:
		w.randomSettle(c, m)
	case move < 90:
		w.advance(w.now.Add(time.Duration(1+c.pick("ms", 400)) * time.Millisecond))
	case m.frozen && move < 95:
		w.thaw(m)
	case m.frozen && move < 97:
		w.cut(m)
	case m.frozen:
	case move == 90:
		w.crash(m)
	case move < 94:
		w.disconnect(m)
		w.connect(m)
	case move < 96:
		m.frozen = true
	case move == 97:
		w.restart()
	case move == 98: // the broker is paused: no ticks
		w.now = w.now.Add(time.Duration(1+c.pick("pause", 4000)) * time.Millisecond)
	case move == 96:
		q := c.pick("queue", w.cfg.queues)
		to := int64(c.pick("to", int(w.end[q])+1))
		w.broker(&LeaseEvent{Kind: LeaseReset, Queue: worldQueue(q), Offset: to}, nil, nil)
	}
}

func (w *world) randomSettle(c chooser, m *client) {
	q := c.pick("queue", w.cfg.queues)
	d := m.lanes[q]
	if d == nil || len(d.runs) == 0 {
		return
	}
	v := Success
	if c.pick("fails", 4) == 0 {
		v = Verdict(c.pick("verdict", 200))
		if v == Letter {
			v = Retry
		}
	}
	w.settle(m, q, c.pick("handler", len(d.runs)), v)
}
