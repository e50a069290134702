// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orderlymq/orderly"
)

// FillOptions say what is stored for a drain. All are required.
type FillOptions struct {
	Topic string
	Keys  int
	Body  int
	Count int64
}

// fillers is how many goroutines fill, each with keys of its own.
const (
	fillers   = 4
	fillBatch = 256
)

// Fill stores messages as fast as it can, numbered within each key.
func Fill(ctx context.Context, c *orderly.Client, o FillOptions) error {
	if o.Keys < fillers || o.Count < 1 || o.Body < MinBody {
		return fmt.Errorf("load: fill needs at least %d keys, a message and %d bytes of body", fillers, MinBody)
	}
	p, err := c.NewProducer(orderly.ProducerConfig{CompressAbove: -1})
	if err != nil {
		return err
	}
	defer func() { _ = p.Close(ctx) }()
	bodies := newBodies(o.Body)
	var wg sync.WaitGroup
	errs := make([]error, fillers)
	for f := range fillers {
		wg.Go(func() { errs[f] = fill(ctx, p, bodies, o, f) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// fill sends the messages f, f+fillers, ... of the run; message i is of key i
// modulo Keys, so that a key has one filler if Keys is a multiple of fillers.
func fill(ctx context.Context, p *orderly.Producer, bodies bodies, o FillOptions, f int) error {
	keys := int64(o.Keys / fillers * fillers)
	var batch []*orderly.Message
	for i := int64(f); i < o.Count; i += fillers {
		k := uint32(i % keys)
		batch = append(batch, &orderly.Message{
			Topic: o.Topic, OrderingKey: keyName(k), Body: bodies.make(k, uint64(i/keys)),
		})
		if len(batch) < fillBatch && i+fillers < o.Count {
			continue
		}
		if _, err := p.SendBatch(ctx, batch); err != nil {
			return fmt.Errorf("load: fill: %w", err)
		}
		batch = batch[:0]
	}
	return nil
}

// DrainOptions say how stored messages are consumed. Topic, Group, Count and
// Limit are required.
type DrainOptions struct {
	Topic, Group string
	Order        orderly.Order
	Workers      int           // handler calls at once; 0: the client's default
	Work         time.Duration // a handler takes; 0: it returns at once
	// Stuck messages are those of the first key: its first one fails for ever, so
	// that the rest wait. 0: none is stuck.
	Stuck int64
	Count int64         // messages that are stored
	Limit time.Duration // gives up after
}

// DrainResult is what came of it.
type DrainResult struct {
	Verdict
	Missing      int64   `json:"missing"`
	FirstMessage float64 `json:"first_message_seconds"` // from the start of the consumer
	Seconds      float64 `json:"seconds"`               // from the first message to the last
	PerSecond    float64 `json:"per_second"`
	// HeapHalf and HeapEnd are the live memory of this process after a collection,
	// in MiB: when half of the messages were handled, and all.
	HeapHalf float64 `json:"heap_half_mib"`
	HeapEnd  float64 `json:"heap_end_mib"`
}

// Drain consumes with one consumer until every message was handled that can be.
func Drain(ctx context.Context, c *orderly.Client, o DrainOptions) (DrainResult, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	j := judge{loose: o.Order == orderly.Unordered}
	var first, last atomic.Int64 // times since began
	began := time.Now()
	want := o.Count - o.Stuck
	heaps := make(chan float64, 2)
	cfg := orderly.ConsumerConfig{Group: o.Group, Topic: o.Topic, Order: o.Order, Concurrency: o.Workers}
	err := c.Consume(ctx, cfg, func(ctx context.Context, m *orderly.Message) error {
		key, seq, err := readBody(m.Body)
		if err != nil {
			return err
		}
		if key == 0 && o.Stuck > 0 {
			return orderly.RetryAfter(30*time.Second, errStuck)
		}
		first.CompareAndSwap(0, int64(time.Since(began)))
		if o.Work > 0 && !work(ctx, o.Work) {
			return context.Cause(ctx)
		}
		switch j.see(key, seq) {
		case want / 2:
			heaps <- heap()
		case want:
			last.CompareAndSwap(0, int64(time.Since(began)))
			heaps <- heap()
			cancel()
		}
		return nil
	})
	if err != nil {
		return DrainResult{}, err
	}
	if last.Load() == 0 {
		last.Store(int64(time.Since(began)))
	}
	took := time.Duration(last.Load() - first.Load())
	r := DrainResult{
		Verdict: j.Verdict, Missing: want - j.Received,
		FirstMessage: round(time.Duration(first.Load()).Seconds()), Seconds: round(took.Seconds()),
	}
	if len(heaps) == 2 {
		r.HeapHalf, r.HeapEnd = <-heaps, <-heaps
	}
	if took > 0 {
		r.PerSecond = round(float64(j.Received) / took.Seconds())
	}
	return r, nil
}

var errStuck = errors.New("this key is stuck on purpose")

// work takes d; it reports false if ctx ended first.
func work(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// heap is the live memory of this process in MiB.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return round(float64(m.HeapAlloc) / (1 << 20))
}
