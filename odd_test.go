// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Whatever a handler does but return success, and whatever becomes of its
// member's link meanwhile, its message comes again in place: none is skipped,
// and none is tried again without a pause.
func TestRealOddOutcomesAreRetries(t *testing.T) {
	type call struct {
		ctx context.Context
		r   *realCluster
	}
	for _, test := range []struct {
		name   string
		cfg    ConsumerConfig
		batch  func(c call) (int, error)      // for ConsumeBatch
		manual func(c call) (Decision, error) // for ConsumeManual
	}{
		{name: "error", batch: func(call) (int, error) { return 0, errors.New("boom") }},
		{name: "success and an error", batch: func(call) (int, error) { return 1, errors.New("boom") }},
		{name: "no success and no error", batch: func(call) (int, error) { return 0, nil }},
		{name: "more than there is", batch: func(call) (int, error) { return 7, nil }},
		{name: "less than nothing", batch: func(call) (int, error) { return -1, nil }},
		{name: "panic", batch: func(call) (int, error) { panic("boom") }},
		{name: "nil panic", batch: func(call) (int, error) { panic(nil) }},
		{name: "Goexit", batch: func(call) (int, error) { runtime.Goexit(); return 1, nil }},
		{name: "no wait asked for", batch: func(call) (int, error) { return 0, RetryAfter(0, nil) }},
		{
			name: "time-out", cfg: ConsumerConfig{HandlerTimeout: 50 * time.Millisecond},
			batch: func(c call) (int, error) { <-c.ctx.Done(); return 0, context.Cause(c.ctx) },
		},
		{name: "no decision", manual: func(call) (Decision, error) { return 0, nil }},
		{name: "unknown decision", manual: func(call) (Decision, error) { return 77, nil }},
		{name: "negative decision", manual: func(call) (Decision, error) { return -1, nil }},
		{name: "commit with an error", manual: func(call) (Decision, error) { return Commit, errors.New("boom") }},
		{name: "panic in manual mode", manual: func(call) (Decision, error) { panic("boom") }},
		{
			name: "error after the link was lost", batch: func(c call) (int, error) {
				c.r.net.Reset("c", brokerHost)
				time.Sleep(50 * time.Millisecond)
				return 0, errors.New("boom")
			},
		},
		{
			name: "error while answers are lost", batch: func(c call) (int, error) {
				c.r.net.Blackhole(brokerHost, "c")
				return 0, errors.New("boom")
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
				p := newProducer(t, r.client("p"), ProducerConfig{})
				fill(t, p, 1, 0, 5)
				var mu sync.Mutex
				var seen []int64
				var at []time.Time
				failures := 0
				begin := func(m *Message) (odd bool) {
					mu.Lock()
					defer mu.Unlock()
					seen, at = append(seen, m.Offset), append(at, time.Now())
					if odd = m.Offset == 2 && failures < 2; odd {
						failures++
					}
					return odd
				}
				cfg := test.cfg
				cfg.Group, cfg.Topic, cfg.Backoff = "g", "t", func(int) time.Duration { return -1 }
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				c := r.client("c")
				if test.manual != nil {
					must(t, c.ConsumeManual(ctx, cfg, func(ctx context.Context, ms []*Message) (Decision, error) {
						if begin(ms[0]) {
							return test.manual(call{ctx, r})
						}
						return Commit, nil
					}))
				} else {
					must(t, c.ConsumeBatch(ctx, cfg, func(ctx context.Context, ms []*Message) (int, error) {
						if begin(ms[0]) {
							return test.batch(call{ctx, r})
						}
						return len(ms), nil
					}))
				}
				if want := []int64{0, 1, 2, 2, 2, 3, 4}; !slices.Equal(seen, want) {
					t.Fatalf("hand-outs of %v, want %v", seen, want)
				}
				for i := 3; i < 5; i++ {
					if pause := at[i].Sub(at[i-1]); pause < minBackoff || pause > 15*time.Second {
						t.Errorf("attempt %d came after %v", i-1, pause)
					}
				}
			})
		})
	}
}

// A panic's stack is in the log, with the message it was for.
func TestRealPanicsShowTheirStack(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		fill(t, newProducer(t, r.client("p"), ProducerConfig{}), 1, 0, 1)
		var log bytes.Buffer
		cfg := r.config("c")
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c, err := Open(t.Context(), cfg)
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		must(t, c.Consume(ctx, ConsumerConfig{Group: "g", Topic: "t"}, func(_ context.Context, m *Message) error {
			if m.Attempt == 1 {
				panic("that was it")
			}
			return nil
		}))
		must(t, c.Close())
		for _, want := range []string{"that was it", "odd_test.go", "t/broker-a/0", "attempt=1", "offset=0"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not tell %q:\n%s", want, &log)
			}
		}
	})
}

// A message that fails for ever is tried at the pace of its back-off, and not
// faster.
func TestRealNothingSpins(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		fill(t, newProducer(t, r.client("p"), ProducerConfig{}), 1, 0, 1)
		calls := 0
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		must(t, r.client("c").Consume(ctx, ConsumerConfig{Group: "g", Topic: "t", Backoff: func(int) time.Duration { return 0 }},
			func(context.Context, *Message) error { calls++; return errors.New("no") }))
		if calls < 100 || calls > 1001 { // 10 ms is the shortest wait
			t.Errorf("%d calls in 10 s", calls)
		}
	})
}

// Closing while pulls wait is instant, and takes every goroutine of the consumer
// with it, whether its handlers are idle, at work, or have failed.
func TestRealCloseLeavesNothing(t *testing.T) {
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprint("busy ", busy), func(t *testing.T) {
			inRealBubble(t, 8, func(t *testing.T, r *realCluster) {
				p := newProducer(t, r.client("p"), ProducerConfig{})
				c := r.client("c")
				once := func() (took time.Duration) {
					cons := consume(t, c, ConsumerConfig{Order: ByKey}, func(ctx context.Context, m *Message) error {
						if m.Offset%3 == 0 {
							return errors.New("no")
						}
						time.Sleep(time.Second)
						return nil
					})
					time.Sleep(3 * time.Second)
					if busy {
						fill(t, p, 10, 0, 3)
						time.Sleep(20 * time.Millisecond)
					}
					begun := time.Now()
					must(t, cons.end())
					took = time.Since(begun)
					synctest.Wait()
					return took
				}
				once()
				before := runtime.NumGoroutine()
				took := once()
				if after := runtime.NumGoroutine(); after > before {
					t.Errorf("%d goroutines before, %d after", before, after)
				}
				if limit := map[bool]time.Duration{false: 10 * time.Millisecond, true: time.Second}[busy]; took > limit {
					t.Errorf("closing took %v, want at most %v", took, limit)
				}
			})
		})
	}
}
