// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
)

// journal records what handlers saw, and watches that calls for one key do not
// overlap.
type journal struct {
	mu      sync.Mutex
	seen    map[string][]string // key -> bodies, in order of hand-out
	total   int
	running map[string]int
	overlap int
}

func newJournal() *journal {
	return &journal{seen: map[string][]string{}, running: map[string]int{}}
}

func (j *journal) begin(m *Message) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen[m.OrderingKey] = append(j.seen[m.OrderingKey], string(m.Body))
	j.total++
	if j.running[m.OrderingKey]++; j.running[m.OrderingKey] > 1 {
		j.overlap++
	}
}

func (j *journal) end(m *Message) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.running[m.OrderingKey]--
}

func (j *journal) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.total
}

// handler records each message and takes d for it.
func (j *journal) handler(d time.Duration) Handler {
	return func(ctx context.Context, m *Message) error {
		j.begin(m)
		defer j.end(m)
		time.Sleep(d)
		return nil
	}
}

// check wants keys k0.. with messages 0..each-1 in order; repeats only if asked.
func (j *journal) check(t *testing.T, keys, each int, repeats bool) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.overlap > 0 {
		t.Errorf("%d overlapping calls", j.overlap)
	}
	for k := range keys {
		name := fmt.Sprint("k", k)
		got := j.seen[name]
		if repeats {
			got = firstSights(got)
		}
		for i := range each {
			if i >= len(got) || got[i] != fmt.Sprintf("%s:%d", name, i) {
				t.Errorf("key %s: %v", name, j.seen[name])
				break
			}
		}
		if len(got) != each {
			t.Errorf("key %s: %d messages, want %d", name, len(got), each)
		}
	}
}

func firstSights(bodies []string) []string {
	var out []string
	for _, b := range bodies {
		if !slices.Contains(out, b) {
			out = append(out, b)
		}
	}
	return out
}

// fill sends each messages for keys k0...
func fill(t *testing.T, p *Producer, keys, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		for k := range keys {
			_, err := p.Send(t.Context(), keyed(fmt.Sprint("k", k), i))
			must(t, err)
		}
	}
}

// running is a consumer under way.
type running struct {
	t     *testing.T
	stop  context.CancelFunc
	ended chan error
}

// consume starts a consumer; wait for it with end.
func consume(t *testing.T, c *Client, cfg ConsumerConfig, h Handler) *running {
	cfg.Group, cfg.Topic = or(cfg.Group, "g"), or(cfg.Topic, "t")
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, stop: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- c.Consume(ctx, cfg, h) }()
	t.Cleanup(cancel)
	return r
}

func (r *running) end() error {
	r.stop()
	return <-r.ended
}

func TestConsumeInOrder(t *testing.T) {
	for _, order := range []Order{ByQueue, ByKey} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			inBubble(t, 4, func(t *testing.T, fake *fakeCluster) {
				p := newProducer(t, fake.client("p"), ProducerConfig{})
				fill(t, p, 10, 0, 10)
				j := newJournal()
				r := consume(t, fake.client("c"), ConsumerConfig{Order: order}, j.handler(time.Millisecond))
				fill(t, p, 10, 10, 20)
				time.Sleep(5 * time.Second)
				must(t, r.end())
				j.check(t, 10, 20, false)
				for q := range 4 {
					if got, want := fake.brokers["broker-a"].committed("g", "t", q), len(fake.brokers["broker-a"].stored("t", q)); int(got) != want {
						t.Errorf("queue %d: committed %d of %d", q, got, want)
					}
				}
			})
		})
	}
}

// After a clean stop a consumer goes on where the one before ended.
func TestRestartRepeatsNothing(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		fill(t, p, 10, 0, 20)
		j := newJournal()
		for range 5 {
			c := fake.client("c")
			r := consume(t, c, ConsumerConfig{}, j.handler(20*time.Millisecond))
			time.Sleep(300 * time.Millisecond)
			must(t, r.end())
			must(t, c.Close())
		}
		r := consume(t, fake.client("c"), ConsumerConfig{}, j.handler(20*time.Millisecond))
		time.Sleep(10 * time.Second)
		must(t, r.end())
		j.check(t, 10, 20, false)
	})
}

// Members that come and go share the queues without overlap or gap.
func TestMembersShareQueues(t *testing.T) {
	inBubble(t, 8, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		j := newJournal()
		first := consume(t, fake.client("c1"), ConsumerConfig{}, j.handler(5*time.Millisecond))
		fill(t, p, 20, 0, 20)
		second := consume(t, fake.client("c2"), ConsumerConfig{}, j.handler(5*time.Millisecond))
		fill(t, p, 20, 20, 40)
		time.Sleep(2 * time.Second)
		fill(t, p, 20, 40, 60)
		must(t, first.end())
		third := consume(t, fake.client("c3"), ConsumerConfig{}, j.handler(5*time.Millisecond))
		fill(t, p, 20, 60, 80)
		time.Sleep(10 * time.Second)
		must(t, second.end())
		time.Sleep(5 * time.Second)
		must(t, third.end())
		j.check(t, 20, 80, false)
	})
}

// D01 and D02: odd outcomes are retries in place.
func TestFailuresAreRetriedInPlace(t *testing.T) {
	odd := map[string]func() error{
		"error":     func() error { return errors.New("boom") },
		"panic":     func() error { panic("boom") },
		"suspended": func() error { return RetryAfter(time.Second, nil) },
	}
	for name, fail := range odd {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
				p := newProducer(t, fake.client("p"), ProducerConfig{})
				fill(t, p, 1, 0, 5)
				var mu sync.Mutex
				var seen []string
				r := consume(t, fake.client("c"), ConsumerConfig{}, func(_ context.Context, m *Message) error {
					mu.Lock()
					seen = append(seen, fmt.Sprint(string(m.Body), "#", m.Attempt))
					mu.Unlock()
					if m.Offset == 1 && m.Attempt < 3 {
						return fail()
					}
					return nil
				})
				begun := time.Now()
				for len(seenOf(&mu, &seen)) < 7 && time.Since(begun) < time.Minute {
					time.Sleep(10 * time.Millisecond)
				}
				if took := time.Since(begun); took < 2*time.Second || took > 6*time.Second {
					t.Errorf("took %v, want two waits of a second", took)
				}
				must(t, r.end())
				want := []string{"k0:0#1", "k0:1#1", "k0:1#2", "k0:1#3", "k0:2#1", "k0:3#1", "k0:4#1"}
				if got := seenOf(&mu, &seen); !slices.Equal(got, want) {
					t.Errorf("hand-outs %v", got)
				}
			})
		})
	}
}

func seenOf(mu *sync.Mutex, seen *[]string) []string {
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(*seen)
}

func TestTagsAreFiltered(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		tags := []string{"TagA", "TagB", "TagC", "TagD", "TagE", "", "BB", "Aa"} // the last two have one hash
		for i, tag := range tags {
			_, err := p.Send(t.Context(), &Message{Topic: "t", OrderingKey: "k", Tag: tag, Body: fmt.Append(nil, i)})
			must(t, err)
		}
		var mu sync.Mutex
		var seen []string
		r := consume(t, fake.client("c"), ConsumerConfig{Filter: Tags("TagA || TagC", "TagD||BB")}, func(_ context.Context, m *Message) error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, m.Tag)
			return nil
		})
		time.Sleep(3 * time.Second)
		must(t, r.end())
		if want := []string{"TagA", "TagC", "TagD", "BB"}; !slices.Equal(seen, want) {
			t.Errorf("got %v, want %v", seen, want)
		}
	})
}

func TestStartPositions(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		fill(t, p, 1, 0, 5)
		time.Sleep(time.Hour)
		middle := time.Now()
		fill(t, p, 1, 5, 10)
		for name, test := range map[string]struct {
			start Start
			first int
		}{
			"first": {FromFirst(), 0}, "zero": {Start{}, 0}, "last": {FromLast(), 10}, "time": {FromTime(middle), 5},
		} {
			ready := make(chan struct{})
			var first atomic.Int64
			first.Store(-1)
			r := consume(t, fake.client("c-"+name), ConsumerConfig{Group: "g-" + name, Start: test.start, Ready: func() { close(ready) }},
				func(_ context.Context, m *Message) error {
					first.CompareAndSwap(-1, m.Offset)
					return nil
				})
			<-ready
			if name == "last" {
				fill(t, p, 1, 10, 11)
			}
			time.Sleep(2 * time.Second)
			must(t, r.end())
			if got := first.Load(); got != int64(test.first) {
				t.Errorf("%s: first message %d, want %d", name, got, test.first)
			}
		}
	})
}

// Closing while a pull waits is instant; closing waits for a handler and does
// not hand out what is cached.
func TestCloseIsClean(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		j := newJournal()
		r := consume(t, fake.client("c"), ConsumerConfig{}, j.handler(3*time.Second))
		time.Sleep(5 * time.Second)
		fill(t, p, 1, 0, 5)
		time.Sleep(time.Second)
		begun := time.Now()
		must(t, r.end())
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("took %v, want the rest of the handler's 3 s", took)
		}
		if j.count() != 1 {
			t.Errorf("%d hand-outs, want 1", j.count())
		}
		if got := fake.brokers["broker-a"].committed("g", "t", 0); got != 1 {
			t.Errorf("committed %d, want 1", got)
		}
		idle := consume(t, fake.client("c2"), ConsumerConfig{Group: "idle", Start: FromLast()}, j.handler(0))
		time.Sleep(5 * time.Second)
		begun = time.Now()
		must(t, idle.end())
		if took := time.Since(begun); took > 10*time.Millisecond {
			t.Errorf("an idle consumer took %v to close", took)
		}
	})
}

// A handler that outlives CloseTimeout has its context ended; one that ignores
// even that is named.
func TestCloseTimeout(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		fill(t, p, 1, 0, 1)
		var cause error
		r := consume(t, fake.client("c"), ConsumerConfig{CloseTimeout: 2 * time.Second}, func(ctx context.Context, m *Message) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return cause
		})
		time.Sleep(time.Second)
		begun := time.Now()
		must(t, r.end())
		if took := time.Since(begun); took != 2*time.Second || !errors.Is(cause, ErrClosing) {
			t.Errorf("took %v, cause %v", took, cause)
		}
		release := make(chan struct{})
		r = consume(t, fake.client("c2"), ConsumerConfig{CloseTimeout: 2 * time.Second}, func(context.Context, *Message) error {
			<-release
			return nil
		})
		time.Sleep(time.Second)
		err := r.end()
		if ce, ok := errors.AsType[*CloseError](err); !ok || len(ce.Running) != 1 {
			t.Errorf("err = %v", err)
		}
		close(release)
	})
}

func TestHandlerTimeoutIsARetry(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		fill(t, p, 1, 0, 2)
		var causes []error
		var seen []string
		r := consume(t, fake.client("c"), ConsumerConfig{HandlerTimeout: time.Second}, func(ctx context.Context, m *Message) error {
			seen = append(seen, string(m.Body))
			if m.Offset == 0 && m.Attempt == 1 {
				<-ctx.Done()
				causes = append(causes, context.Cause(ctx))
				return context.Cause(ctx)
			}
			return nil
		})
		time.Sleep(5 * time.Second)
		must(t, r.end())
		if want := []string{"k0:0", "k0:0", "k0:1"}; !slices.Equal(seen, want) || !errors.Is(causes[0], ErrHandlerTimeout) {
			t.Errorf("seen %v, causes %v", seen, causes)
		}
	})
}

// The wait for one of Concurrency's slots is not the handler's time.
func TestHandlerTimeoutStartsWithTheCall(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		fill(t, p, 20, 0, 1)
		var cut atomic.Int32
		r := consume(t, fake.client("c"), ConsumerConfig{Concurrency: 1, HandlerTimeout: 900 * time.Millisecond}, func(ctx context.Context, m *Message) error {
			select {
			case <-time.After(800 * time.Millisecond):
			case <-ctx.Done():
				cut.Add(1)
			}
			return nil
		})
		time.Sleep(20 * time.Second)
		must(t, r.end())
		if cut.Load() > 0 {
			t.Errorf("%d calls were cut short", cut.Load())
		}
	})
}

// A stock broker that stops answering loses us after the 30 s for which its
// locks are good: contexts end, nothing more is handed out.
func TestStockLockLapses(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		fill(t, p, 1, 0, 1000)
		var last atomic.Int64
		var ended atomic.Value
		r := consume(t, fake.client("c"), ConsumerConfig{MaxCached: 65535}, func(ctx context.Context, m *Message) error {
			last.Store(time.Now().UnixNano())
			select {
			case <-time.After(370 * time.Millisecond):
			case <-ctx.Done():
				ended.Store(context.Cause(ctx))
				return ctx.Err()
			}
			return nil
		})
		time.Sleep(2 * time.Second)
		cut := time.Now()
		fake.setHook(func(b *fakeBroker, c *transport.Conn, req *wire.Command) bool { return req.Code == wire.ReqLockBatchMQ })
		time.Sleep(time.Minute)
		if got := time.Unix(0, last.Load()).Sub(cut); got > 30*time.Second || got < 20*time.Second {
			t.Errorf("last hand-out %v after the broker fell silent", got)
		}
		if err, _ := ended.Load().(error); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("cause %v", ended.Load())
		}
		fake.setHook(nil)
		time.Sleep(25 * time.Second)
		if time.Since(time.Unix(0, last.Load())) > time.Second {
			t.Error("did not go on after the broker came back")
		}
		must(t, r.end())
	})
}
