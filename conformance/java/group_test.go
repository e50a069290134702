// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/internal/check"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

// mixed is a group whose one member stays while a Java member comes and goes.
// The bounds are from the event to the next hand-out of the key that waited
// longest.
type mixed struct {
	stay                 func(b *bed, topic, group string) (stop func())
	noRepeats            bool // but those that a death explains
	join, shutdown, kill time.Duration
}

// TestJavaJoinsLeavesAndDiesBesideOurs: the one that stays gives queues up
// when a member joins, is told at once when one leaves, and waits for the
// locks of one that died as long as a Java client may trust them.
func TestJavaJoinsLeavesAndDiesBesideOurs(t *testing.T) {
	t.Parallel()
	mixed{
		stay:      func(b *bed, topic, group string) func() { return b.ours(topic, group, "stays") },
		noRepeats: true,
		join:      10 * time.Second, shutdown: 5 * time.Second, kill: 37 * time.Second,
	}.play(t)
}

// TestJavaJoinsLeavesAndDiesBesideGo: the official Go client does not unlock
// the queues that it gives up, so that the one that joins gets them when their
// locks expire, and it looks for free ones every 20 s.
func TestJavaJoinsLeavesAndDiesBesideGo(t *testing.T) {
	t.Parallel()
	mixed{
		stay: (*bed).stockGo,
		join: 85 * time.Second, shutdown: 25 * time.Second, kill: 37 * time.Second,
	}.play(t)
}

func (m mixed) play(t *testing.T) {
	b := newBed(t, func(record.Start) record.Act { return record.Act{Work: 5 * time.Millisecond} })
	b.createTopic(ordered("mixed"))
	stop := m.stay(b, "mixed", "mixed-group")
	sending := b.sendSteadily("mixed")
	b.await(30*time.Second, "every key to be handled", everyKeyAfter(0))

	joined := b.rec.Now()
	j1 := b.javaConsumer("orderly", "mixed", "mixed-group", "java1")
	b.await(startLimit+m.join, "the Java member to get messages", handledBy("java1"))
	b.settle(joined, "join", startLimit+m.join)

	left := b.rec.Now()
	b.end(j1)
	b.settle(left, "shutdown", m.shutdown)

	j2 := b.javaConsumer("orderly", "mixed", "mixed-group", "java2")
	b.await(startLimit+m.join, "the Java member to get messages", handledBy("java2"))
	j2.Kill()
	b.rec.Killed("java2")
	b.settle(b.rec.Now(), "kill", m.kill)

	sending()
	b.await(30*time.Second, "all to be handled", allHandled)
	stop()
	rep := b.contract()
	if m.noRepeats && rep.Unexplained > 0 {
		t.Errorf("%d repeats that no death explains", rep.Unexplained)
	}
	t.Logf("%d messages, %d repeats, %d of them without a death that explains it\n%s", rep.Sent, rep.Repeated, rep.Unexplained, strings.Join(rep.Faults, "\n"))
}

// settle waits until every key has had a hand-out after the event, and says how
// long the last one took.
func (b *bed) settle(since time.Duration, event string, bound time.Duration) {
	b.Helper()
	b.await(bound, "every key to be handed out after the "+event, everyKeyAfter(since))
	b.Logf("%s at %v: every key was handed out again within %v", event, since, (b.rec.Now() - since).Round(time.Millisecond))
}

// everyKeyAfter is a condition: each key had a hand-out after a moment.
func everyKeyAfter(at time.Duration) func(*record.State) bool {
	return func(st *record.State) bool {
		seen := map[string]bool{}
		for i := len(st.Calls) - 1; i >= 0 && st.Calls[i].Start > at; i-- {
			seen[st.Calls[i].Key] = true
		}
		return len(seen) == keys
	}
}

func handledBy(who string) func(*record.State) bool {
	return func(st *record.State) bool {
		for i := len(st.Calls) - 1; i >= 0; i-- {
			if st.Calls[i].Consumer == who && st.Calls[i].Outcome == check.Success {
				return true
			}
		}
		return false
	}
}

// sendSteadily sends to the keys in turn, 40 messages a second, until it is
// stopped; then it waits for the answers.
func (b *bed) sendSteadily(topic string) (stop func()) {
	b.Helper()
	c, err := orderly.Open(b.Context(), orderly.Config{NameServers: []string{b.srv.NamesrvAddr()}})
	b.must(err)
	p, err := c.NewProducer(orderly.ProducerConfig{})
	b.must(err)
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		tick := time.NewTicker(25 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-tick.C:
			case <-done:
				return
			}
			k, seq := i%keys, i/keys+1
			p.SendAsync(context.Background(), message(topic, k, seq), func(_ orderly.Receipt, err error) {
				if err != nil {
					b.Errorf("send: %v", err)
				}
				b.rec.Sent(check.Send{Key: "k" + strconv.Itoa(k), Seq: seq, Acked: err == nil})
			})
		}
	})
	stop = sync.OnceFunc(func() {
		close(done)
		wg.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			b.Error(err)
		}
		_ = c.Close()
	})
	b.Cleanup(stop)
	return stop
}

// stockGo runs the official Go client's orderly consumer in this process.
func (b *bed) stockGo(topic, group string) (stop func()) {
	b.Helper()
	rlog.SetLogLevel("error")
	rep := record.NewReporter()
	ctx, hush := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = rep.Run(ctx, b.rec.Addr(), "stays") })
	c, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{b.srv.NamesrvAddr()})),
		consumer.WithGroupName(group),
		consumer.WithInstance(strings.ReplaceAll(b.Name(), "/", "-")), // one per test: clients of one name share a name server
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumerOrder(true),
	)
	b.must(err)
	var over atomic.Bool
	b.must(c.Subscribe(topic, consumer.MessageSelector{}, func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			s := start(m.GetProperty("key"), m.GetProperty("seq"), int(m.ReconsumeTimes)+1, m.Queue.QueueId, m.QueueOffset)
			if err := rep.Handle(ctx, s); err != nil && !over.Load() {
				return consumer.SuspendCurrentQueueAMoment, err
			}
		}
		return consumer.ConsumeSuccess, nil
	}))
	b.must(c.Start())
	stop = sync.OnceFunc(func() {
		over.Store(true)
		if err := c.Shutdown(); err != nil {
			b.Errorf("shut the Go consumer down: %v", err)
		}
		hush()
		wg.Wait()
	})
	b.Cleanup(stop)
	return stop
}
