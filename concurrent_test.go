// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/orderlymq/orderly/admin"
)

// sight is one hand-out of a message.
type sight struct {
	body    string
	attempt int
	at      time.Duration // since the first one of the message
}

// sights keeps what a concurrent consumer was handed.
type sights struct {
	mu    sync.Mutex
	first map[string]time.Time
	all   []sight
}

func (s *sights) see(m *Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = map[string]time.Time{}
	}
	body := string(m.Body)
	if _, ok := s.first[body]; !ok {
		s.first[body] = time.Now()
	}
	s.all = append(s.all, sight{body, m.Attempt, time.Since(s.first[body])})
}

// of are the hand-outs of one message.
func (s *sights) of(body string) []sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.all), func(x sight) bool { return x.body != body })
}

func fillFree(t *testing.T, r *realCluster, n int) {
	t.Helper()
	p := newProducer(t, r.client("p"), ProducerConfig{})
	for i := range n {
		_, err := p.Send(t.Context(), &Message{Topic: "free", Body: fmt.Append(nil, i)})
		must(t, err)
	}
}

// letters are the bodies in the group's dead-letter topic.
func letters(t *testing.T, r *realCluster) []string {
	t.Helper()
	p := newPull(t, r.client("letters"), PullConsumerConfig{Group: "undertaker"})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	must(t, p.Subscribe(ctx, "%DLQ%g", Tags()))
	var out []string
	for {
		ms, err := p.Poll(ctx, 10)
		if err != nil {
			must(t, p.Close())
			return out
		}
		for _, m := range ms {
			out = append(out, string(m.Body))
		}
	}
}

// A message that fails climbs the ladder of the broker and ends as a dead
// letter; the others go on.
func TestConcurrentLadder(t *testing.T) {
	for _, c := range []struct {
		max      int
		attempts int
		wait     time.Duration
	}{{0, 17, 6 * time.Hour}, {3, 3, 10 * time.Minute}, {1, 1, time.Minute}} {
		t.Run(fmt.Sprint("max attempts ", c.max), func(t *testing.T) {
			inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
				fillFree(t, r, 5)
				var seen sights
				cons := consume(t, r.client("c"), ConsumerConfig{Topic: "free", Order: Unordered, MaxAttempts: c.max}, func(_ context.Context, m *Message) error {
					seen.see(m)
					if string(m.Body) != "2" {
						return nil
					}
					switch m.Attempt % 3 {
					case 0:
						panic("no")
					case 1:
						runtime.Goexit()
					}
					return errors.New("no")
				})
				time.Sleep(c.wait)
				must(t, cons.end())
				ladder := []time.Duration{10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200}
				got, due := seen.of("2"), time.Duration(0)
				if len(got) != c.attempts {
					t.Fatalf("%d attempts, want %d", len(got), c.attempts)
				}
				for i, s := range got {
					if i > 0 {
						due += ladder[i-1] * time.Second
					}
					if s.attempt != i+1 || s.at < due || s.at > due+time.Duration(2*i+1)*time.Second {
						t.Errorf("attempt %d after %v, want %d after %v", s.attempt, s.at, i+1, due)
					}
				}
				if n := len(seen.all); n != 4+c.attempts {
					t.Errorf("%d hand-outs", n)
				}
				if got := letters(t, r); !slices.Equal(got, []string{"2"}) {
					t.Errorf("dead letters %q", got)
				}
			})
		})
	}
}

// RetryAfter chooses the rung.
func TestConcurrentRetryAfter(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		fillFree(t, r, 1)
		var seen sights
		cons := consume(t, r.client("c"), ConsumerConfig{Topic: "free", Order: Unordered}, func(_ context.Context, m *Message) error {
			if seen.see(m); m.Attempt == 1 {
				return RetryAfter(3*time.Second, nil)
			}
			return nil
		})
		time.Sleep(time.Minute)
		must(t, cons.end())
		got := seen.of("0")
		if len(got) != 2 || got[1].at < 5*time.Second || got[1].at > 7*time.Second {
			t.Errorf("%v, want a second attempt after 5 s, the first level of 3 s or more", got)
		}
	})
}

// While nothing can be sent back, failed messages are tried again here, and none
// is lost.
func TestConcurrentSendBackFails(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		fillFree(t, r, 10)
		var seen sights
		begun, goOn := make(chan struct{}, 10), make(chan struct{})
		cons := consume(t, r.client("c"), ConsumerConfig{Topic: "free", Order: Unordered}, func(_ context.Context, m *Message) error {
			if seen.see(m); m.Attempt > 1 {
				return nil
			}
			begun <- struct{}{}
			<-goOn
			return errors.New("not yet")
		})
		for range 10 {
			<-begun
		}
		r.stopBroker()
		close(goOn)
		time.Sleep(20 * time.Second)
		r.startBroker()
		time.Sleep(2 * time.Minute)
		must(t, cons.end())
		for i := range 10 {
			got := seen.of(fmt.Sprint(i))
			if n := len(got); n < 2 || got[n-1].attempt < 2 {
				t.Errorf("message %d: %v", i, got)
			}
		}
	})
}

// A handler that never ends keeps its worker and nothing else: its message is
// sent back, and the position moves on.
func TestConcurrentTimeout(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		fillFree(t, r, 3)
		var seen sights
		forever := make(chan struct{})
		cfg := ConsumerConfig{Topic: "free", Order: Unordered, HandlerTimeout: 5 * time.Second, CloseTimeout: time.Second}
		cons := consume(t, r.client("c"), cfg, func(_ context.Context, m *Message) error {
			if seen.see(m); string(m.Body) == "1" && m.Attempt == 1 {
				<-forever
			}
			return nil
		})
		time.Sleep(time.Minute)
		got := seen.of("1")
		if len(got) != 2 || got[1].attempt != 2 || got[1].at < 15*time.Second || got[1].at > 18*time.Second {
			t.Errorf("%v, want a second attempt 10 s after the time-out", got)
		}
		closed := time.Now()
		err := cons.end()
		if _, ok := errors.AsType[*CloseError](err); !ok || time.Since(closed) > 2*time.Second {
			t.Errorf("ended after %v with %v, want a CloseError at once", time.Since(closed), err)
		}
		again := consume(t, r.client("c2"), cfg, func(_ context.Context, m *Message) error {
			t.Errorf("%s comes again: the position stood still", m.Body)
			return nil
		})
		time.Sleep(5 * time.Second)
		must(t, again.end())
		close(forever)
	})
}

// Batches are of the configured size, and of a failed one only what was not done
// comes again.
func TestConcurrentBatch(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		r.create(admin.Topic{Name: "free", Queues: 1})
		fillFree(t, r, 20)
		var seen sights
		largest := 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var mu sync.Mutex
		must(t, r.client("c").ConsumeBatch(ctx, ConsumerConfig{Group: "g", Topic: "free", Order: Unordered, MaxBatch: 4}, func(_ context.Context, ms []*Message) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			largest = max(largest, len(ms))
			for i, m := range ms {
				if seen.see(m); string(m.Body) == "6" && m.Attempt == 1 {
					return i, errors.New("not this one")
				}
			}
			return len(ms), nil
		}))
		if largest != 4 {
			t.Errorf("batches of at most %d, want 4", largest)
		}
		for i := range 20 {
			got := seen.of(fmt.Sprint(i))
			if want := 1; len(got) == 0 || i != 6 && len(got) != want || i == 6 && len(got) != 2 {
				t.Errorf("message %d: %v", i, got)
			}
		}
	})
}

// At most 20 handlers run at once unless said otherwise, and that many do.
func TestConcurrentWorkers(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		fillFree(t, r, 100)
		var mu sync.Mutex
		now, most, all := 0, 0, 0
		cons := consume(t, r.client("c"), ConsumerConfig{Topic: "free", Order: Unordered}, func(context.Context, *Message) error {
			mu.Lock()
			now++
			all++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(100 * time.Millisecond)
			mu.Lock()
			now--
			mu.Unlock()
			return nil
		})
		time.Sleep(10 * time.Second)
		must(t, cons.end())
		if most != 20 || all != 100 {
			t.Errorf("%d handlers at once, %d calls", most, all)
		}
	})
}

// The attempts that the broker keeps for the group win over the member's own; its
// retries count for a member that says nothing.
func TestConcurrentGroupPolicy(t *testing.T) {
	for _, c := range []struct {
		group admin.Group
		own   int
	}{
		{admin.Group{Policy: admin.GroupPolicy{MaxAttempts: 2, Poison: "dead-letter"}}, 9},
		{admin.Group{RetryMax: 1}, 0},
	} {
		inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
			fillFree(t, r, 1)
			c.group.Name = "g"
			must(t, r.admin().CreateGroup(t.Context(), c.group))
			var seen sights
			cons := consume(t, r.client("c"), ConsumerConfig{Topic: "free", Order: Unordered, MaxAttempts: c.own}, func(_ context.Context, m *Message) error {
				seen.see(m)
				return errors.New("no")
			})
			time.Sleep(2 * time.Minute)
			must(t, cons.end())
			if got := seen.of("0"); len(got) != 2 {
				t.Errorf("%v, want two attempts", got)
			}
			if got := letters(t, r); !slices.Equal(got, []string{"0"}) {
				t.Errorf("dead letters %q", got)
			}
		})
	}
}
