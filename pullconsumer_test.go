// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

func newPull(t *testing.T, c *Client, cfg PullConsumerConfig) *PullConsumer {
	t.Helper()
	cfg.Group = or(cfg.Group, "g")
	p, err := c.NewPullConsumer(cfg)
	must(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// pollN polls until it has n messages, and returns their bodies.
func pollN(t *testing.T, p *PullConsumer, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var got []string
	for len(got) < n {
		ms, err := p.Poll(ctx, n-len(got))
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		for _, m := range ms {
			got = append(got, string(m.Body))
		}
	}
	return got
}

// nothing asserts that a poll finds nothing for a while.
func nothing(t *testing.T, p *PullConsumer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if ms, err := p.Poll(ctx, 10); len(ms) > 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%d messages, %v", len(ms), err)
	}
}

func bodies(key string, from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("%s:%d", key, i))
	}
	return out
}

func wantBodies(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func wantCommitted(t *testing.T, p *PullConsumer, q Queue, want int64) {
	t.Helper()
	if got, err := p.Committed(t.Context(), q); err != nil || got != want {
		t.Fatalf("committed %d, %v; want %d", got, err, want)
	}
}

// queueOf is the one queue of topic t.
var queueOf = Queue{Topic: "t", Broker: "broker-a"}

// everyCluster runs f at our broker and at a stock one, with a topic of one
// queue and n messages of key k0.
func everyCluster(t *testing.T, n int, f func(t *testing.T, client func(string) *Client, p *Producer)) {
	t.Run("ours", func(t *testing.T) {
		inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
			p := newProducer(t, r.client("p"), ProducerConfig{})
			fill(t, p, 1, 0, n)
			f(t, r.client, p)
		})
	})
	t.Run("stock", func(t *testing.T) {
		inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
			p := newProducer(t, fake.client("p"), ProducerConfig{})
			fill(t, p, 1, 0, n)
			f(t, fake.client, p)
		})
	})
}

// What was polled is committed when the reader says so, or by a later poll; a
// new reader begins there.
func TestPullCommits(t *testing.T) {
	everyCluster(t, 10, func(t *testing.T, client func(string) *Client, _ *Producer) {
		p := newPull(t, client("c"), PullConsumerConfig{AutoCommit: -1})
		must(t, p.Subscribe(t.Context(), "t", Tags()))
		wantBodies(t, pollN(t, p, 4), bodies("k0", 0, 4))
		wantCommitted(t, p, queueOf, 0)
		must(t, p.Commit(t.Context()))
		wantCommitted(t, p, queueOf, 4)
		wantBodies(t, pollN(t, p, 4), bodies("k0", 4, 8))
		must(t, p.CommitTo(t.Context(), map[Queue]int64{queueOf: 6}))
		wantCommitted(t, p, queueOf, 6)
		must(t, p.CommitTo(t.Context(), map[Queue]int64{queueOf: 5})) // never back
		wantCommitted(t, p, queueOf, 6)
		if err := p.CommitTo(t.Context(), map[Queue]int64{queueOf: 9}); !errors.Is(err, ErrInvalid) {
			t.Fatalf("commit past what was polled: %v", err)
		}
		if at, err := p.Position(queueOf); at != 8 || err != nil {
			t.Fatalf("position %d, %v", at, err)
		}
		must(t, p.Close())
		if _, err := p.Poll(t.Context(), 1); !errors.Is(err, ErrClosed) {
			t.Fatalf("poll after Close: %v", err)
		}
		p = newPull(t, client("c2"), PullConsumerConfig{})
		must(t, p.Subscribe(t.Context(), "t", Tags()))
		wantBodies(t, pollN(t, p, 4), bodies("k0", 6, 10))
		must(t, p.Close()) // commits what was polled
		p = newPull(t, client("c3"), PullConsumerConfig{})
		must(t, p.Assign(t.Context(), queueOf))
		wantCommitted(t, p, queueOf, 10)
	})
}

// Auto-commit never covers what the last poll returned: the caller may die with
// it.
func TestPullAutoCommit(t *testing.T) {
	everyCluster(t, 10, func(t *testing.T, client func(string) *Client, _ *Producer) {
		p := newPull(t, client("c"), PullConsumerConfig{AutoCommit: time.Second})
		must(t, p.Assign(t.Context(), queueOf))
		wantBodies(t, pollN(t, p, 3), bodies("k0", 0, 3))
		time.Sleep(5 * time.Second)
		wantCommitted(t, p, queueOf, 0)
		wantBodies(t, pollN(t, p, 3), bodies("k0", 3, 6))
		time.Sleep(2 * time.Second)
		wantCommitted(t, p, queueOf, 3)
	})
}

func TestPullSeek(t *testing.T) {
	everyCluster(t, 10, func(t *testing.T, client func(string) *Client, prod *Producer) {
		p := newPull(t, client("c"), PullConsumerConfig{})
		must(t, p.Assign(t.Context(), queueOf))
		wantBodies(t, pollN(t, p, 6), bodies("k0", 0, 6))
		must(t, p.Seek(t.Context(), queueOf, 2))
		wantCommitted(t, p, queueOf, 2)
		wantBodies(t, pollN(t, p, 8), bodies("k0", 2, 10))
		must(t, p.SeekBegin(t.Context(), queueOf))
		wantBodies(t, pollN(t, p, 1), bodies("k0", 0, 1))
		must(t, p.SeekEnd(t.Context(), queueOf))
		time.Sleep(time.Second)
		at := time.Now()
		fill(t, prod, 1, 10, 12)
		wantBodies(t, pollN(t, p, 2), bodies("k0", 10, 12))
		must(t, p.SeekTime(t.Context(), queueOf, at))
		wantBodies(t, pollN(t, p, 2), bodies("k0", 10, 12))
		if err := p.Seek(t.Context(), Queue{Topic: "t", Broker: "broker-a", ID: 7}, 0); !errors.Is(err, ErrNotAssigned) {
			t.Fatalf("seek elsewhere: %v", err)
		}
	})
}

// A poll that waits wakes at once, and a close ends it at once.
func TestPullWakesAtOnce(t *testing.T) {
	everyCluster(t, 1, func(t *testing.T, client func(string) *Client, prod *Producer) {
		p := newPull(t, client("c"), PullConsumerConfig{})
		must(t, p.Assign(t.Context(), queueOf))
		wantBodies(t, pollN(t, p, 1), bodies("k0", 0, 1))
		woken := make(chan error, 1)
		poll := func() {
			_, err := p.Poll(t.Context(), 5)
			woken <- err
		}
		go poll()
		time.Sleep(2 * time.Second)
		sent := time.Now()
		fill(t, prod, 1, 1, 2)
		must(t, <-woken)
		if took := time.Since(sent); took > 50*time.Millisecond {
			t.Errorf("woken after %v", took)
		}
		go poll()
		time.Sleep(2 * time.Second)
		closed := time.Now()
		done := make(chan error, 1)
		go func() { done <- p.Close() }()
		if err := <-woken; !errors.Is(err, ErrClosed) || time.Since(closed) > 0 {
			t.Errorf("poll ended after %v with %v", time.Since(closed), err)
		}
		must(t, <-done)
	})
}

func TestPullPause(t *testing.T) {
	everyCluster(t, 10, func(t *testing.T, client func(string) *Client, _ *Producer) {
		p := newPull(t, client("c"), PullConsumerConfig{})
		p.Pause(queueOf)
		must(t, p.Assign(t.Context(), queueOf))
		nothing(t, p)
		p.Resume(queueOf)
		wantBodies(t, pollN(t, p, 2), bodies("k0", 0, 2))
		time.Sleep(time.Second) // the next ones lie ready
		p.Pause(queueOf)
		nothing(t, p)
		p.Resume(queueOf)
		wantBodies(t, pollN(t, p, 8), bodies("k0", 2, 10))
	})
}

// Two readers of a group never have one queue: by hand the second one waits, and
// is told who has it.
func TestPullOneReaderPerQueue(t *testing.T) {
	everyCluster(t, 4, func(t *testing.T, client func(string) *Client, _ *Producer) {
		one := newPull(t, client("c1"), PullConsumerConfig{})
		must(t, one.Assign(t.Context(), queueOf))
		wantBodies(t, pollN(t, one, 2), bodies("k0", 0, 2))
		two := newPull(t, client("c2"), PullConsumerConfig{})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := two.Assign(ctx, queueOf)
		held, ok := errors.AsType[*QueueHeldError](err)
		if !ok || !errors.Is(err, ErrQueueHeld) || held.Queue != queueOf {
			t.Fatalf("assign of a queue that is held: %v", err)
		}
		nothing(t, two)
		must(t, one.Close())
		wantBodies(t, pollN(t, two, 2), bodies("k0", 2, 4))
	})
}

// A queue moves to another member only when its reader has let go of what it has.
func TestPullMoves(t *testing.T) {
	inRealBubble(t, 2, func(t *testing.T, r *realCluster) {
		prod := newProducer(t, r.client("p"), ProducerConfig{})
		fill(t, prod, 8, 0, 5)
		var given []Queue
		one := newPull(t, r.client("c1"), PullConsumerConfig{PullBatch: 1, OnRevoke: func(qs []Queue) { given = append(given, qs...) }})
		must(t, one.Subscribe(t.Context(), "t", Tags()))
		time.Sleep(time.Second)
		ms, err := one.Poll(t.Context(), 2)
		must(t, err)
		if len(ms) != 2 || ms[0].Queue == ms[1].Queue || ms[0].Fence == 0 {
			t.Fatalf("want one message of each queue, got %v", ms)
		}
		two := newPull(t, r.client("c2"), PullConsumerConfig{})
		must(t, two.Subscribe(t.Context(), "t", Tags()))
		nothing(t, two)
		seen := map[string]int{}
		drain := func(p *PullConsumer) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			for {
				ms, err := p.Poll(ctx, 10)
				for _, m := range ms {
					seen[string(m.Body)]++
				}
				if err != nil {
					return
				}
			}
		}
		drain(one)
		drain(two)
		if len(given) != 1 || len(one.Assignment()) != 1 || len(two.Assignment()) != 1 {
			t.Errorf("revoked %v, now %v and %v", given, one.Assignment(), two.Assignment())
		}
		if len(seen) != 38 {
			t.Errorf("%d messages after the first two, want 38", len(seen))
		}
		for body, n := range seen {
			if n > 1 {
				t.Errorf("%s was read %d times", body, n)
			}
		}
	})
}

// A reader that is cut off is told so, and is powerless; the next one begins at
// what was committed.
func TestPullLoss(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		prod := newProducer(t, r.client("p"), ProducerConfig{})
		fill(t, prod, 1, 0, 10)
		one := newPull(t, r.client("c1"), PullConsumerConfig{AutoCommit: -1, PullBatch: 4})
		must(t, one.Assign(t.Context(), queueOf))
		wantBodies(t, pollN(t, one, 2), bodies("k0", 0, 2))
		must(t, one.Commit(t.Context()))
		wantBodies(t, pollN(t, one, 2), bodies("k0", 2, 4))
		r.net.Cut("c1", brokerHost)
		two := newPull(t, r.client("c2"), PullConsumerConfig{})
		must(t, two.Assign(t.Context(), queueOf))
		nothing(t, one)
		wantBodies(t, pollN(t, two, 8), bodies("k0", 2, 10))
		r.net.Heal("c1", brokerHost)
		time.Sleep(5 * time.Second)
		lost := false
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			ms, err := one.Poll(ctx, 10)
			cancel()
			if q, ok := errors.AsType[*QueueLostError](err); ok {
				lost = q.Queue == queueOf && errors.Is(err, ErrLeaseLost)
			}
			if len(ms) > 0 {
				t.Fatalf("the former reader gets %s", ms[0].Body)
			}
		}
		if !lost {
			t.Error("the loss was not told")
		}
		must(t, two.Close())
		time.Sleep(2 * time.Second) // the former reader still wants the queue
		wantCommitted(t, one, queueOf, 10)
	})
}

// Modes do not mix, and a filter is the reader's.
func TestPullFilterAndModes(t *testing.T) {
	everyCluster(t, 0, func(t *testing.T, client func(string) *Client, prod *Producer) {
		for i := range 6 {
			m := keyed("k0", i)
			m.Tag = []string{"a", "b"}[i%2]
			_, err := prod.Send(t.Context(), m)
			must(t, err)
		}
		p := newPull(t, client("c"), PullConsumerConfig{})
		must(t, p.Subscribe(t.Context(), "t", Tags("b")))
		wantBodies(t, pollN(t, p, 3), []string{"k0:1", "k0:3", "k0:5"})
		if err := p.Assign(t.Context(), queueOf); !errors.Is(err, ErrInvalid) {
			t.Errorf("assign after subscribe: %v", err)
		}
		must(t, p.Commit(t.Context()))
		wantCommitted(t, p, queueOf, 6)
		if qs, err := p.Queues(t.Context(), "t"); err != nil || !slices.Equal(qs, []Queue{queueOf}) {
			t.Errorf("queues %v, %v", qs, err)
		}
		if _, err := p.c.NewPullConsumer(PullConsumerConfig{Group: "g"}); !errors.Is(err, ErrGroupInUse) {
			t.Errorf("a second consumer of the group: %v", err)
		}
		if _, err := p.c.NewPullConsumer(PullConsumerConfig{Group: "a b", PullBatch: 5000}); !errors.Is(err, ErrInvalid) {
			t.Errorf("bad configuration: %v", err)
		}
	})
}

// A reader that stays away while its queue is to move is listed.
func TestPullReaderAwayIsListed(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		prod := newProducer(t, r.client("p"), ProducerConfig{})
		fill(t, prod, 1, 0, 5)
		p := newPull(t, r.client("c"), PullConsumerConfig{})
		must(t, p.Subscribe(t.Context(), "t", Tags()))
		wantBodies(t, pollN(t, p, 1), bodies("k0", 0, 1))
		time.Sleep(10 * time.Second)
		list, err := r.admin().Blocked(t.Context(), "g")
		must(t, err)
		if len(list) == 0 || list[0].Queue != 0 || list[0].Offset != 0 {
			t.Errorf("listed: %+v", list)
		}
		if n := p.c.Rescues(); n != 0 {
			t.Errorf("%d rescues by the watchdog", n)
		}
	})
}

// What is read ahead is bounded, however long nobody polls.
func TestPullCacheIsBounded(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		prod := newProducer(t, r.client("p"), ProducerConfig{})
		fill(t, prod, 1, 0, 100)
		p := newPull(t, r.client("c"), PullConsumerConfig{MaxCached: 10, PullBatch: 4})
		must(t, p.Assign(t.Context(), queueOf))
		time.Sleep(5 * time.Second)
		v, ok := p.box.lanes()[0].view(t.Context())
		if !ok || v.state.Cached < 10 || v.state.Cached > 10+4 {
			t.Errorf("%d messages read ahead, want 10 and at most one pull more", v.state.Cached)
		}
		wantBodies(t, pollN(t, p, 100), bodies("k0", 0, 100))
	})
}

// A restart of the broker takes nothing from a reader: it goes on where it was,
// under its lease.
func TestPullOverARestart(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		prod := newProducer(t, r.client("p"), ProducerConfig{})
		fill(t, prod, 1, 0, 10)
		p := newPull(t, r.client("c"), PullConsumerConfig{AutoCommit: -1})
		must(t, p.Assign(t.Context(), queueOf))
		wantBodies(t, pollN(t, p, 4), bodies("k0", 0, 4))
		r.stopBroker()
		time.Sleep(time.Second)
		r.startBroker()
		wantBodies(t, pollN(t, p, 6), bodies("k0", 4, 10))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		must(t, p.Commit(ctx))
		wantCommitted(t, p, queueOf, 10)
	})
}

// An operator's reset is told to the reader, which goes on there.
func TestPullReset(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		prod := newProducer(t, r.client("p"), ProducerConfig{})
		fill(t, prod, 1, 0, 10)
		p := newPull(t, r.client("c"), PullConsumerConfig{})
		must(t, p.Assign(t.Context(), queueOf))
		wantBodies(t, pollN(t, p, 10), bodies("k0", 0, 10))
		must(t, p.Commit(t.Context()))
		b, err := p.broker(queueOf)
		must(t, err)
		must(t, b.reset(t.Context(), "g", queueOf, 3))
		time.Sleep(time.Second)
		if _, err := p.Poll(t.Context(), 10); !errors.Is(err, ErrLeaseLost) {
			t.Fatalf("poll after a reset: %v", err)
		}
		wantBodies(t, pollN(t, p, 7), bodies("k0", 3, 10))
	})
}

// TestPullCommitOfAMovingQueue: a reader that works on a message while its queue
// is asked for by another member commits it, and nobody gets it again.
func TestPullCommitOfAMovingQueue(t *testing.T) {
	inRealBubble(t, 4, func(t *testing.T, r *realCluster) {
		p := newProducer(t, r.client("p"), ProducerConfig{})
		fill(t, p, 8, 0, 40)
		var mu sync.Mutex
		seen := map[string]int{}
		var readers sync.WaitGroup
		for i := range 6 {
			c, err := r.client(fmt.Sprint("c", i)).NewPullConsumer(PullConsumerConfig{Group: "g", AutoCommit: -1})
			must(t, err)
			must(t, c.Subscribe(t.Context(), "t", Tags()))
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			readers.Go(func() {
				defer stop()
				for {
					ms, err := c.Poll(ctx, 1)
					if err != nil {
						break
					}
					mu.Lock()
					seen[ms[0].ID]++
					mu.Unlock()
					time.Sleep(7 * time.Millisecond)
					must(t, c.Commit(t.Context()))
				}
				must(t, c.Close())
			})
			time.Sleep(50 * time.Millisecond)
		}
		readers.Wait()
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s was polled %d times", id, n)
			}
		}
		if len(seen) != 320 {
			t.Errorf("%d of 320 messages", len(seen))
		}
	})
}
