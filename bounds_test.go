// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	brokerd "github.com/orderlymq/orderly/internal/broker"
	"github.com/orderlymq/orderly/internal/check"
)

// The times that docs/ordering.md promises, in simulated time, with the default
// grace and lease time.
const (
	grace = time.Second
	lease = 10 * time.Second
	slack = 200 * time.Millisecond
)

// bounds is a group under load: 4 queues, 8 keys, each sent to every 100 ms.
type bounds struct {
	*ledger
	r       *realCluster
	stop    func()
	members map[string]*running
}

func inBounds(t *testing.T, f func(t *testing.T, b *bounds)) {
	inRealBubble(t, 4, func(t *testing.T, r *realCluster) {
		b := &bounds{ledger: newLedger(t), r: r, members: map[string]*running{}}
		b.stop = b.flow(newProducer(t, r.client("p"), ProducerConfig{}), 8, 100*time.Millisecond)
		f(t, b)
	})
}

// join starts a member whose calls take d.
func (b *bounds) join(name string, cfg ConsumerConfig, d time.Duration) {
	b.members[name] = consume(b.t, b.r.client(name), b.watch(name, cfg), b.handler(name, d))
}

// end stops the flow and the members when all is handled, and judges.
func (b *bounds) end() check.Report {
	b.t.Helper()
	b.stop()
	time.Sleep(2 * time.Second)
	var closing sync.WaitGroup
	for name, m := range b.members {
		closing.Go(func() {
			if err := m.end(); err != nil {
				b.t.Errorf("%s: %v", name, err)
			}
		})
	}
	closing.Wait()
	b.fences()
	return b.judge()
}

// follows wants each of the queues, which one member had, to be started by
// another one within a time of the moment from, and not before it.
func (b *bounds) follows(queues []Queue, had string, from, within time.Duration) {
	b.t.Helper()
	if len(queues) == 0 {
		b.t.Fatalf("%s had no queue", had)
	}
	var worst time.Duration
	for _, q := range queues {
		at, ok := b.next(q, from, had)
		if worst = max(worst, at-from); !ok || at-from > within {
			b.t.Errorf("%v was started by another member after %v (%v), want at most %v", q, at-from, ok, within)
		}
	}
	b.t.Logf("%d queues of %s started by others, the last one after %v", len(queues), had, worst)
}

// An owner that dies, falls silent or stands still is followed in time.
func TestRealBoundsOfTakeOver(t *testing.T) {
	for _, test := range []struct {
		name   string
		fault  func(b *bounds)
		within time.Duration
	}{
		{"killed", func(b *bounds) { b.kill("c1"); b.r.kill("c1") }, grace + slack},
		{"cable pulled", func(b *bounds) { b.r.net.Cut("c1", brokerHost) }, lease + grace},
		{"nothing to the broker", func(b *bounds) { b.r.net.Block("c1", brokerHost) }, lease + grace},
		{"nothing from the broker", func(b *bounds) { b.r.net.Block(brokerHost, "c1") }, lease + grace},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBounds(t, func(t *testing.T, b *bounds) {
				for _, name := range []string{"c1", "c2", "c3"} {
					b.join(name, ConsumerConfig{}, 2*time.Millisecond)
				}
				time.Sleep(5 * time.Second)
				queues, at := b.ownedBy("c1"), b.now()
				test.fault(b)
				time.Sleep(test.within + time.Second)
				b.follows(queues, "c1", at, test.within)
				b.mu.Lock()
				for i, c := range b.history.Calls { // what the former owner did before others began
					if c.Consumer == "c1" && c.Start > at+grace/2+slack && c.Start < at+test.within && !b.dead["c1"] {
						t.Errorf("the silent owner began a call %v after the fault, for %v", c.Start-at, b.calls[i].queue)
						break
					}
				}
				b.mu.Unlock()
				b.r.net.HealAll()
				b.mu.Lock()
				b.history.Outages = append(b.history.Outages, check.Outage{From: at, To: b.now(), Consumer: "c1"})
				b.mu.Unlock()
				time.Sleep(3 * time.Second)
				b.end()
			})
		})
	}
}

// gate lets nobody pass while it is shut.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // nil: open
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.opened)
	g.opened = nil
}

func (g *gate) pass() {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	if opened != nil {
		<-opened
	}
}

// A process that stood still for 15 s finds its queues taken: it begins nothing
// under its old leases, its running call's context has ended, and its word
// counts for nothing.
func TestRealBoundsFrozenAndWoken(t *testing.T) {
	inBounds(t, func(t *testing.T, b *bounds) {
		var still gate
		start := time.Now()
		cfg := b.r.config("c1")
		cfg.mono = func() time.Duration {
			still.pass()
			return time.Since(start)
		}
		c1, err := Open(t.Context(), cfg)
		must(t, err)
		t.Cleanup(func() { must(t, c1.Close()) })
		b.members["c1"] = consume(t, c1, b.watch("c1", ConsumerConfig{}), b.record("c1", func(ctx context.Context, _ *Message) error {
			begun := time.Now()
			time.Sleep(2 * time.Millisecond)
			still.pass()
			if time.Since(begun) > time.Second { // woken
				select {
				case <-ctx.Done():
				case <-time.After(slack):
				}
			}
			return nil
		}))
		b.join("c2", ConsumerConfig{}, 2*time.Millisecond)
		time.Sleep(5 * time.Second)
		queues := b.ownedBy("c1")
		time.Sleep(time.Millisecond) // into a call, as like as not
		at := b.now()
		b.r.net.Freeze("c1")
		still.shut()
		time.Sleep(15 * time.Second)
		b.mu.Lock()
		b.history.Pauses = append(b.history.Pauses, check.Pause{Consumer: "c1", From: at, To: b.now()})
		b.mu.Unlock()
		b.follows(queues, "c1", at, lease+grace)
		still.open()
		b.r.net.Thaw("c1")
		woken := b.now()
		time.Sleep(5 * time.Second)
		if len(b.ownedBy("c1")) != 2 {
			t.Errorf("c1 has %d queues again", len(b.ownedBy("c1")))
		}
		rep := b.end() // with the check that no call came under an older fence
		b.mu.Lock()
		defer b.mu.Unlock()
		for i, c := range b.history.Calls {
			if c.Consumer == "c1" && c.Start < woken && c.End >= woken {
				t.Logf("a call was under way; its context ended: %v", b.calls[i].cause)
				if !errors.Is(b.calls[i].cause, ErrLeaseLost) {
					t.Errorf("cause %v", b.calls[i].cause)
				}
			}
		}
		t.Logf("%d messages, %d repeats", rep.Handled, rep.Repeated)
	})
}

// A link that a middlebox resets, and a broker that is back in time, move
// nothing. Work goes on within a moment.
func TestRealBoundsOfComingBack(t *testing.T) {
	for _, test := range []struct {
		name   string
		fault  func(b *bounds)
		within time.Duration // until all queues go on
	}{
		{"link reset", func(b *bounds) { b.r.net.Reset("c1", brokerHost) }, slack},
		{"broker restarted in 1 s", func(b *bounds) { b.restart(time.Second) }, 3 * time.Second},
		{"broker restarted in 5 s", func(b *bounds) { b.restart(5 * time.Second) }, 3 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBounds(t, func(t *testing.T, b *bounds) {
				var revoked atomic.Int32
				cfg := ConsumerConfig{OnRevoke: func([]Queue) { revoked.Add(1) }}
				b.join("c1", cfg, 2*time.Millisecond)
				b.join("c2", cfg, 2*time.Millisecond)
				time.Sleep(5 * time.Second)
				owned := map[string][]Queue{"c1": b.ownedBy("c1"), "c2": b.ownedBy("c2")}
				revoked.Store(0)
				b.moved()
				test.fault(b)
				at := b.now()
				time.Sleep(15 * time.Second)
				if n, _ := b.moved(); n > 0 || revoked.Load() > 0 {
					t.Errorf("%d queues moved, %d were revoked", n, revoked.Load())
				}
				for name, queues := range owned {
					if len(queues) != 2 {
						t.Errorf("%s had %d queues", name, len(queues))
					}
					other := map[string]string{"c1": "c2", "c2": "c1"}[name]
					for _, q := range queues {
						next, ok := b.next(q, at, other)
						if t.Logf("%v goes on after %v", q, next-at); !ok || next-at > test.within {
							t.Errorf("%v went on after %v, want at most %v", q, next-at, test.within)
						}
					}
				}
				rep := b.end()
				t.Logf("%d messages, %d repeats", rep.Handled, rep.Repeated)
			})
		})
	}
}

// restart stops the broker and starts it after a while.
func (b *bounds) restart(after time.Duration) {
	from := b.now()
	b.r.stopBroker()
	time.Sleep(after)
	b.r.startBroker()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.history.Outages = append(b.history.Outages, check.Outage{From: from, To: b.now()})
}

// A member that closes gives idle queues away at once, and the busy one when its
// handler of 3 s has ended; others start each of them within 200 ms. Nothing is
// repeated.
func TestRealBoundsOfClose(t *testing.T) {
	inBounds(t, func(t *testing.T, b *bounds) {
		slow := Queue{Topic: "t", Broker: "broker-a"}
		var closing atomic.Bool
		busy := make(chan struct{}, 1)
		b.members["c1"] = consume(t, b.r.client("c1"), b.watch("c1", ConsumerConfig{}), b.record("c1", func(ctx context.Context, m *Message) error {
			d := 2 * time.Millisecond
			if m.Queue == slow && closing.CompareAndSwap(true, false) {
				busy <- struct{}{}
				d = 3 * time.Second
			}
			select {
			case <-time.After(d):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}))
		time.Sleep(2 * time.Second)
		b.join("c2", ConsumerConfig{}, 2*time.Millisecond)
		time.Sleep(5 * time.Second)
		queues := b.ownedBy("c1")
		if len(queues) != 2 || queues[0] != slow && queues[1] != slow {
			t.Fatalf("c1 has %v", queues)
		}
		closing.Store(true)
		<-busy
		at := b.now()
		b.members["c1"].stop()
		delete(b.members, "c1")
		time.Sleep(6 * time.Second)
		for _, q := range queues {
			from := at
			if q == slow {
				from += 3 * time.Second
			}
			next, ok := b.next(q, at, "c1")
			if t.Logf("%v started %v after it was free", q, next-from); !ok || next < from || next-from > slack {
				t.Errorf("%v was started by another member %v after it was free (%v), want at most %v", q, next-from, ok, slack)
			}
		}
		if rep := b.end(); rep.Repeated > 0 {
			t.Errorf("%d repeats", rep.Repeated)
		}
	})
}

// A queue that a join moves is started by the joiner within 200 ms of the end of
// the handler that ran, not in the middle of it, and the handler's context does
// not end.
func TestRealBoundsOfJoin(t *testing.T) {
	for _, d := range []time.Duration{2 * time.Millisecond, 1500 * time.Millisecond} {
		t.Run(fmt.Sprint("handlers of ", d), func(t *testing.T) {
			inBounds(t, func(t *testing.T, b *bounds) {
				var busy atomic.Bool // calls that begin while it is set take d
				b.members["c1"] = consume(t, b.r.client("c1"), b.watch("c1", ConsumerConfig{}), b.record("c1", func(context.Context, *Message) error {
					if busy.Load() {
						time.Sleep(d)
					}
					return nil
				}))
				time.Sleep(5 * time.Second)
				busy.Store(true)
				time.Sleep(100 * time.Millisecond)
				at := b.now()
				b.join("c2", ConsumerConfig{}, 0)
				time.Sleep(time.Second)
				busy.Store(false)
				time.Sleep(4 * time.Second)
				b.mu.Lock()
				free := map[Queue]time.Duration{} // when the last call of the old owner ended
				for i, c := range b.history.Calls {
					if c.Consumer == "c1" && b.owner[b.calls[i].queue] == "c2" {
						free[b.calls[i].queue] = max(at, c.End)
						if b.calls[i].cause != nil {
							t.Errorf("the context of a call ended: %v", b.calls[i].cause)
						}
					}
				}
				b.mu.Unlock()
				if len(free) != 2 {
					t.Errorf("%d queues moved", len(free))
				}
				for q, from := range free {
					next, ok := b.next(q, at, "c1")
					if t.Logf("%v started %v after it was free", q, next-from); !ok || next < from || next-from > slack {
						t.Errorf("%v was started by the joiner %v after it was free (%v), want at most %v", q, next-from, ok, slack)
					}
				}
				if rep := b.end(); rep.Repeated > 0 {
					t.Errorf("%d repeats", rep.Repeated)
				}
			})
		})
	}
}

// The broker's wall clock may step by an hour: nothing moves, stalls or repeats,
// and stamps never go back.
func TestRealBoundsOfClockSteps(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			inBounds(t, func(t *testing.T, b *bounds) {
				var off atomic.Int64
				b.r.stopBroker()
				b.r.startBrokerWith(func(c *brokerd.Config) {
					c.Clock = func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
				})
				var mu sync.Mutex
				last := map[Queue]time.Time{}
				for _, name := range []string{"c1", "c2"} {
					b.members[name] = consume(t, b.r.client(name), b.watch(name, ConsumerConfig{}), b.record(name, func(_ context.Context, m *Message) error {
						mu.Lock()
						defer mu.Unlock()
						if m.StoreTime.Before(last[m.Queue]) {
							t.Errorf("%v at %d is stamped %v after %v", m.Queue, m.Offset, m.StoreTime, last[m.Queue])
						}
						last[m.Queue] = m.StoreTime
						return nil
					}))
				}
				time.Sleep(8 * time.Second)
				b.moved()
				off.Store(int64(step))
				at := b.now()
				time.Sleep(3 * time.Second)
				for id := range 4 {
					q := Queue{Topic: "t", Broker: "broker-a", ID: id}
					if next, ok := b.next(q, at, ""); !ok || next-at > slack {
						t.Errorf("%v went on after %v (%v)", q, next-at, ok)
					}
				}
				b.r.kill("c1")
				b.kill("c1")
				queues, at := b.ownedBy("c1"), b.now()
				time.Sleep(3 * time.Second)
				b.follows(queues, "c1", at, grace+slack)
				off.Store(0) // and back
				time.Sleep(3 * time.Second)
				b.end()
			})
		})
	}
}
