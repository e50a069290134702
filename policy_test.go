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
)

// group stores a group's policy.
func (r *realCluster) group(name string, p admin.GroupPolicy) {
	r.t.Helper()
	a, err := admin.Open(r.t.Context(), admin.Config{NameServers: []string{"ns:9876"}, Dial: r.net.Host("admin").Dial})
	must(r.t, err)
	must(r.t, a.CreateGroup(r.t.Context(), admin.Group{Name: name, Policy: p}))
	must(r.t, a.Close())
}

// TestGroupPolicyWins: what the broker keeps of a group's wishes counts, whatever
// a member's own configuration says.
func TestGroupPolicyWins(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		r.group("g", admin.GroupPolicy{MaxAttempts: 3, Poison: "dead-letter", Backoff: []time.Duration{2 * time.Second, 5 * time.Second}})
		p := newProducer(t, r.client("p"), ProducerConfig{})
		fill(t, p, 1, 0, 3)
		var seen []string
		var times []time.Time
		cons := consume(t, r.client("c"), ConsumerConfig{
			MaxAttempts: 9, Backoff: func(int) time.Duration { return 20 * time.Millisecond },
		}, func(_ context.Context, m *Message) error {
			seen = append(seen, fmt.Sprint(string(m.Body), "#", m.Attempt))
			times = append(times, time.Now())
			if m.Offset == 1 {
				return errors.New("poison")
			}
			return nil
		})
		time.Sleep(20 * time.Second)
		must(t, cons.end())
		if want := "[k0:0#1 k0:1#1 k0:1#2 k0:1#3 k0:2#1]"; fmt.Sprint(seen) != want {
			t.Fatalf("hand-outs %v, want %s", seen, want)
		}
		if a, b := times[2].Sub(times[1]).Round(time.Second), times[3].Sub(times[2]).Round(time.Second); a != 2*time.Second || b != 5*time.Second {
			t.Errorf("attempts %v and %v apart", a, b)
		}
	})
}

// TestHandlerThatTakesItsProcessAlongIsNotTriedForEver kills each member that
// tries a message, before it can report anything.
func TestHandlerThatTakesItsProcessAlongIsNotTriedForEver(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		r.group("g", admin.GroupPolicy{MaxAttempts: 3, Poison: "dead-letter"})
		p := newProducer(t, r.client("p"), ProducerConfig{})
		fill(t, p, 1, 0, 3)
		var tries, after atomic.Int32
		for i := range 6 {
			host := fmt.Sprint("c", i)
			died := make(chan struct{})
			cons := consume(t, r.client(host), ConsumerConfig{CloseTimeout: time.Second}, func(ctx context.Context, m *Message) error {
				if m.Offset > 0 {
					after.Add(1)
				}
				if m.Offset != 0 {
					return nil
				}
				tries.Add(1)
				r.kill(host)
				close(died)
				<-ctx.Done()
				return ctx.Err()
			})
			select {
			case <-died:
			case <-time.After(20 * time.Second):
			}
			_ = cons.end() // a dead process has no last word
			if after.Load() > 0 {
				break
			}
		}
		if n := tries.Load(); n < 2 || n > 4 {
			t.Errorf("tried %d times, want 3, one more or less", n)
		}
		if after.Load() != 2 {
			t.Errorf("%d messages behind it were handled, want 2", after.Load())
		}
	})
}

// TestShorterGraceOverlapsNothing makes a group's times shorter while a queue is
// held, and cuts its owner off before it has heard of it.
func TestShorterGraceOverlapsNothing(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		r.group("g", admin.GroupPolicy{Grace: 8 * time.Second})
		fill(t, newProducer(t, r.client("p"), ProducerConfig{}), 1, 0, 1)
		var running, began atomic.Int32
		handle := func(ctx context.Context, _ *Message) error {
			if began.Add(1); running.Add(1) > 1 {
				t.Error("two calls at a time")
			}
			defer running.Add(-1)
			<-ctx.Done()
			return ctx.Err()
		}
		one := consume(t, r.client("c1"), ConsumerConfig{CloseTimeout: time.Second}, handle)
		time.Sleep(3 * time.Second)
		two := consume(t, r.client("c2"), ConsumerConfig{CloseTimeout: time.Second}, handle)
		time.Sleep(3 * time.Second)
		r.group("g", admin.GroupPolicy{Grace: 250 * time.Millisecond})
		time.Sleep(time.Second)
		r.kill("c1") // its links; the process lives on
		time.Sleep(12 * time.Second)
		if began.Load() < 2 {
			t.Error("nobody took the queue over")
		}
		_, _ = one.end(), two.end()
	})
}
