// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
)

// BenchmarkSend sends messages of 1 KiB over TCP, each sender waiting for the
// answer to one before it sends the next; the client's work is part of it.
func BenchmarkSend(b *testing.B) {
	for _, mode := range []store.SyncMode{store.Synced, store.Async} {
		for _, senders := range []int{1, 32} {
			b.Run(fmt.Sprintf("%s/%d", mode, senders), func(b *testing.B) { benchmarkSend(b, mode, senders) })
		}
	}
}

func startBench(b *testing.B, mode store.SyncMode) *Broker {
	b.Helper()
	br, err := New(Config{ListenAddr: "127.0.0.1:0", Dir: b.TempDir(), SegmentSize: 256 << 20, SyncMode: mode})
	if err != nil {
		b.Fatal(err)
	}
	if err := br.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := br.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return br
}

func benchmarkSend(b *testing.B, mode store.SyncMode, senders int) {
	br := startBench(b, mode)
	c, err := new(transport.Dialer).Connect(b.Context(), br.Addr())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(nil)
	data := bytes.Repeat([]byte("x"), 1024)
	send := func(queue int32) {
		h := sendHeader("T", queue, msg.PropTags, "TagA", msg.PropUniqueKey, "0A000001000000000000000000000000", msg.PropWait, "true")
		resp, err := c.Call(context.Background(), wire.NewRequest(wire.ReqSendMessageV2, h, data))
		if err != nil || resp.Code != wire.Success {
			b.Errorf("send: %v %+v", err, resp)
		}
	}
	send(0)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				send(int32(i % 4))
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
}

// BenchmarkPull drains a queue of messages of 1 KiB over TCP.
func BenchmarkPull(b *testing.B) {
	br := startBench(b, store.Async)
	c, err := new(transport.Dialer).Connect(b.Context(), br.Addr())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(nil)
	fillQueue(b, br, b.N)
	b.SetBytes(1024)
	b.ReportAllocs()
	b.ResetTimer()
	for at := int64(0); at < int64(b.N); {
		h := pullHeader("G", "T", 0, at)
		resp, err := c.Call(context.Background(), wire.NewRequest(wire.ReqPullMessage, h, nil))
		if err != nil || resp.Code != wire.Success {
			b.Fatalf("pull at %d: %v %+v", at, err, resp)
		}
		for range msg.Views(resp.Body) {
			at++
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
}

// fillQueue stores n messages by the store's own door.
func fillQueue(b *testing.B, br *Broker, n int) {
	b.Helper()
	if _, err := br.autoCreate(b.Context(), "T", msg.TopicAutoCreate, 4); err != nil {
		b.Fatal(err)
	}
	data := bytes.Repeat([]byte("x"), 1024)
	var wg sync.WaitGroup
	for n > 0 {
		k := min(n, 64)
		n -= k
		a := &store.Append{Msgs: make([]msg.Message, k), Done: func(_ *store.Append, err error) {
			if err != nil {
				b.Error(err)
			}
			wg.Done()
		}}
		for i := range a.Msgs {
			a.Msgs[i] = msg.Message{Topic: "T", Body: data, StoreHost: br.storeHost, BornHost: br.storeHost}
		}
		wg.Add(1)
		if err := br.store.Append(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
	wg.Wait()
}
