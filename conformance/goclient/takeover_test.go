// SPDX-License-Identifier: Apache-2.0

package goclient

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/admin"
	"github.com/orderlymq/orderly/embed"
	"github.com/orderlymq/orderly/internal/check"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

const memberQueues = 4

// TestKilledStockMember kills one of two official consumers, both processes of
// their own, while it holds all queues; the other one is to lock them and to get
// the first message of each. Apache RocketMQ 5.5.0 takes 74 s.
func TestKilledStockMember(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fast            bool
		locked, handled time.Duration
	}{
		"default":            {false, 33 * time.Second, 37 * time.Second},
		"stock_fast_release": {true, 12 * time.Second, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, "kill")
			b.must(b.adm.CreateGroup(t.Context(), admin.Group{Name: b.group, Policy: admin.GroupPolicy{StockFastRelease: c.fast}}))
			dies := b.member("dies")
			b.awaitHolder(limit, "dies")
			stop := b.sendSteadily()
			b.await(limit, "every queue to be handled", queuesAfter(0, "dies", memberQueues))
			b.member("stays")
			b.awaitMembers(2)
			dies.Kill()
			b.rec.Killed("dies")
			killed := b.rec.Now()
			b.awaitHolder(c.locked, "stays")
			locked := b.rec.Now() - killed
			b.await(c.handled-locked, "every queue to be handed out", queuesAfter(killed, "stays", memberQueues))
			b.Logf("%s: queues locked %v after the kill (bound %v), each with a hand-out after %v (bound %v)", name,
				locked.Round(time.Millisecond), c.locked, (b.rec.Now() - killed).Round(time.Millisecond), c.handled)
			stop()
			b.await(limit, "all to be handled", allHandled)
			b.contract()
		})
	}
}

// TestStockMemberShutsDown: the official client gives its locks back before it
// commits. Those commits count, and the next member repeats nothing but what the
// first one's handlers had in hand. The client does not give back what it has
// lost in a rebalance, here half of the queues: those come when the locks expire.
func TestStockMemberShutsDown(t *testing.T) {
	t.Parallel()
	b := newBed(t, "shutdown")
	leaves := b.member("leaves")
	b.awaitHolder(limit, "leaves")
	stop := b.sendSteadily()
	b.await(limit, "every queue to be handled", queuesAfter(0, "leaves", memberQueues))
	b.member("stays")
	b.awaitMembers(2)
	rebalanced := b.rec.Now() + 2*time.Second
	b.await(limit, "its own queues to be handled after the rebalance", queuesAfter(rebalanced, "leaves", memberQueues/2))
	left := b.rec.Now()
	b.must(leaves.CloseInput())
	b.hear(leaves, "ended")
	b.await(10*time.Second, "the queues that were given back to be handed out", queuesAfter(left, "stays", memberQueues/2))
	b.Logf("the queues that were given back have hand-outs %v after the shutdown began", (b.rec.Now() - left).Round(time.Millisecond))
	stop()
	b.await(limit, "all to be handled", allHandled)
	rep := b.contract()
	again := repeats(b.rec.Calls(), rebalanced)
	b.Logf("%d messages; repeated in the rebalance: %d, by the shutdown: %d", rep.Sent, rep.Repeated-again, again)
	if again > memberQueues/2 {
		t.Errorf("%d repeats by the shutdown, of at most one message in hand for each of %d queues", again, memberQueues/2)
	}
}

// repeats counts the messages that came after a moment, and then once more.
func repeats(calls []record.Call, after time.Duration) (n int) {
	first := map[check.Message]time.Duration{}
	for _, c := range calls {
		m := check.Message{Key: c.Key, Seq: c.Seq}
		at, seen := first[m]
		if !seen {
			first[m] = c.Start
		} else if at > after {
			n++
		}
	}
	return n
}

// bed is a server, an ordered topic, a group to be and a recorder.
type bed struct {
	*testing.T
	srv          *embed.Server
	adm          *admin.Client
	rec          *record.Recorder
	topic, group string
}

func newBed(t *testing.T, topic string) *bed {
	t.Helper()
	b := &bed{T: t, srv: server(t), topic: topic, group: topic + "-group"}
	var err error
	b.adm, err = admin.Open(t.Context(), admin.Config{NameServers: []string{b.srv.NamesrvAddr()}})
	b.must(err)
	t.Cleanup(func() { _ = b.adm.Close() })
	b.must(b.adm.CreateTopic(t.Context(), admin.Topic{Name: topic, Queues: memberQueues, Ordered: true}))
	b.rec, err = record.New(t.Context(), func(record.Start) record.Act { return record.Act{Work: 5 * time.Millisecond} })
	b.must(err)
	t.Cleanup(b.rec.Close)
	return b
}

func (b *bed) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// await waits until ok is true of the record.
func (b *bed) await(within time.Duration, what string, ok func(*record.State) bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), within)
	defer cancel()
	if err := b.rec.Await(ctx, what, ok); err != nil {
		b.Fatalf("not within %v: %v", within, err)
	}
}

// awaitHolder waits until a member holds all queues.
func (b *bed) awaitHolder(within time.Duration, name string) {
	b.Helper()
	b.poll(within, name+" to hold all queues", func(g admin.GroupInfo) bool {
		held := 0
		for _, q := range g.Queues {
			if q.Lease != nil && strings.HasSuffix(q.Lease.Holder, "@"+name) {
				held++
			}
		}
		return held == memberQueues
	})
}

func (b *bed) awaitMembers(n int) {
	b.Helper()
	b.poll(limit, strconv.Itoa(n)+" members", func(g admin.GroupInfo) bool { return len(g.Members) == n })
}

// poll asks for the group until ok is true of it.
func (b *bed) poll(within time.Duration, what string, ok func(admin.GroupInfo) bool) {
	b.Helper()
	end := time.NewTimer(within)
	defer end.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		g, err := b.adm.Group(b.Context(), b.group)
		if err == nil && ok(g) {
			return
		}
		select {
		case <-tick.C:
		case <-end.C:
			b.Fatalf("waited %v for %s: %+v, %v", within, what, g, err)
		}
	}
}

// queuesAfter is a condition: a member was handed messages of so many queues
// after a moment.
func queuesAfter(at time.Duration, who string, queues int) func(*record.State) bool {
	return func(st *record.State) bool {
		seen := map[string]bool{}
		for i := len(st.Calls) - 1; i >= 0 && st.Calls[i].Start > at; i-- {
			if st.Calls[i].Consumer == who {
				seen[st.Calls[i].Queue] = true
			}
		}
		return len(seen) >= queues
	}
}

// allHandled is a condition: whatever was acknowledged was handled.
func allHandled(st *record.State) bool {
	for _, m := range st.Sends {
		if m.Acked && !st.Done[check.Message{Key: m.Key, Seq: m.Seq}] {
			return false
		}
	}
	return true
}

// contract checks O1 to O4.
func (b *bed) contract() check.Report {
	b.Helper()
	rep := check.Check(b.rec.History())
	if rep.Lost+rep.OutOfOrder+rep.Overlapping > 0 {
		b.Errorf("%d lost, %d out of order, %d overlapping:\n%s", rep.Lost, rep.OutOfOrder, rep.Overlapping, strings.Join(rep.Faults, "\n"))
	}
	return rep
}

// sendSteadily sends to the keys in turn, 40 messages a second, until it is
// stopped; then it waits for the answers.
func (b *bed) sendSteadily() (stop func()) {
	b.Helper()
	c, err := orderly.Open(b.Context(), orderly.Config{NameServers: []string{b.srv.NamesrvAddr()}})
	b.must(err)
	p, err := c.NewProducer(orderly.ProducerConfig{})
	b.must(err)
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		tick := time.NewTicker(time.Second / 40)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-tick.C:
			case <-done:
				return
			}
			key, seq := "k"+strconv.Itoa(i%keys), i/keys+1
			p.SendAsync(context.Background(), &orderly.Message{
				Topic: b.topic, OrderingKey: key, Body: []byte("body"), Properties: map[string]string{"key": key, "seq": strconv.Itoa(seq)},
			}, func(_ orderly.Receipt, err error) {
				if err != nil {
					b.Errorf("send: %v", err)
				}
				b.rec.Sent(check.Send{Key: key, Seq: seq, Acked: err == nil})
			})
		}
	})
	stop = sync.OnceFunc(func() {
		close(done)
		wg.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			b.Error(err)
		}
		_ = c.Close()
	})
	b.Cleanup(stop)
	return stop
}
