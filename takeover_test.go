// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderlymq/orderly/admin"
	"github.com/orderlymq/orderly/internal/route"
)

func TestRealConsumeInOrder(t *testing.T) {
	for _, order := range []Order{ByQueue, ByKey} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			inRealBubble(t, 4, func(t *testing.T, r *realCluster) {
				p := newProducer(t, r.client("p"), ProducerConfig{})
				fill(t, p, 10, 0, 10)
				j := newJournal()
				c := consume(t, r.client("c"), ConsumerConfig{Order: order}, j.handler(time.Millisecond))
				fill(t, p, 10, 10, 20)
				time.Sleep(3 * time.Second)
				must(t, c.end())
				j.check(t, 10, 20, false)
			})
		})
	}
}

// D04: an owner that is cut off stops before the next one starts, and is
// powerless afterwards.
func TestRealCutOffOwnerStopsFirst(t *testing.T) {
	for _, direction := range []string{"both", "to the broker", "from the broker"} {
		t.Run(direction, func(t *testing.T) {
			inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
				p := newProducer(t, r.client("p"), ProducerConfig{})
				fill(t, p, 1, 0, 1)
				var ended, started atomic.Int64
				var cause atomic.Value
				entered := make(chan struct{})
				one := consume(t, r.client("c1"), ConsumerConfig{}, func(ctx context.Context, m *Message) error {
					if m.Offset == 0 {
						return nil
					}
					close(entered)
					<-ctx.Done()
					ended.Store(time.Now().UnixNano())
					cause.Store(context.Cause(ctx))
					return ctx.Err()
				})
				time.Sleep(2 * time.Second)
				var fences []uint64
				two := consume(t, r.client("c2"), ConsumerConfig{}, func(_ context.Context, m *Message) error {
					started.CompareAndSwap(0, time.Now().UnixNano())
					fences = append(fences, m.Fence)
					return nil
				})
				fill(t, p, 1, 1, 5)
				<-entered
				cut := time.Now()
				switch direction {
				case "both":
					r.net.Cut("c1", brokerHost)
				case "to the broker":
					r.net.Block("c1", brokerHost)
				default:
					r.net.Block(brokerHost, "c1")
				}
				time.Sleep(15 * time.Second)
				t.Logf("owner stopped after %v, next one started after %v",
					time.Unix(0, ended.Load()).Sub(cut), time.Unix(0, started.Load()).Sub(cut))
				if ended.Load() == 0 || started.Load() == 0 || ended.Load() > started.Load() {
					t.Errorf("the former owner must stop first")
				}
				if err, _ := cause.Load().(error); !errors.Is(err, ErrLeaseLost) {
					t.Errorf("cause %v", err)
				}
				if took := time.Unix(0, started.Load()).Sub(cut); took > lease+grace {
					t.Errorf("take-over after %v, want at most L + G", took)
				}
				r.net.HealAll()
				time.Sleep(5 * time.Second)
				must(t, two.end())
				must(t, one.end())
				if len(fences) != 4 || fences[0] < 2 {
					t.Errorf("fences %v", fences)
				}
			})
		})
	}
}

// D05: a join while a handler runs waits for it.
func TestRealJoinWhileHandlerRuns(t *testing.T) {
	inRealBubble(t, 2, func(t *testing.T, r *realCluster) {
		p := newProducer(t, r.client("p"), ProducerConfig{})
		j := newJournal()
		one := consume(t, r.client("c1"), ConsumerConfig{}, j.handler(3*time.Second))
		fill(t, p, 6, 0, 3)
		time.Sleep(time.Second)
		two := consume(t, r.client("c2"), ConsumerConfig{}, j.handler(10*time.Millisecond))
		time.Sleep(60 * time.Second)
		must(t, two.end())
		must(t, one.end())
		j.check(t, 6, 3, false)
	})
}

// D08: what is sent after Ready is handled, although the group starts last.
func TestRealNothingSlipsThroughTheStart(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		p := newProducer(t, r.client("p"), ProducerConfig{})
		fill(t, p, 1, 0, 5)
		c := r.client("c")
		for round := range 10 {
			ready := make(chan struct{})
			got := make(chan string, 10)
			cons := consume(t, c, ConsumerConfig{Group: fmt.Sprint("g", round), Start: FromLast(), Ready: func() { close(ready) }},
				func(_ context.Context, m *Message) error { got <- string(m.Body); return nil })
			<-ready
			fill(t, p, 1, 5+round, 6+round)
			select {
			case body := <-got:
				if want := fmt.Sprint("k0:", 5+round); body != want {
					t.Errorf("round %d: first message %s, want %s", round, body, want)
				}
			case <-time.After(5 * time.Second):
				t.Errorf("round %d: the message was not handled", round)
			}
			must(t, cons.end())
		}
	})
}

func TestRealDeadLetter(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		p := newProducer(t, r.client("p"), ProducerConfig{})
		fill(t, p, 1, 0, 5)
		var seen []string
		c := r.client("c")
		cons := consume(t, c, ConsumerConfig{MaxAttempts: 3}, func(_ context.Context, m *Message) error {
			seen = append(seen, string(m.Body))
			if m.Offset == 1 {
				return errors.New("poison")
			}
			return nil
		})
		time.Sleep(20 * time.Second)
		must(t, cons.end())
		if want := "[k0:0 k0:1 k0:1 k0:1 k0:2 k0:3 k0:4]"; fmt.Sprint(seen) != want {
			t.Errorf("hand-outs %v, want %s", seen, want)
		}
		var letters []string
		cons = consume(t, c, ConsumerConfig{Group: "undertaker", Topic: "%DLQ%g"}, func(_ context.Context, m *Message) error {
			letters = append(letters, string(m.Body))
			return nil
		})
		time.Sleep(5 * time.Second)
		must(t, cons.end())
		if fmt.Sprint(letters) != "[k0:1]" {
			t.Errorf("dead letters %v", letters)
		}
	})
}

func TestRealConcurrentRetriesThroughTheRetryTopic(t *testing.T) {
	inRealBubble(t, 2, func(t *testing.T, r *realCluster) {
		p := newProducer(t, r.client("p"), ProducerConfig{})
		for i := range 20 {
			_, err := p.Send(t.Context(), &Message{Topic: "free", Body: fmt.Append(nil, i)})
			must(t, err)
		}
		var handled, failed atomic.Int32
		cons := consume(t, r.client("c"), ConsumerConfig{Topic: "free", Order: Unordered}, func(_ context.Context, m *Message) error {
			if m.Topic != "free" {
				t.Errorf("topic %s", m.Topic)
			}
			if string(m.Body) == "7" && m.Attempt == 1 {
				failed.Add(1)
				return errors.New("later")
			}
			handled.Add(1)
			return nil
		})
		time.Sleep(30 * time.Second)
		must(t, cons.end())
		if handled.Load() != 20 || failed.Load() != 1 {
			t.Errorf("handled %d, failed %d", handled.Load(), failed.Load())
		}
	})
}

// A producer learns from the broker how the topic's keys find their queues.
func TestRealLaneFunctionOfTheTopic(t *testing.T) {
	inRealBubble(t, 4, func(t *testing.T, r *realCluster) {
		p := newProducer(t, r.client("p"), ProducerConfig{})
		for function, want := range map[string]func(string) int32{
			"orderly":     func(k string) int32 { return route.Lane(k) % 8 },
			"java-string": func(k string) int32 { return route.JavaString(k, 8) },
			"go-fnv":      func(k string) int32 { return route.GoFNV(k, 8) },
		} {
			r.create(admin.Topic{Name: function, Queues: 8, Ordered: true, LaneFunction: function})
			for i := range 10 {
				k := fmt.Sprint("key", i)
				receipt, err := p.Send(t.Context(), &Message{Topic: function, OrderingKey: k, Body: []byte("x")})
				must(t, err)
				if receipt.Queue.ID != int(want(k)) {
					t.Errorf("%s: key %s in queue %d, want %d", function, k, receipt.Queue.ID, want(k))
				}
			}
		}
		if _, err := p.Send(t.Context(), &Message{Topic: "orderly", Body: []byte("x")}); !errors.Is(err, ErrNoOrderingKey) {
			t.Errorf("without a key: %v", err)
		}
	})
}
