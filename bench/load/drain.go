// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
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
	Count        int64         // messages that are stored
	Limit        time.Duration // gives up after
}

// DrainResult is what came of it.
type DrainResult struct {
	Verdict
	Missing      int64   `json:"missing"`
	FirstMessage float64 `json:"first_message_seconds"` // from the start of the consumer
	Seconds      float64 `json:"seconds"`               // from the first message to the last
	PerSecond    float64 `json:"per_second"`
}

// Drain consumes with one consumer until every message was handled.
func Drain(ctx context.Context, c *orderly.Client, o DrainOptions) (DrainResult, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	var j judge
	var first, last atomic.Int64 // times since began
	began := time.Now()
	cfg := orderly.ConsumerConfig{Group: o.Group, Topic: o.Topic, Order: o.Order}
	err := c.Consume(ctx, cfg, func(_ context.Context, m *orderly.Message) error {
		key, seq, err := readBody(m.Body)
		if err != nil {
			return err
		}
		first.CompareAndSwap(0, int64(time.Since(began)))
		if j.see(key, seq) == o.Count {
			last.CompareAndSwap(0, int64(time.Since(began)))
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
		Verdict: j.Verdict, Missing: o.Count - j.Received,
		FirstMessage: round(time.Duration(first.Load()).Seconds()), Seconds: round(took.Seconds()),
	}
	if took > 0 {
		r.PerSecond = round(float64(j.Received) / took.Seconds())
	}
	return r, nil
}
