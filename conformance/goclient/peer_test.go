// SPDX-License-Identifier: Apache-2.0

package goclient

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/admin"
	"github.com/orderlymq/orderly/embed"
)

// limit bounds each wait; the official client rebalances every 20 s only, so
// a member that comes second can need that long.
const limit = 60 * time.Second

// server is an Orderly server on free ports with its data on disk.
func server(t *testing.T) *embed.Server {
	t.Helper()
	rlog.SetLogLevel("error")
	srv, err := embed.Start(t.Context(), embed.Config{
		NamesrvAddr: "127.0.0.1:0",
		BrokerAddr:  "127.0.0.1:0",
		DataDir:     t.TempDir(),
		SegmentSize: 16 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := srv.Close(ctx); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	return srv
}

func createTopic(t *testing.T, srv *embed.Server, topic admin.Topic) {
	t.Helper()
	a, err := admin.Open(t.Context(), admin.Config{NameServers: []string{srv.NamesrvAddr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.CreateTopic(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
}

func resolver(srv *embed.Server) primitive.NsResolver {
	return primitive.NewPassthroughResolver([]string{srv.NamesrvAddr()})
}

// stockProducer is the official producer with a selector by order number, the
// way RocketMQ's ordered example does it.
func stockProducer(t *testing.T, srv *embed.Server) rocketmq.Producer {
	t.Helper()
	p, err := rocketmq.NewProducer(
		producer.WithNsResolver(resolver(srv)),
		producer.WithGroupName("stock-producer"),
		producer.WithInstanceName(t.Name()+"-producer"),
		producer.WithQueueSelector(producer.NewHashQueueSelector()),
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Shutdown() })
	return p
}

// sendStock sends n messages of keys k0.. in turn, each after the answer to
// the one before it.
func sendStock(t *testing.T, p rocketmq.Producer, topic string, keys, n int) {
	t.Helper()
	for i := range n {
		m := primitive.NewMessage(topic, []byte("body-"+strconv.Itoa(i)))
		m.WithShardingKey("k" + strconv.Itoa(i%keys))
		m.WithTag("Tag" + string(rune('A'+i%5)))
		m.WithProperty("key", "k"+strconv.Itoa(i%keys))
		m.WithProperty("seq", strconv.Itoa(i/keys+1))
		res, err := p.SendSync(t.Context(), m)
		if err != nil || res.Status != primitive.SendOK {
			t.Fatalf("send %d: %v, %v", i, res, err)
		}
	}
}

// stockConsumer subscribes the official push consumer and reports to rec.
func stockConsumer(t *testing.T, srv *embed.Server, instance, group, topic string, orderly bool, rec *sights) rocketmq.PushConsumer {
	t.Helper()
	c, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(resolver(srv)),
		consumer.WithGroupName(group),
		consumer.WithInstance(instance),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumerOrder(orderly),
	)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Subscribe(topic, consumer.MessageSelector{}, func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			rec.add(instance, m.GetProperty("key"), m.GetProperty("seq"))
		}
		return consumer.ConsumeSuccess, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// sights is what arrived, by key in the order of arrival.
type sights struct {
	mu    sync.Mutex
	byKey map[string][]int
	total int
	seen  map[string]bool
	grew  chan struct{}
}

func newSights() *sights {
	return &sights{byKey: map[string][]int{}, seen: map[string]bool{}, grew: make(chan struct{}, 1)}
}

func (r *sights) add(_, key, seq string) {
	n, err := strconv.Atoi(seq)
	if err != nil {
		n = -1
	}
	r.mu.Lock()
	r.byKey[key] = append(r.byKey[key], n)
	r.seen[key+"/"+seq] = true
	r.total++
	r.mu.Unlock()
	select {
	case r.grew <- struct{}{}:
	default:
	}
}

// await waits until n different messages have arrived.
func (r *sights) await(t *testing.T, n int) {
	t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		r.mu.Lock()
		have := len(r.seen)
		r.mu.Unlock()
		if have >= n {
			return
		}
		select {
		case <-r.grew:
		case <-timer.C:
			t.Fatalf("%d of %d messages arrived within %v", have, n, limit)
		}
	}
}

// inOrder checks that each key's messages came as 1, 2, 3, ... without repeats.
func (r *sights) inOrder(t *testing.T, keys, n int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.total != n {
		t.Errorf("%d messages arrived, sent were %d", r.total, n)
	}
	for k := range keys {
		key := fmt.Sprintf("k%d", k)
		for i, seq := range r.byKey[key] {
			if seq != i+1 {
				t.Errorf("%s arrived as %v", key, r.byKey[key])
				break
			}
		}
	}
}

// consumeOurs runs Orderly's consumer until the test ends.
func consumeOurs(t *testing.T, srv *embed.Server, name, group, topic string, rec *sights) (stop func()) {
	t.Helper()
	c, err := orderly.Open(t.Context(), orderly.Config{NameServers: []string{srv.NamesrvAddr()}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- c.Consume(ctx, orderly.ConsumerConfig{Group: group, Topic: topic}, func(_ context.Context, m *orderly.Message) error {
			rec.add(name, m.Properties["key"], m.Properties["seq"])
			return nil
		})
	}()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("consume: %v", err)
			}
			if err := c.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// sendOurs sends n messages of keys k0.. with Orderly's producer.
func sendOurs(t *testing.T, srv *embed.Server, topic string, keys, n int) {
	t.Helper()
	c, err := orderly.Open(t.Context(), orderly.Config{NameServers: []string{srv.NamesrvAddr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := c.NewProducer(orderly.ProducerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		key := "k" + strconv.Itoa(i%keys)
		_, err := p.Send(t.Context(), &orderly.Message{
			Topic: topic, OrderingKey: key, Tag: "TagA", Body: []byte("body"),
			Properties: map[string]string{"key": key, "seq": strconv.Itoa(i/keys + 1)},
		})
		if err != nil {
			t.Fatalf("send %d: %v", i, err)
		}
	}
}

// inOrderFirstSights checks the order of first sights only: a queue that moves
// between members of different kinds may bring repeats.
func (r *sights) inOrderFirstSights(t *testing.T, keys int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for k := range keys {
		key, next := fmt.Sprintf("k%d", k), 1
		for _, seq := range r.byKey[key] {
			if seq > next {
				t.Errorf("%s arrived as %v", key, r.byKey[key])
				break
			}
			if seq == next {
				next++
			}
		}
	}
}
