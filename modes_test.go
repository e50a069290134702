// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestManualCommit(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		fill(t, p, 1, 0, 6)
		var seen []string
		rolled := false
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- fake.client("c").ConsumeManual(ctx, ConsumerConfig{Group: "g", Topic: "t"}, func(_ context.Context, ms []*Message) (Decision, error) {
				m := ms[0]
				seen = append(seen, string(m.Body))
				switch {
				case m.Offset%3 != 2:
					return Hold, nil
				case m.Offset == 5 && !rolled:
					rolled = true
					return Rollback, nil
				}
				return Commit, nil
			})
		}()
		time.Sleep(10 * time.Second)
		cancel()
		must(t, <-done)
		want := []string{"k0:0", "k0:1", "k0:2", "k0:3", "k0:4", "k0:5", "k0:3", "k0:4", "k0:5"}
		if !slices.Equal(seen, want) {
			t.Errorf("seen %v", seen)
		}
		if got := fake.brokers["broker-a"].committed("g", "t", 0); got != 6 {
			t.Errorf("committed %d", got)
		}
	})
}

// What is held and not committed comes again.
func TestManualHoldIsNotCommitted(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		fill(t, p, 1, 0, 3)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		must(t, fake.client("c").ConsumeManual(ctx, ConsumerConfig{Group: "g", Topic: "t"}, func(context.Context, []*Message) (Decision, error) {
			return Hold, nil
		}))
		if got := fake.brokers["broker-a"].committed("g", "t", 0); got != 0 {
			t.Errorf("committed %d", got)
		}
	})
}

func TestBatchHandlerPartlyDone(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		fill(t, p, 1, 0, 10)
		var sizes []int
		var seen []string
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		cfg := ConsumerConfig{Group: "g", Topic: "t", MaxBatch: 4}
		must(t, fake.client("c").ConsumeBatch(ctx, cfg, func(_ context.Context, ms []*Message) (int, error) {
			sizes = append(sizes, len(ms))
			for i, m := range ms {
				seen = append(seen, string(m.Body))
				if m.Offset == 2 && m.Attempt == 1 {
					return i, errors.New("not yet")
				}
			}
			return len(ms), nil
		}))
		// The rest of a failed batch goes one by one, so that attempts are
		// counted for the message that fails.
		if got := firstSights(seen); len(got) != 10 || len(seen) != 12 || seen[2] != seen[3] || seen[3] != seen[4] {
			t.Errorf("sizes %v, seen %v", sizes, seen)
		}
	})
}

func TestConcurrentAndBroadcast(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		fill(t, p, 10, 0, 10)
		j, k := newJournal(), newJournal()
		dir := t.TempDir()
		one := consume(t, fake.client("c1"), ConsumerConfig{Group: "free", Order: Unordered}, j.handler(10*time.Millisecond))
		two := consume(t, fake.client("c2"), ConsumerConfig{Group: "bc", Broadcast: true, OffsetDir: dir}, k.handler(10*time.Millisecond))
		time.Sleep(10 * time.Second)
		must(t, one.end())
		must(t, two.end())
		if j.count() != 100 {
			t.Errorf("concurrent: %d hand-outs", j.count())
		}
		k.check(t, 10, 10, false)
		fill(t, p, 10, 10, 12)
		two = consume(t, fake.client("c3"), ConsumerConfig{Group: "bc", Broadcast: true, OffsetDir: dir}, k.handler(10*time.Millisecond))
		time.Sleep(5 * time.Second)
		must(t, two.end())
		k.check(t, 10, 12, false)
	})
}

func TestConfigFaultsAreNamed(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		c := fake.client("c")
		err := c.Consume(t.Context(), ConsumerConfig{Group: "a b", Topic: "", MaxCached: -1, PullBatch: 5000}, nil)
		for _, want := range []string{"Group", "Topic", "MaxCached", "PullBatch"} {
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not name %s", err, want)
			}
		}
		if err := c.Consume(t.Context(), ConsumerConfig{Group: "g", Topic: "nowhere"}, newJournal().handler(0)); !errors.Is(err, ErrTopicNotFound) {
			t.Errorf("unknown topic: %v", err)
		}
		r := consume(t, c, ConsumerConfig{}, newJournal().handler(0))
		synctest.Wait()
		if err := c.Consume(t.Context(), ConsumerConfig{Group: "g", Topic: "t"}, newJournal().handler(0)); !errors.Is(err, ErrGroupInUse) {
			t.Errorf("group twice: %v", err)
		}
		must(t, r.end())
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := Open(ctx, Config{NameServers: []string{"gone:1;gone:2"}, Dial: fake.net.Host("x").Dial}); err == nil {
			t.Error("open without a name server succeeded")
		}
		other, err := Open(ctx, Config{NameServers: []string{"gone:1;ns:9876"}, Dial: fake.net.Host("x").Dial})
		must(t, err)
		must(t, other.Close())
	})
}

func TestConsumeFromTwoBrokersAndGrowth(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		queues, err := p.c.Queues(t.Context(), "t")
		must(t, err)
		if len(queues) != 4 || queues[0].String() != "t/broker-a/0" || queues[3].String() != "t/broker-b/1" {
			t.Errorf("queues %v", queues)
		}
		j := newJournal()
		var mu sync.Mutex
		assigned := map[Queue]int{}
		cfg := ConsumerConfig{
			OnAssign: func(qs []Queue) { mu.Lock(); assigned[qs[0]]++; mu.Unlock() },
			OnRevoke: func(qs []Queue) { mu.Lock(); assigned[qs[0]]--; mu.Unlock() },
		}
		one := consume(t, fake.client("c1"), cfg, j.handler(time.Millisecond))
		two := consume(t, fake.client("c2"), cfg, j.handler(time.Millisecond))
		fill(t, p, 20, 0, 20)
		fake.mu.Lock()
		fake.topics["t"] = 3
		fake.mu.Unlock()
		time.Sleep(90 * time.Second)
		mu.Lock()
		if len(assigned) != 6 {
			t.Errorf("after the topic has grown: %d queues assigned, want 6", len(assigned))
		}
		for q, n := range assigned {
			if n != 1 {
				t.Errorf("%v is assigned %d times", q, n)
			}
		}
		mu.Unlock()
		must(t, one.end())
		must(t, two.end())
		for q, n := range assigned {
			if n != 0 {
				t.Errorf("%v is still assigned", q)
			}
		}
		j.check(t, 20, 20, false)
	}, "broker-a", "broker-b")
}

// Two processes on one machine: the second takes over a stock broker's queues
// only when the first one's locks have lapsed.
func TestStockTakeOver(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		j := newJournal()
		one := consume(t, fake.client("c1"), ConsumerConfig{}, j.handler(time.Millisecond))
		time.Sleep(5 * time.Second)
		two := consume(t, fake.client("c2"), ConsumerConfig{}, j.handler(time.Millisecond))
		time.Sleep(5 * time.Second)
		fake.net.Kill("c1")
		fake.net.Partition([]string{"c1"}, []string{"broker-a", "ns"})
		fill(t, p, 10, 0, 5)
		time.Sleep(70 * time.Second)
		j.check(t, 10, 5, false)
		must(t, two.end())
		fake.net.HealAll()
		must(t, one.end())
	})
}
