// SPDX-License-Identifier: Apache-2.0

package order

import (
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestWorld plays random histories of up to 3 members with crashes, restarts,
// freezes, broken links and resets, and checks the promise at every step.
func TestWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		byKey := rapid.Bool().Draw(t, "by key")
		cfg := worldConfig{
			queues:   rapid.IntRange(1, 4).Draw(t, "queues"),
			messages: rapid.Int64Range(1, 12).Draw(t, "messages"),
			lane: LaneConfig{
				Batch: rapid.IntRange(1, 3).Draw(t, "batch"), Backoff: []time.Duration{20 * time.Millisecond},
				CommitEvery: time.Millisecond,
			},
			lease: LeaseConfig{Grace: time.Second, Lease: 3 * time.Second},
		}
		if byKey {
			cfg.keys = rapid.Uint64Range(2, 4).Draw(t, "keys")
			cfg.lane.ByKey, cfg.lane.Batch = true, 1
			cfg.lane.MaxCount = rapid.IntRange(1, 12).Draw(t, "cache")
		}
		w := newWorld(cfg, rapid.IntRange(1, 3).Draw(t, "members"))
		if os.Getenv("ORDER_TRACE") != "" {
			w.log = func(s string) { t.Log(s) }
		}
		w.start(w.members[0])
		for range rapid.IntRange(0, 150).Draw(t, "moves") {
			w.randomMove(t)
			if w.bad != "" {
				t.Fatal(w.bad)
			}
		}
		for _, c := range w.members {
			if c.gone {
				w.start(c)
			}
		}
		w.runOut()
		if w.bad != "" {
			t.Fatal(w.bad)
		}
	})
}

// randomMove makes one move.
func (w *world) randomMove(t *rapid.T) {
	c := w.members[rapid.IntRange(0, len(w.members)-1).Draw(t, "member")]
	move := rapid.IntRange(0, 19).Draw(t, "move")
	switch {
	case c.gone && move < 10:
		w.start(c)
	case c.gone:
		w.advance(w.now.Add(time.Duration(rapid.Int64Range(1, 1200).Draw(t, "ms")) * time.Millisecond))
	case move < 6 && len(c.out) > 0 && !c.frozen:
		w.deliverOut(c)
	case move < 11 && len(c.in) > 0 && !c.frozen:
		w.deliverIn(c)
	case move < 14 && !c.frozen:
		w.randomSettle(t, c)
	case move < 16:
		w.advance(w.now.Add(time.Duration(rapid.Int64Range(1, 400).Draw(t, "ms")) * time.Millisecond))
	case move == 16 && rapid.IntRange(0, 3).Draw(t, "crash") == 0:
		w.crash(c)
	case move == 17 && !c.frozen:
		w.disconnect(c)
		w.connect(c)
	case move == 18 && c.frozen:
		w.thaw(c)
	case move == 18:
		c.frozen = true
	case move == 19 && rapid.IntRange(0, 3).Draw(t, "reset") == 0:
		q := rapid.IntRange(0, w.cfg.queues-1).Draw(t, "queue")
		to := rapid.Int64Range(0, w.end[q]).Draw(t, "to")
		w.broker(&LeaseEvent{Kind: LeaseReset, Queue: worldQueue(q), Offset: to}, nil, nil)
	}
}

func (w *world) randomSettle(t *rapid.T, c *client) {
	q := rapid.IntRange(0, w.cfg.queues-1).Draw(t, "queue")
	if d := c.lanes[q]; d != nil && len(d.runs) > 0 {
		i := rapid.IntRange(0, len(d.runs)-1).Draw(t, "handler")
		v := Success
		if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
			v = Verdict(rapid.IntRange(0, 200).Draw(t, "verdict"))
			if v == Letter {
				v = Retry
			}
		}
		w.settle(c, q, i, v)
	}
}
