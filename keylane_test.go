// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderlymq/orderly/admin"
)

// handOvers move the only queue from the member c1, which cons is, to the next
// one, in the way that its name says.
var handOvers = []struct {
	name string
	do   func(t *testing.T, r *realCluster, cons *running)
}{
	{"clean leave", func(t *testing.T, _ *realCluster, cons *running) { must(t, cons.end()) }},
	{"kill", func(_ *testing.T, r *realCluster, cons *running) {
		r.kill("c1")
		_ = cons.end() // a dead process has no last word
	}},
	{"broker restart and kill", func(_ *testing.T, r *realCluster, cons *running) {
		r.stopBroker()
		r.startBroker()
		time.Sleep(5 * time.Second)
		r.kill("c1")
		_ = cons.end()
	}},
}

// TestSettledWorkIsNotRepeated: what other keys have finished behind a stuck one
// is not handed out by the next owner of the queue.
func TestSettledWorkIsNotRepeated(t *testing.T) {
	for _, move := range handOvers {
		t.Run(move.name, func(t *testing.T) {
			inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
				p := newProducer(t, r.client("p"), ProducerConfig{})
				put(t, p, "stuck", "1", "2")
				for i := range 50 {
					put(t, p, fmt.Sprint("k", i%7), fmt.Sprint(i))
				}
				put(t, p, "stuck", "3")
				var seen handled
				var mended atomic.Bool
				handle := func(_ context.Context, m *Message) error {
					if m.OrderingKey == "stuck" && !mended.Load() {
						return errors.New("not yet")
					}
					m.Attempt = 0 // does not matter here
					seen.add(m)
					return nil
				}
				one := consume(t, r.client("c1"), ConsumerConfig{Order: ByKey, CloseTimeout: time.Second}, handle)
				time.Sleep(3 * time.Second)
				if got := seen.String(); strings.Count(got, "#") != 50 {
					t.Fatalf("handled before: %s", got)
				}
				move.do(t, r, one)
				two := consume(t, r.client("c2"), ConsumerConfig{Order: ByKey}, handle)
				time.Sleep(30 * time.Second)
				mended.Store(true)
				time.Sleep(30 * time.Second)
				must(t, two.end())
				got := strings.Fields(seen.String())
				if len(got) != 53 || strings.Join(got[50:], " ") != "stuck:1#0 stuck:2#0 stuck:3#0" {
					t.Errorf("handled behind the move: %v", got[50:])
				}
			})
		})
	}
}

// TestParkedKeyStaysParked: a parked key is parked in the hands of the next owner
// too, without another attempt, and comes in order once it is resumed.
func TestParkedKeyStaysParked(t *testing.T) {
	for _, move := range handOvers {
		t.Run(move.name, func(t *testing.T) {
			inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
				a := r.admin()
				r.group("g", admin.GroupPolicy{MaxAttempts: 2, Poison: "park"})
				p := newProducer(t, r.client("p"), ProducerConfig{})
				put(t, p, "poison", "1", "2")
				put(t, p, "fine", "1", "2")
				put(t, p, "poison", "3")
				var seen handled
				var mended atomic.Bool
				handle := func(_ context.Context, m *Message) error {
					seen.add(m)
					if m.OrderingKey == "poison" && !mended.Load() {
						return errors.New("poison")
					}
					return nil
				}
				one := consume(t, r.client("c1"), ConsumerConfig{Order: ByKey, CloseTimeout: time.Second}, handle)
				time.Sleep(5 * time.Second)
				move.do(t, r, one)
				before := seen.String()
				if strings.Count(before, "poison") != 2 || strings.Count(before, "fine") != 2 {
					t.Errorf("before the move: %s", before)
				}
				two := consume(t, r.client("c2"), ConsumerConfig{Order: ByKey}, handle)
				time.Sleep(time.Minute)
				if got := seen.String(); got != before {
					t.Errorf("after the move: %s", got[len(before):])
				}
				list, err := a.Blocked(t.Context(), "g")
				must(t, err)
				if b := find(t, list, "parked"); b.Key != "poison" || b.Offset != 0 || b.Behind != 2 {
					t.Errorf("parked: %+v", b)
				}
				mended.Store(true)
				_, err = a.Do(t.Context(), admin.Resume, admin.Message{Group: "g", Topic: "t", Offset: 0})
				must(t, err)
				time.Sleep(10 * time.Second)
				must(t, two.end())
				if got := strings.TrimPrefix(seen.String(), before); got != " poison:1#1 poison:2#1 poison:3#1" {
					t.Errorf("after resume:%s", got)
				}
			})
		})
	}
}

// TestBatchIsSplitBeforeAnythingIsCounted: a batch that fails as a whole uses up
// no attempts; only the message that fails alone does, and is dead-lettered.
func TestBatchIsSplitBeforeAnythingIsCounted(t *testing.T) {
	for _, order := range []Order{ByQueue, ByKey} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
				a := r.admin()
				r.group("g", admin.GroupPolicy{MaxAttempts: 2, Poison: "dead-letter", Backoff: []time.Duration{time.Second}})
				p := newProducer(t, r.client("p"), ProducerConfig{})
				put(t, p, "k", "1", "2", "poison", "4", "5", "6")
				var calls, alone []string
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				cfg := ConsumerConfig{Group: "g", Topic: "t", Order: order, MaxBatch: 4}
				must(t, r.client("c").ConsumeBatch(ctx, cfg, func(_ context.Context, ms []*Message) (int, error) {
					var call []string
					broken := false
					for _, m := range ms {
						call = append(call, fmt.Sprint(string(m.Body), "#", m.Attempt))
						broken = broken || string(m.Body) == "poison"
					}
					calls = append(calls, strings.Join(call, " "))
					if broken {
						return 0, errors.New("one of these")
					}
					alone = append(alone, call...)
					return len(ms), nil
				}))
				want := []string{"1#1 2#1 poison#1 4#1", "1#1", "2#1", "poison#1", "poison#2", "4#1"}
				if got := strings.Join(calls, ", "); !strings.HasPrefix(got, strings.Join(want, ", ")+", ") {
					t.Errorf("calls %s", got)
				}
				if got := strings.Join(alone, " "); got != "1#1 2#1 4#1 5#1 6#1" {
					t.Errorf("succeeded: %s", got)
				}
				letters, err := a.DeadLetters(t.Context(), "g")
				must(t, err)
				if len(letters) != 1 || letters[0].Offset != 2 || letters[0].Attempts != 2 {
					t.Errorf("dead letters %+v", letters)
				}
			})
		})
	}
}

// TestFullWindowIsListed: behind a stuck key a queue is read on up to the bound,
// with no more messages in memory than configured; then the wait names the key.
func TestFullWindowIsListed(t *testing.T) {
	const messages, atMost = 5000, 4096 + 32 // a pull is taken in whole
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		a := r.admin()
		p := newProducer(t, r.client("p"), ProducerConfig{})
		batch := make([]*Message, 500)
		for i := range messages {
			batch[i%500] = &Message{Topic: "t", OrderingKey: "stuck", Body: fmt.Append(nil, i)}
			if i%500 == 499 {
				_, err := p.SendBatch(t.Context(), batch)
				must(t, err)
			}
		}
		put(t, p, "other", "1")
		var mended atomic.Bool
		var next, other atomic.Int64
		cons := consume(t, r.client("c"), ConsumerConfig{Order: ByKey, MaxCached: 100}, func(_ context.Context, m *Message) error {
			switch {
			case m.OrderingKey == "other":
				other.Add(1)
			case !mended.Load():
				return RetryAfter(10*time.Second, errors.New("not yet"))
			case string(m.Body) != fmt.Sprint(next.Add(1)-1):
				t.Errorf("message %s, want %d", m.Body, next.Load()-1)
			}
			return nil
		})
		time.Sleep(30 * time.Second)
		list, err := a.Blocked(t.Context(), "g")
		must(t, err)
		if b := find(t, list, "window full behind this message"); b.Key != "stuck" || b.Offset != 0 || b.Behind < 4000 || b.Behind > atMost {
			t.Errorf("listed: %+v", b)
		}
		if other.Load() != 0 {
			t.Error("a message beyond the bound was handled")
		}
		mended.Store(true)
		time.Sleep(time.Minute)
		must(t, cons.end())
		if next.Load() != messages || other.Load() != 1 {
			t.Errorf("handled %d and %d", next.Load(), other.Load())
		}
	})
}
