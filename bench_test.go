// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderlymq/orderly/embed"
)

// benchClient is a client of an embedded server with its data on disk.
func benchClient(b *testing.B, async bool) *Client {
	b.Helper()
	server, err := embed.Start(b.Context(), embed.Config{
		NamesrvAddr: "127.0.0.1:0", BrokerAddr: "127.0.0.1:0", DataDir: b.TempDir(), SegmentSize: 256 << 20, AsyncDisk: async,
	})
	if err != nil {
		b.Fatal(err)
	}
	c, err := Open(b.Context(), Config{NameServers: []string{server.NamesrvAddr()}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			b.Error(err)
		}
	})
	return c
}

func BenchmarkSend(b *testing.B) {
	for _, senders := range []int{1, 32} {
		b.Run(fmt.Sprint("senders-", senders), func(b *testing.B) {
			c := benchClient(b, false)
			p, err := c.NewProducer(ProducerConfig{})
			if err != nil {
				b.Fatal(err)
			}
			body := make([]byte, 1024)
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for s := range senders {
				wg.Go(func() {
					for next.Add(1) <= int64(b.N) {
						if _, err := p.Send(b.Context(), &Message{Topic: "bench", OrderingKey: fmt.Sprint(s), Body: body}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// BenchmarkDrain reads stored messages with one consumer, by each order and by
// polling.
func BenchmarkDrain(b *testing.B) {
	for name, order := range map[string]Order{"queue": ByQueue, "key": ByKey, "none": Unordered} {
		b.Run(name, func(b *testing.B) {
			c := benchFilled(b)
			ctx, cancel := context.WithCancel(b.Context())
			var n atomic.Int64
			b.ReportAllocs()
			b.ResetTimer()
			err := c.Consume(ctx, ConsumerConfig{Group: "g", Topic: "bench", Order: order}, func(context.Context, *Message) error {
				if n.Add(1) == int64(b.N) {
					b.StopTimer()
					cancel()
				}
				return nil
			})
			if err != nil {
				b.Error(err)
			}
		})
	}
	b.Run("poll", func(b *testing.B) {
		p, err := benchFilled(b).NewPullConsumer(PullConsumerConfig{Group: "g"})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.ResetTimer()
		if err := p.Subscribe(b.Context(), "bench", Tags()); err != nil {
			b.Fatal(err)
		}
		for n := 0; n < b.N; {
			ms, err := p.Poll(b.Context(), 256)
			if err != nil {
				b.Fatal(err)
			}
			n += len(ms)
		}
	})
}

// benchFilled is a client of a server that has b.N messages in topic "bench".
func benchFilled(b *testing.B) *Client {
	b.Helper()
	c := benchClient(b, true)
	p, err := c.NewProducer(ProducerConfig{})
	if err != nil {
		b.Fatal(err)
	}
	body := make([]byte, 1024)
	for i := 0; i < b.N; i += 500 {
		var ms []*Message
		for k := i; k < min(i+500, b.N); k++ {
			ms = append(ms, &Message{Topic: "bench", OrderingKey: fmt.Sprint(k % 100), Body: body})
		}
		if _, err := p.SendBatch(b.Context(), ms); err != nil {
			b.Fatal(err)
		}
	}
	return c
}

// BenchmarkSendAsync sends keyed messages without waiting for each other: 64 keys
// on one topic.
func BenchmarkSendAsync(b *testing.B) {
	for _, async := range []bool{true, false} {
		b.Run(fmt.Sprint("async-disk-", async), func(b *testing.B) {
			c := benchClient(b, async)
			p, err := c.NewProducer(ProducerConfig{})
			if err != nil {
				b.Fatal(err)
			}
			body := make([]byte, 1024)
			keys := make([]string, 64)
			for i := range keys {
				keys[i] = fmt.Sprint("key-", i)
			}
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				wg.Add(1)
				p.SendAsync(b.Context(), &Message{Topic: "bench", OrderingKey: keys[i%64], Body: body}, func(_ Receipt, err error) {
					if err != nil {
						b.Error(err)
					}
					wg.Done()
				})
			}
			wg.Wait()
		})
	}
}
