// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/check"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// A join or a leave moves only what must move.
func TestRealJoinAndLeaveMoveTheLeast(t *testing.T) {
	inRealBubble(t, 12, func(t *testing.T, r *realCluster) {
		l := newLedger(t)
		stop := l.flow(newProducer(t, r.client("p"), ProducerConfig{}), 24, 250*time.Millisecond)
		members := map[string]*running{}
		join := func(name string) {
			members[name] = consume(t, r.client(name), l.watch(name, ConsumerConfig{}), l.handler(name, 5*time.Millisecond))
			time.Sleep(3 * time.Second)
		}
		// Ids sort by name, so that the classic split would move others' too.
		for i, name := range []string{"c5", "c6", "c7"} {
			join(name)
			if queues, most := l.moved(); queues != []int{0, 6, 4}[i] || most > 1 {
				t.Errorf("join of %s: %d queues moved, one of them %d times", name, queues, most)
			}
		}
		join("c1")
		if queues, most := l.moved(); queues != 3 || most != 1 {
			t.Errorf("the fourth join moved %d queues, one of them %d times: want 3, once", queues, most)
		}
		must(t, members["c6"].end())
		time.Sleep(3 * time.Second)
		if queues, most := l.moved(); queues != 3 || most != 1 {
			t.Errorf("a leave moved %d queues, one of them %d times: want 3, once", queues, most)
		}
		r.net.Reset("c5", brokerHost)
		time.Sleep(3 * time.Second)
		if queues, _ := l.moved(); queues != 0 {
			t.Errorf("a reset link moved %d queues", queues)
		}
		stop()
		time.Sleep(3 * time.Second)
		owners := l.owners()
		for _, name := range []string{"c1", "c5", "c7"} {
			if owners[name] != 4 {
				t.Errorf("%s has %d queues", name, owners[name])
			}
			must(t, members[name].end())
		}
		if rep := l.judge(); rep.Repeated > 0 {
			t.Errorf("%d repeats", rep.Repeated)
		}
	})
}

// stockMember joins group g the way a stock client does; it locks nothing. It
// sorts behind our clients. The function returned ends it.
func stockMember(t *testing.T, r *realCluster) (leave func()) {
	d := &transport.Dialer{Dial: r.net.Host("zz").Dial}
	conn, err := d.Connect(t.Context(), brokerHost+":10911")
	must(t, err)
	data := body.HeartbeatData{ClientID: "99.9.9.9@zz", Consumers: []body.ConsumerData{{
		GroupName: "g", ConsumeType: body.ConsumePassively, MessageModel: body.Clustering, ConsumeFromWhere: body.ConsumeFromFirst,
		Subscriptions: []body.SubscriptionData{{Topic: "t", SubString: "*", ExpressionType: body.ExpressionTag, SubVersion: 1}},
	}}}
	resp, err := conn.Call(t.Context(), wire.NewRequest(wire.ReqHeartBeat, nil, data.Encode()))
	if err != nil || resp.Code != wire.Success {
		t.Fatalf("stock heartbeat: %v, %v", resp, err)
	}
	return func() { conn.Close(errors.New("done")) }
}

// A group with a stock member is split by the classic strategy, and goes back to
// the sticky one when it is gone.
func TestRealStockMemberMakesTheSplitClassic(t *testing.T) {
	inRealBubble(t, 4, func(t *testing.T, r *realCluster) {
		l := newLedger(t)
		one := consume(t, r.client("c1"), l.watch("c1", ConsumerConfig{}), l.handler("c1", 0))
		time.Sleep(3 * time.Second)
		leave := stockMember(t, r)
		time.Sleep(3 * time.Second)
		two := consume(t, r.client("c2"), l.watch("c2", ConsumerConfig{}), l.handler("c2", 0))
		time.Sleep(3 * time.Second)
		// By average 0 and 1 are for c1, 2 for c2 and 3 for the stock member.
		want := map[int]string{0: "c1", 1: "c1", 2: "c2"}
		l.mu.Lock()
		for id, name := range want {
			if got := l.owner[Queue{"t", "broker-a", id}]; got != name {
				t.Errorf("queue %d is with %s, want %s", id, got, name)
			}
		}
		l.mu.Unlock()
		leave()
		time.Sleep(3 * time.Second)
		l.mu.Lock()
		if got := l.owner[Queue{"t", "broker-a", 3}]; got != "c2" {
			t.Errorf("queue 3 is with %s after the stock member has gone, want c2", got)
		}
		l.mu.Unlock()
		must(t, one.end())
		must(t, two.end())
	})
}

// A stock broker is not asked for what it does not know.
func TestStockBrokerIsNotAskedForTheSplit(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, fake *fakeCluster) {
		var asked, named atomic.Int32
		fake.setHook(func(_ *fakeBroker, _ *transport.Conn, req *wire.Command) bool {
			if req.Code == wire.ReqQueryAssignment {
				asked.Add(1)
			}
			if req.Ext.Has(header.ExtMember) {
				named.Add(1)
			}
			return false
		})
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		fill(t, p, 10, 0, 5)
		j := newJournal()
		one := consume(t, fake.client("c1"), ConsumerConfig{MemberName: "one"}, j.handler(0))
		two := consume(t, fake.client("c2"), ConsumerConfig{MemberName: "two"}, j.handler(0))
		time.Sleep(5 * time.Second)
		must(t, one.end())
		must(t, two.end())
		j.check(t, 10, 5, false)
		if asked.Load() != 0 || named.Load() == 0 {
			t.Errorf("asked %d times; named %d times", asked.Load(), named.Load())
		}
	})
}

// A rolling restart of named members moves each queue away and back, and nothing
// else. Every second member is killed instead of closed.
func TestRealRollingRestart(t *testing.T) {
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprint("kill ", kill), func(t *testing.T) {
			inRealBubble(t, 40, func(t *testing.T, r *realCluster) {
				l := newLedger(t)
				stop := l.flow(newProducer(t, r.client("p"), ProducerConfig{}), 60, 500*time.Millisecond)
				members := make([]*running, 10)
				start := func(i, round int) {
					name := fmt.Sprint("pod-", i)
					host := fmt.Sprint(name, ".", round)
					members[i] = consume(t, r.client(host), l.watch(name, ConsumerConfig{MemberName: name}), l.handler(name, 5*time.Millisecond))
				}
				for i := range members {
					start(i, 0)
				}
				time.Sleep(5 * time.Second)
				l.moved()
				for i := range members {
					if kill && i%2 == 1 {
						r.kill(fmt.Sprint("pod-", i, ".0"))
						members[i].stop()
					} else {
						must(t, members[i].end())
					}
					time.Sleep(time.Duration(i*i*100) * time.Millisecond) // from at once to 8 s
					start(i, 1)
					time.Sleep(3 * time.Second)
				}
				queues, most := l.moved()
				t.Logf("%d queues moved, at most %d times", queues, most)
				if most > 2 {
					t.Errorf("a queue moved %d times", most)
				}
				for i, owners := 0, l.owners(); i < 10; i++ {
					if n := owners[fmt.Sprint("pod-", i)]; n != 4 {
						t.Errorf("pod-%d has %d queues", i, n)
					}
				}
				stop()
				time.Sleep(3 * time.Second)
				for _, m := range members {
					must(t, m.end())
				}
				rep := l.judge()
				t.Logf("sent %d, handled %d, repeated %d", rep.Sent, rep.Handled, rep.Repeated)
				if rep.Repeated > 0 && !kill {
					t.Errorf("%d repeats", rep.Repeated)
				}
			})
		})
	}
}

// A member name belongs to one live session; who comes second is told who has
// it, and may have it when the first one has gone.
func TestRealMemberNameIsInUse(t *testing.T) {
	inRealBubble(t, 2, func(t *testing.T, r *realCluster) {
		first, second := r.client("c1"), r.client("c2")
		other := consume(t, second, ConsumerConfig{Group: "other", MemberName: "pod-0"}, newJournal().handler(0))
		one := consume(t, first, ConsumerConfig{MemberName: "pod-0"}, newJournal().handler(0))
		time.Sleep(3 * time.Second)
		begun := time.Now()
		two := consume(t, second, ConsumerConfig{MemberName: "pod-0"}, newJournal().handler(0))
		err := <-two.ended
		var taken *MemberNameError
		if !errors.Is(err, ErrMemberNameInUse) || !errors.As(err, &taken) || taken.Holder != first.ID() || taken.Group != "g" {
			t.Fatalf("err = %v", err)
		}
		if !strings.Contains(err.Error(), first.ID()) {
			t.Errorf("%v does not name the first", err)
		}
		if took := time.Since(begun); took > 100*time.Millisecond {
			t.Errorf("told after %v", took)
		}
		select {
		case err := <-other.ended:
			t.Fatalf("the client's other group ended: %v", err)
		default:
		}
		must(t, one.end())
		var got atomic.Int32
		two = consume(t, second, ConsumerConfig{MemberName: "pod-0"}, func(context.Context, *Message) error { got.Add(1); return nil })
		fill(t, newProducer(t, r.client("p"), ProducerConfig{}), 4, 0, 1)
		time.Sleep(time.Second)
		if got.Load() != 4 {
			t.Errorf("%d messages under the name that was given back", got.Load())
		}
		must(t, two.end())
		must(t, other.end())
	})
}

// Members with and without names come and go in every way, at random, a stock
// one among them: in the end every queue has an owner that works, shares are
// even, and order was kept throughout.
func TestRealChurn(t *testing.T) {
	for seed := range uint64(churnSeeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inRealBubble(t, 12, func(t *testing.T, r *realCluster) { churn(t, r, rand.New(rand.NewPCG(seed, 5))) })
		})
	}
}

const churnSeeds = 2

func churn(t *testing.T, r *realCluster, rnd *rand.Rand) {
	l := newLedger(t)
	stop := l.flow(newProducer(t, r.client("p"), ProducerConfig{}), 24, 500*time.Millisecond)
	members := map[string]*running{} // by host
	var hosts []string
	join := func() {
		host, cfg := fmt.Sprint("c", len(hosts)), ConsumerConfig{}
		hosts = append(hosts, host)
		if name := fmt.Sprint("pod-", rnd.IntN(3)); rnd.IntN(2) == 0 {
			cfg.MemberName = name // another live one may have it
		}
		members[host] = consume(t, r.client(host), l.watch(host, cfg), l.handler(host, 5*time.Millisecond))
	}
	pick := func() string {
		for {
			if host := hosts[rnd.IntN(len(hosts))]; members[host] != nil || len(members) == 0 {
				return host
			}
		}
	}
	join()
	join()
	stockLeave := func() {}
	for range 14 {
		time.Sleep(time.Duration(rnd.IntN(4000)) * time.Millisecond)
		switch host := pick(); rnd.IntN(8) {
		case 0, 1, 2:
			join()
		case 3:
			if len(members) > 0 {
				if err := members[host].end(); err != nil && !errors.Is(err, ErrMemberNameInUse) {
					t.Error(err)
				}
				delete(members, host)
			}
		case 4:
			l.kill(host)
			r.kill(host)
			if m := members[host]; m != nil {
				m.stop()
				delete(members, host)
			}
		case 5:
			r.net.Reset(host, brokerHost)
		case 6:
			from := l.now()
			r.stopBroker()
			r.startBroker()
			l.history.Outages = append(l.history.Outages, check.Outage{From: from, To: l.now()})
		case 7:
			stockLeave()
			stockLeave = stockMember(t, r)
		}
	}
	stockLeave()
	time.Sleep(25 * time.Second)
	for host, m := range members {
		select {
		case err := <-m.ended:
			if !errors.Is(err, ErrMemberNameInUse) {
				t.Errorf("%s: %v", host, err)
			}
			delete(members, host)
		default:
		}
	}
	if len(members) == 0 {
		join()
		time.Sleep(15 * time.Second)
	}
	at := l.now()
	time.Sleep(2 * time.Second)
	for id := range 12 {
		q := Queue{Topic: "t", Broker: "broker-a", ID: id}
		_, used := l.next(q, 0, "") // some key is in it
		if _, ok := l.next(q, at, ""); used && !ok {
			t.Errorf("%v stands still", q)
		}
	}
	owners, even := l.owners(), 12/len(members)
	for host := range members {
		if n := owners[host]; n < even || n > even+1 {
			t.Errorf("%s has %d of 12 queues, there are %d members", host, n, len(members))
		}
	}
	stop()
	time.Sleep(3 * time.Second)
	for _, m := range members {
		must(t, m.end())
	}
	l.fences()
	rep := l.judge()
	t.Logf("%d members at the end, %d messages, %d repeats", len(members), rep.Handled, rep.Repeated)
}
