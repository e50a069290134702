// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/route"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
)

// inBubble runs f in a synctest bubble with a fake cluster of one topic "t".
func inBubble(t *testing.T, queues int32, f func(t *testing.T, fake *fakeCluster), brokers ...string) {
	if len(brokers) == 0 {
		brokers = []string{"broker-a"}
	}
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster(t, brokers...)
		fake.topics["t"] = queues
		f(t, fake)
	})
}

func newProducer(t *testing.T, c *Client, cfg ProducerConfig) *Producer {
	t.Helper()
	p, err := c.NewProducer(cfg)
	must(t, err)
	return p
}

func keyed(key string, i int) *Message {
	return &Message{Topic: "t", OrderingKey: key, Body: []byte(fmt.Sprintf("%s:%d", key, i))}
}

func TestKeyedMessagesGoToTheirLane(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		for i := range 20 {
			k := fmt.Sprint("order-", i%5)
			r, err := p.Send(t.Context(), keyed(k, i))
			must(t, err)
			if want := int(route.Lane(k)) % 4; r.Queue.ID != want {
				t.Errorf("key %s went to queue %d, want %d", k, r.Queue.ID, want)
			}
		}
	})
}

func TestOtherLaneFunctions(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, fake *fakeCluster) {
		c := fake.client("p")
		for lane, want := range map[LaneFunction]int32{LaneJavaString: route.JavaString("k1", 4), LaneGoFNV: route.GoFNV("k1", 4)} {
			r, err := newProducer(t, c, ProducerConfig{Lane: lane}).Send(t.Context(), keyed("k1", 0))
			must(t, err)
			if r.Queue.ID != int(want) {
				t.Errorf("%s: queue %d, want %d", lane, r.Queue.ID, want)
			}
		}
	})
}

// Sends of one key are stored in call order although answers are late, lost or
// refusals.
func TestAsyncSendsKeepOrderThroughFaults(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{AttemptTimeout: 500 * time.Millisecond})
		var n atomic.Int32
		fake.setHook(func(b *fakeBroker, c *transport.Conn, req *wire.Command) bool {
			if req.Code != wire.ReqSendMessageV2 {
				return false
			}
			switch n.Add(1) % 7 {
			case 1: // refused
				_ = c.Reply(req, wire.NewResponse(req, wire.SystemBusy, "busy"))
			case 3: // not stored, no answer
			case 5: // link lost
				c.Close(errors.New("middlebox"))
			default:
				return false
			}
			return true
		})
		const keys, each = 5, 20
		var wg sync.WaitGroup
		for i := range each {
			for k := range keys {
				wg.Add(1)
				p.SendAsync(t.Context(), keyed(fmt.Sprint("k", k), i), func(_ Receipt, err error) {
					defer wg.Done()
					if err != nil {
						t.Errorf("send: %v", err)
					}
				})
			}
		}
		wg.Wait()
		for k := range keys {
			checkStored(t, fake, fmt.Sprint("k", k), each)
		}
	}, "broker-a")
}

// checkStored wants messages 0..n-1 of a key in one queue, in order, repeats of
// a message next to it apart.
func checkStored(t *testing.T, fake *fakeCluster, k string, n int) {
	t.Helper()
	var got []string
	for _, b := range fake.brokers {
		for q := range int(fake.topics["t"]) {
			for _, text := range b.stored("t", q) {
				if strings.HasPrefix(text, k+":") {
					got = append(got, text)
				}
			}
		}
	}
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("%s:%d", k, i))
	}
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("key %s is stored as %v", k, got)
	}
}

// A keyed message waits for its broker and goes nowhere else; others do not.
func TestKeyedMessageWaitsForItsBroker(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		home := keyHome(t, p, "k")
		fake.brokers[home].stop()
		sent := make(chan error, 1)
		p.SendAsync(t.Context(), keyed("k", 1), func(r Receipt, err error) { sent <- err })
		for range 20 {
			r, err := p.Send(t.Context(), &Message{Topic: "t", Body: []byte("any")})
			must(t, err)
			if r.Queue.Broker == home {
				t.Fatal("stored by a dead broker")
			}
		}
		time.Sleep(30 * time.Second)
		select {
		case err := <-sent:
			t.Fatalf("keyed send ended while its broker was down: %v", err)
		default:
		}
		fake.brokers[home].start()
		must(t, <-sent)
		checkStored(t, fake, "k", 2)
	}, "broker-a", "broker-b")
}

// keyHome sends message 0 of a key and returns the broker that took it.
func keyHome(t *testing.T, p *Producer, k string) string {
	t.Helper()
	r, err := p.Send(t.Context(), keyed(k, 0))
	must(t, err)
	return r.Queue.Broker
}

func TestFailedMessageStopsItsKey(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{DeliveryTimeout: 2 * time.Second})
		fake.setHook(func(b *fakeBroker, c *transport.Conn, req *wire.Command) bool {
			bad := slices.Contains(bodiesOf(req), "k:1")
			if bad {
				_ = c.Reply(req, wire.NewResponse(req, wire.SystemBusy, "busy"))
			}
			return bad
		})
		errs := make([]error, 4)
		_, errs[0] = p.Send(t.Context(), keyed("k", 0))
		var wg sync.WaitGroup
		for i := 1; i < 4; i++ {
			wg.Add(1)
			p.SendAsync(t.Context(), keyed("k", i), func(_ Receipt, err error) { errs[i] = err; wg.Done() })
		}
		wg.Wait()
		must(t, errs[0])
		if failure, ok := errors.AsType[*DeliveryError](errs[1]); !ok || failure.MayBeStored || failure.Attempts < 3 {
			t.Errorf("message 1: %v", errs[1])
		}
		for i := 2; i < 4; i++ {
			if !errors.Is(errs[i], ErrKeyStopped) {
				t.Errorf("message %d: %v, want ErrKeyStopped", i, errs[i])
			}
		}
		if _, err := p.Send(t.Context(), keyed("other", 0)); err != nil {
			t.Errorf("another key: %v", err)
		}
		if got := p.Stopped(); len(got) != 1 || got[0].OrderingKey != "k" {
			t.Errorf("stopped: %v", got)
		}
		if !p.Resume("t", "k") {
			t.Error("resume: was not stopped")
		}
		_, err := p.Send(t.Context(), keyed("k", 9))
		must(t, err)
	})
}

func TestPolicyContinueGoesOn(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{OnFailure: Continue, MaxMessageSize: 10})
		_, err := p.Send(t.Context(), &Message{Topic: "t", OrderingKey: "k", Body: make([]byte, 11)})
		if !errors.Is(err, ErrTooLarge) {
			t.Fatalf("err = %v", err)
		}
		_, err = p.Send(t.Context(), keyed("k", 1))
		must(t, err)
	})
}

// A refused message stops its key too: async calls already made behind it must
// not overtake it.
func TestRefusedMessageStopsItsKey(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{MaxMessageSize: 10})
		_, err := p.Send(t.Context(), &Message{Topic: "t", OrderingKey: "k", Body: make([]byte, 11)})
		if !errors.Is(err, ErrTooLarge) {
			t.Fatalf("err = %v", err)
		}
		if _, err = p.Send(t.Context(), keyed("k", 1)); !errors.Is(err, ErrKeyStopped) || !errors.Is(err, ErrTooLarge) {
			t.Fatalf("err = %v", err)
		}
	})
}

func TestContextBoundsTheWaitOnly(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		keyHome(t, p, "k")
		fake.brokers["broker-a"].stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Send(ctx, keyed("k", 1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("err = %v", err)
		}
		fake.brokers["broker-a"].start()
		_, err := p.Send(t.Context(), keyed("k", 2))
		must(t, err)
		checkStored(t, fake, "k", 3)
	})
}

func TestSelectorPlacesMessages(t *testing.T) {
	byArg := func(queues []Queue, m *Message, arg any) Queue { return queues[arg.(int)%len(queues)] }
	inBubble(t, 4, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		for i := range 8 {
			r, err := p.Send(t.Context(), &Message{Topic: "t", Body: []byte("x"), Selector: byArg, SelectorArg: i})
			must(t, err)
			if r.Queue.ID != i%4 {
				t.Errorf("message %d in queue %d", i, r.Queue.ID)
			}
		}
		for name, sel := range map[string]QueueSelector{
			"panic":   func([]Queue, *Message, any) Queue { panic("no idea") },
			"foreign": func([]Queue, *Message, any) Queue { return Queue{Topic: "t", Broker: "broker-a", ID: 77} },
		} {
			_, err := p.Send(t.Context(), &Message{Topic: "t", Body: []byte("x"), Selector: sel})
			if !errors.Is(err, ErrBadSelector) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestOrderedTopicWantsAKey(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, fake *fakeCluster) {
		fake.conf = "broker-a:4"
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		if _, err := p.Send(t.Context(), &Message{Topic: "t", Body: []byte("x")}); !errors.Is(err, ErrNoOrderingKey) {
			t.Fatalf("err = %v", err)
		}
		_, err := p.Send(t.Context(), keyed("k", 0))
		must(t, err)
	})
}

// The queue set stays pinned when the route shrinks or grows.
func TestQueueSetIsPinned(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		first, err := p.Send(t.Context(), keyed("key-2", 0))
		must(t, err)
		fake.mu.Lock()
		fake.topics["t"] = 7
		fake.mu.Unlock()
		time.Sleep(time.Minute)
		again, err := p.Send(t.Context(), keyed("key-2", 1))
		must(t, err)
		if first.Queue != again.Queue {
			t.Fatalf("key moved from %v to %v", first.Queue, again.Queue)
		}
	})
}

func TestBatch(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		var ms []*Message
		for i := range 10 {
			for k := range 3 {
				ms = append(ms, keyed(fmt.Sprint("k", k), i))
			}
		}
		rs, err := p.SendBatch(t.Context(), ms)
		must(t, err)
		for i, r := range rs {
			if r.ID == "" || r.Queue != rs[i%3].Queue {
				t.Errorf("receipt %d: %+v", i, r)
			}
		}
		for k := range 3 {
			checkStored(t, fake, fmt.Sprint("k", k), 10)
		}
	})
}

// In a batch of several queues the stored messages have their receipts and only
// the keys of the failed ones stop.
func TestBatchFailsInPart(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		bad := int(route.Lane("k1")) % 4
		fake.setHook(func(b *fakeBroker, c *transport.Conn, req *wire.Command) bool {
			refuse := len(bodiesOf(req)) > 0 && req.Ext.Value("e") == fmt.Sprint(bad)
			if refuse {
				_ = c.Reply(req, wire.NewResponse(req, wire.MessageIllegal, "no"))
			}
			return refuse
		})
		var ms []*Message
		for k := range 4 {
			ms = append(ms, keyed(fmt.Sprint("k", k), 0))
		}
		rs, err := p.SendBatch(t.Context(), ms)
		failure, ok := errors.AsType[*BatchError](err)
		if !ok {
			t.Fatalf("err = %v", err)
		}
		for i, m := range ms {
			in := int(route.Lane(m.OrderingKey))%4 == bad
			_, refused := errors.AsType[*BrokerError](failure.Errs[i])
			if in != refused || in != (rs[i].ID == "") {
				t.Errorf("message %d: receipt %+v, error %v", i, rs[i], failure.Errs[i])
			}
			_, err := p.Send(t.Context(), keyed(m.OrderingKey, 1))
			if errors.Is(err, ErrKeyStopped) != in {
				t.Errorf("key %s afterwards: %v", m.OrderingKey, err)
			}
		}
	})
}

// bodiesOf is the beginnings of the messages of a send, up to the first zero.
func bodiesOf(req *wire.Command) []string {
	var bodies []string
	switch req.Code {
	case wire.ReqSendMessageV2:
		bodies = []string{string(req.Body)}
	case wire.ReqSendBatchMessage:
		ms, _ := msg.DecodeBatch(req.Body, 0)
		for _, m := range ms {
			bodies = append(bodies, string(m.Body))
		}
	}
	for i, text := range bodies {
		bodies[i], _, _ = strings.Cut(text, "\x00")
	}
	return bodies
}

// When a batch needs several requests for one queue and a message of one fails,
// the others must not bring later messages of its key.
func TestLargeBatchStopsAtItsFirstFailure(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		fake.setHook(func(b *fakeBroker, c *transport.Conn, req *wire.Command) bool {
			refuse := slices.Contains(bodiesOf(req), "k:2")
			if refuse {
				_ = c.Reply(req, wire.NewResponse(req, wire.MessageIllegal, "no"))
			}
			return refuse
		})
		var ms []*Message
		for i := range 8 { // two or three of them per request
			m := keyed("k", i)
			m.Body = append(m.Body, make([]byte, 1500<<10)...)
			ms = append(ms, m)
		}
		ms[7].OrderingKey = "other"
		_, err := p.SendBatch(t.Context(), ms)
		failure, ok := errors.AsType[*BatchError](err)
		if !ok {
			t.Fatalf("err = %v", err)
		}
		first := slices.IndexFunc(failure.Errs, func(err error) bool { return err != nil })
		if first != 2 {
			t.Fatalf("first failure at %d, want 2", first)
		}
		for i := first; i < 7; i++ {
			if failure.Errs[i] == nil {
				t.Errorf("message %d of the key is stored behind the failure at %d", i, first)
			}
		}
		if failure.Errs[7] != nil {
			t.Errorf("another key: %v", failure.Errs[7])
		}
		if _, err := p.Send(t.Context(), keyed("k", 9)); !errors.Is(err, ErrKeyStopped) {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestBatchWithoutKeysIsOneRequest(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		var ms []*Message
		for i := range 20 {
			ms = append(ms, &Message{Topic: "t", Body: fmt.Append(nil, i)})
		}
		rs, err := p.SendBatch(t.Context(), ms)
		must(t, err)
		for i, r := range rs {
			if r.Queue != rs[0].Queue || r.Offset != int64(i) {
				t.Errorf("message %d: %v at %d", i, r.Queue, r.Offset)
			}
		}
	})
}

func TestInvalidMessagesAreRefused(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		body := []byte("x")
		for name, m := range map[string]*Message{
			"nil":               nil,
			"no topic":          {Body: body},
			"bad topic":         {Topic: "a b", Body: body},
			"system topic":      {Topic: "SCHEDULE_TOPIC_XXXX", Body: body},
			"no body":           {Topic: "t"},
			"key with a space":  {Topic: "t", Body: body, Keys: []string{"a b"}},
			"reserved property": {Topic: "t", Body: body, Properties: map[string]string{"TAGS": "x"}},
			"separator":         {Topic: "t", Body: body, Properties: map[string]string{"a": "\x01"}},
			"tag expression":    {Topic: "t", Body: body, Tag: "a || b"},
		} {
			if _, err := p.Send(t.Context(), m); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err := p.Send(t.Context(), &Message{Topic: "t", Body: body, Properties: map[string]string{"a": strings.Repeat("x", 40000)}})
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("large properties: %v", err)
		}
		if _, err := p.Send(t.Context(), &Message{Topic: "nowhere", Body: body}); !errors.Is(err, ErrTopicNotFound) {
			t.Errorf("unknown topic: %v", err)
		}
	})
}

func TestClosedProducerRefuses(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		c := fake.client("p")
		p := newProducer(t, c, ProducerConfig{})
		keyHome(t, p, "k")
		fake.brokers["broker-a"].stop()
		failed := make(chan error, 1)
		p.SendAsync(t.Context(), keyed("k", 1), func(_ Receipt, err error) { failed <- err })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		if err := <-failed; !errors.Is(err, ErrClosed) {
			t.Errorf("pending send: %v", err)
		}
		if _, err := p.Send(t.Context(), keyed("k", 2)); !errors.Is(err, ErrClosed) {
			t.Errorf("late send: %v", err)
		}
		must(t, c.Close())
		if _, err := c.NewProducer(ProducerConfig{}); !errors.Is(err, ErrClosed) {
			t.Errorf("late producer: %v", err)
		}
	})
}

func TestOnewayKeepsItsPlace(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		for i := range 10 {
			must(t, p.SendOneway(t.Context(), keyed("k", i)))
		}
		synctest.Wait()
		checkStored(t, fake, "k", 10)
	})
}

func TestLargeBodiesAreCompressed(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		_, err := p.Send(t.Context(), &Message{Topic: "t", Body: make([]byte, 100_000)})
		must(t, err)
		if n := len(fake.brokers["broker-a"].stored("t", 0)[0]); n > 10_000 {
			t.Errorf("stored as %d bytes", n)
		}
	})
}
