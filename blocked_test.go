// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderlymq/orderly/admin"
	"github.com/orderlymq/orderly/internal/order"
)

// admin opens an admin client that lives as long as the test.
func (r *realCluster) admin() *admin.Client {
	r.t.Helper()
	a, err := admin.Open(r.t.Context(), admin.Config{NameServers: []string{"ns:9876"}, Dial: r.net.Host("admin").Dial})
	must(r.t, err)
	r.t.Cleanup(func() { must(r.t, a.Close()) })
	return a
}

// handled records what a handler was given.
type handled struct {
	mu   sync.Mutex
	list []string
}

func (h *handled) add(m *Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, fmt.Sprint(m.OrderingKey, ":", string(m.Body), "#", m.Attempt))
}

func (h *handled) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.list, " ")
}

// put sends bodies of one key, one after the other, and returns their queue.
func put(t *testing.T, p *Producer, key string, bodies ...string) (q Queue) {
	t.Helper()
	for _, text := range bodies {
		receipt, err := p.Send(t.Context(), &Message{Topic: "t", OrderingKey: key, Body: []byte(text)})
		must(t, err)
		q = receipt.Queue
	}
	return q
}

// find returns the only listed thing with the reason, and fails without it.
func find(t *testing.T, list []admin.Blocked, why string) admin.Blocked {
	t.Helper()
	var found []admin.Blocked
	for _, b := range list {
		if strings.Contains(b.Why, why) {
			found = append(found, b)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d with %q in %+v", len(found), why, list)
	}
	return found[0]
}

// TestBlockedListsWhatWaits goes through what an operator has to be told.
func TestBlockedListsWhatWaits(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		a := r.admin()
		r.group("g", admin.GroupPolicy{MaxAttempts: 2, Poison: "park", Backoff: []time.Duration{20 * time.Second}, MaxHandlerTime: time.Hour})
		p := newProducer(t, r.client("p"), ProducerConfig{})
		blocked := func() []admin.Blocked {
			t.Helper()
			list, err := a.Blocked(t.Context(), "g")
			must(t, err)
			return list
		}
		put(t, p, "poison", "1", "2", "3")
		c := r.client("c")
		cfg := ConsumerConfig{Order: ByKey, Concurrency: 2, MemberName: "pod-0", HandlerTimeout: 30 * time.Second, CloseTimeout: time.Second}
		cons := consume(t, c, cfg, func(ctx context.Context, m *Message) error {
			switch m.OrderingKey {
			case "poison":
				return errors.New("poison")
			case "slow":
				time.Sleep(10 * time.Second)
			case "deaf":
				time.Sleep(2 * time.Minute)
			}
			return nil
		})
		time.Sleep(3 * time.Second)
		b := find(t, blocked(), "back-off")
		if b.Key != "poison" || b.Offset != 0 || b.Attempts != 1 || b.Owner != c.ID() || b.Member != "pod-0" || b.Behind != 2 ||
			b.Topic != "t" || b.Queue != 0 || b.Broker == "" || time.Since(b.Since) > 4*time.Second || time.Until(b.Next) < 15*time.Second {
			t.Errorf("back-off: %+v", b)
		}
		time.Sleep(20 * time.Second)
		if b = find(t, blocked(), "parked"); b.Key != "poison" || b.Attempts != 2 || b.Behind != 2 || !b.Next.IsZero() {
			t.Errorf("parked: %+v", b)
		}
		put(t, p, "slow", "1", "2")
		time.Sleep(500 * time.Millisecond)
		if list := blocked(); len(list) != 1 {
			t.Errorf("a handler at work for half a second is listed: %+v", list)
		}
		time.Sleep(2 * time.Second)
		if b = find(t, blocked(), "handling"); b.Key != "slow" || b.Behind != 1 || time.Since(b.Since) > 3*time.Second {
			t.Errorf("handling: %+v", b)
		}
		time.Sleep(20 * time.Second)
		put(t, p, "deaf", "1")
		time.Sleep(40 * time.Second)
		if b = find(t, blocked(), "ignores its context"); b.Key != "deaf" {
			t.Errorf("ignoring: %+v", b)
		}
		time.Sleep(2 * time.Minute)
		must(t, cons.end())
		time.Sleep(2 * time.Second)
		if b = find(t, blocked(), "no member of the group is running"); b.Offset != 0 || b.Queue != 0 || b.Owner != "" {
			t.Errorf("nobody: %+v", b)
		}
		if _, err := a.Blocked(t.Context(), "unknown"); !errors.Is(err, admin.ErrGroupNotFound) {
			t.Errorf("unknown group: %v", err)
		}
	})
}

// TestBlockedTellsOfSilentMembers: a member that does not answer is listed, and
// so is its queue once it may be another's.
func TestBlockedTellsOfSilentMembers(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		a := r.admin()
		p := newProducer(t, r.client("p"), ProducerConfig{})
		put(t, p, "k", "1")
		consume(t, r.client("c"), ConsumerConfig{}, func(ctx context.Context, _ *Message) error {
			<-ctx.Done()
			return ctx.Err()
		})
		time.Sleep(2 * time.Second)
		r.net.Cut("c", brokerHost)
		list, err := a.Blocked(t.Context())
		must(t, err)
		find(t, list, "the member does not answer")
	})
}

// TestVerbs gives each order to the member that has the message.
func TestVerbs(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		a := r.admin()
		r.group("g", admin.GroupPolicy{Backoff: []time.Duration{30 * time.Second}})
		p := newProducer(t, r.client("p"), ProducerConfig{})
		for _, key := range []string{"retry", "letter", "park"} {
			put(t, p, key, "1", "2")
		}
		var seen handled
		var broken atomic.Bool
		broken.Store(true)
		cons := consume(t, r.client("c"), ConsumerConfig{Order: ByKey}, func(_ context.Context, m *Message) error {
			seen.add(m)
			if string(m.Body) == "1" && broken.Load() {
				return errors.New("not now")
			}
			return nil
		})
		time.Sleep(time.Second)
		do := func(verb admin.Verb, offset int64) string {
			t.Helper()
			said, err := a.Do(t.Context(), verb, admin.Message{Group: "g", Topic: "t", Offset: offset})
			must(t, err)
			time.Sleep(time.Second)
			return said
		}
		refused := func(want string, verb admin.Verb, m admin.Message) {
			t.Helper()
			if said, err := a.Do(t.Context(), verb, m); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %+v: %q, %v; want %q", verb, m, said, err, want)
			}
		}
		do(admin.Retry, 0)
		if got := seen.String(); strings.Count(got, "retry:1#1") != 1 || !strings.HasSuffix(got, "retry:1#2") {
			t.Errorf("after retry: %s", got)
		}
		do(admin.DeadLetter, 2)
		if got := seen.String(); !strings.HasSuffix(got, "letter:2#1") {
			t.Errorf("after dead-letter: %s", got)
		}
		refused("not parked", admin.Resume, admin.Message{Group: "g", Topic: "t", Offset: 4})
		if said := do(admin.Park, 4); !strings.Contains(said, "parked") {
			t.Errorf("park: %q", said)
		}
		time.Sleep(time.Minute)
		if got := seen.String(); strings.Count(got, "park:") != 1 {
			t.Errorf("a parked key goes on: %s", got)
		}
		broken.Store(false)
		do(admin.Resume, 4)
		if got := seen.String(); !strings.HasSuffix(got, "park:1#1 park:2#1") {
			t.Errorf("after resume: %s", got)
		}
		refused("not the first unfinished", admin.Retry, admin.Message{Group: "g", Topic: "t", Offset: 5})
		refused("not the first unfinished", admin.Retry, admin.Message{Group: "g", Topic: "t", Offset: 999})
		refused("nobody of group", admin.Retry, admin.Message{Group: "g", Topic: "t", Queue: 7})
		refused("nobody of group", admin.Retry, admin.Message{Group: "none", Topic: "t"})
		refused("not online", admin.Retry, admin.Message{Group: "g", Topic: "t", Owner: "somebody"})
		refused("no verb", "burn", admin.Message{Group: "g", Topic: "t"})
		must(t, cons.end())
		dead, err := r.client("d").routes.get(t.Context(), "%DLQ%g")
		if err != nil || dead == nil {
			t.Errorf("dead letters: %v", err)
		}
	})
}

// TestReleaseFencesTheHolder takes a queue from a member that runs a handler.
func TestReleaseFencesTheHolder(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		a := r.admin()
		p := newProducer(t, r.client("p"), ProducerConfig{})
		put(t, p, "k", "1")
		fences, causes := make(chan uint64, 9), make(chan error, 1)
		cons := consume(t, r.client("c"), ConsumerConfig{}, func(ctx context.Context, m *Message) error {
			fences <- m.Fence
			if len(fences) == 1 {
				<-ctx.Done()
				causes <- context.Cause(ctx)
			}
			return nil // the first time too late: it does not count
		})
		time.Sleep(2 * time.Second)
		said, err := a.Release(t.Context(), "g", "t", "", 0)
		must(t, err)
		if !strings.Contains(said, "taken from") {
			t.Errorf("said %q", said)
		}
		time.Sleep(5 * time.Second)
		if len(fences) != 2 {
			t.Fatalf("%d hand-outs", len(fences))
		}
		if first, second, cause := <-fences, <-fences, <-causes; second <= first || !errors.Is(cause, ErrLeaseLost) {
			t.Errorf("fences %d, %d, cause %v", first, second, cause)
		}
		if _, err := a.Release(t.Context(), "g", "t", "", 5); err == nil {
			t.Error("a queue that nobody holds was taken")
		}
		if _, err := a.Release(t.Context(), "none", "t", "", 0); err == nil {
			t.Error("a queue of no group was taken")
		}
		must(t, cons.end())
	})
}

// TestWatchdogRepairsALostWakeUp takes the wake-up away that a finished handler
// gives to its queue, and the answer to a pull.
func TestWatchdogRepairsALostWakeUp(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		p := newProducer(t, r.client("p"), ProducerConfig{})
		c := r.client("c")
		var seen handled
		cons := consume(t, c, ConsumerConfig{}, func(_ context.Context, m *Message) error {
			seen.add(m)
			return nil
		})
		put(t, p, "k", "1")
		time.Sleep(time.Second)
		m := c.member("g")
		lanes := make(chan *lane, 1)
		m.do(func() {
			for _, l := range m.lanes {
				lanes <- l
			}
		})
		l := <-lanes
		numb := func(on bool) {
			l.box.mu.Lock()
			defer l.box.mu.Unlock()
			l.box.numb = on
		}
		numb(true)
		put(t, p, "k", "2")
		time.Sleep(2 * time.Second)
		if got := seen.String(); got != "k:1#1" {
			t.Fatalf("the wake-up is not gone: %s", got)
		}
		numb(false)
		time.Sleep(3 * watchEvery)
		if got := seen.String(); got != "k:1#1 k:2#1" || m.rescues.Load() != 1 {
			t.Errorf("handled %s, %d rescues", got, m.rescues.Load())
		}
		put(t, p, "k", "3")
		time.Sleep(time.Second)
		if got := seen.String(); got != "k:1#1 k:2#1 k:3#1" || m.rescues.Load() != 1 {
			t.Errorf("afterwards: handled %s, %d rescues", got, m.rescues.Load())
		}
		must(t, cons.end())
	})
}

// TestEveryReasonHasAWayOut wants each reason for which something waits in a
// member explained to operators.
func TestEveryReasonHasAWayOut(t *testing.T) {
	page, err := os.ReadFile("docs/operations.md")
	must(t, err)
	n := 0
	for w := order.LaneWhy(0); w.String() != "unknown"; w++ {
		n++
		if !strings.Contains(string(page), w.String()) {
			t.Errorf("docs/operations.md does not speak of %q", w)
		}
	}
	for w := order.ClaimWhy(0); w.String() != "unknown"; w++ {
		n++
		first, _, _ := strings.Cut(strings.TrimPrefix(w.String(), "its "), ":")
		if !strings.Contains(string(page), strings.Join(strings.Fields(first)[:2], " ")) {
			t.Errorf("docs/operations.md does not speak of %q", w)
		}
	}
	if n < 22 {
		t.Errorf("%d reasons", n)
	}
}
