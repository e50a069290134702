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

// SendOptions say what is sent. Topic, Senders, Body and Count are required.
type SendOptions struct {
	Topic    string
	Senders  int
	InFlight int // of each sender; 0 or 1 sends synchronously
	Keys     int // each belongs to one sender; 0 sends without key
	Body     int // bytes
	Count    int64
	Duration time.Duration // 0 is not bounded by time
}

// SendResult is what came of it.
type SendResult struct {
	Messages   int64   `json:"messages"`
	Failed     int64   `json:"failed"`
	Seconds    float64 `json:"seconds"`
	PerSecond  float64 `json:"per_second"`
	Latency    Summary `json:"latency"`
	OutOfOrder int64   `json:"stored_out_of_order"` // of a key; always 0 without keys
}

// Send sends until the count or the time is up, and waits for every answer.
func Send(ctx context.Context, c *orderly.Client, o SendOptions) (SendResult, error) {
	if err := o.check(); err != nil {
		return SendResult{}, err
	}
	p, err := c.NewProducer(orderly.ProducerConfig{CompressAbove: -1})
	if err != nil {
		return SendResult{}, err
	}
	defer func() { _ = p.Close(ctx) }() // everything is settled by then
	r := &sending{SendOptions: o, p: p, bodies: newBodies(o.Body), keys: make([]keyState, max(o.Keys, 1))}
	if err := r.warmUp(ctx); err != nil {
		return SendResult{}, err
	}
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.stop = cancel
	began := time.Now()
	if o.Duration > 0 {
		r.until = began.Add(o.Duration)
	}
	var wg sync.WaitGroup
	for s := range o.Senders {
		wg.Go(func() { r.sender(run, s) })
	}
	wg.Wait()
	return r.result(time.Since(began)), errors.Join(context.Cause(ctx), r.firstError())
}

func (o SendOptions) check() error {
	switch {
	case o.Senders < 1 || o.Count < 1:
		return errors.New("load: at least one sender and one message are needed")
	case o.Keys < 0 || o.Keys > 0 && o.Keys < o.Senders:
		return fmt.Errorf("load: %d keys for %d senders: a key belongs to one sender, so there must be as many, or none", o.Keys, o.Senders)
	case o.Body < MinBody:
		return fmt.Errorf("load: a body has at least %d bytes", MinBody)
	}
	return nil
}

// maxFailures ends a run that makes no sense any more.
const maxFailures = 1000

// sending is a run in progress.
type sending struct {
	SendOptions
	p      *orderly.Producer
	bodies bodies
	keys   []keyState
	until  time.Time
	stop   context.CancelCauseFunc

	taken     atomic.Int64
	done      atomic.Int64
	failed    atomic.Int64
	disorder  atomic.Int64
	latencies Latencies

	mu  sync.Mutex
	err error // the first
}

// keyState is what a key's sender and, one after the other, its callbacks know.
type keyState struct {
	seq  uint64
	last orderly.Receipt
	any  bool
}

// warmUp learns the route and opens the connection.
func (r *sending) warmUp(ctx context.Context) error {
	for range 3 {
		m := &orderly.Message{Topic: r.Topic, Body: r.bodies.make(0, 0)}
		if r.Keys > 0 {
			m.OrderingKey = "warm-up"
		}
		if _, err := r.p.Send(ctx, m); err != nil {
			return fmt.Errorf("load: the first message: %w", err)
		}
	}
	return nil
}

func (r *sending) sender(ctx context.Context, s int) {
	slots := make(chan struct{}, max(r.InFlight, 1))
	for k := s; r.more(ctx); {
		slots <- struct{}{}
		r.send(ctx, k, func() { <-slots })
		if k += r.Senders; k >= r.Keys {
			k = s
		}
	}
	for range cap(slots) { // until every answer is there
		slots <- struct{}{}
	}
}

// more takes the right to send one more message.
func (r *sending) more(ctx context.Context) bool {
	if ctx.Err() != nil || !r.until.IsZero() && time.Now().After(r.until) {
		return false
	}
	return r.taken.Add(1) <= r.Count
}

func (r *sending) send(ctx context.Context, k int, free func()) {
	m := &orderly.Message{Topic: r.Topic}
	var key *keyState
	if r.Keys > 0 {
		key = &r.keys[k]
		m.OrderingKey = keyName(uint32(k))
		m.Body = r.bodies.make(uint32(k), key.seq)
		key.seq++
	} else {
		m.Body = r.bodies.make(0, uint64(r.taken.Load()))
	}
	began := time.Now()
	r.p.SendAsync(ctx, m, func(receipt orderly.Receipt, err error) {
		r.settled(key, receipt, err, time.Since(began))
		free()
	})
}

func (r *sending) settled(key *keyState, receipt orderly.Receipt, err error, took time.Duration) {
	if err != nil {
		r.fail(err)
		return
	}
	r.done.Add(1)
	r.latencies.Add(took)
	if key == nil {
		return
	}
	if key.any && (receipt.Queue != key.last.Queue || receipt.Offset <= key.last.Offset) {
		r.disorder.Add(1)
	}
	key.last, key.any = receipt, true
}

func (r *sending) fail(err error) {
	r.mu.Lock()
	if r.err == nil {
		r.err = err
	}
	r.mu.Unlock()
	if r.failed.Add(1) == maxFailures {
		r.stop(err)
	}
}

// firstError is nil as long as only some of the messages failed.
func (r *sending) firstError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done.Load() > 0 && r.failed.Load() < maxFailures {
		return nil
	}
	if r.err != nil {
		return fmt.Errorf("load: %d messages failed, the first: %w", r.failed.Load(), r.err)
	}
	return nil
}

func (r *sending) result(took time.Duration) SendResult {
	n := r.done.Load()
	return SendResult{
		Messages: n, Failed: r.failed.Load(), Seconds: round(took.Seconds()), PerSecond: round(float64(n) / took.Seconds()),
		Latency: r.latencies.Summary(), OutOfOrder: r.disorder.Load(),
	}
}

// round keeps three decimals.
func round(v float64) float64 { return float64(int64(v*1000+0.5)) / 1000 }
