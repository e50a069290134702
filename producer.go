// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Producer sends messages. Its methods may be called from several goroutines;
// "call order" below is the order in which calls of one key were made, so
// order between goroutines is the caller's business.
//
// Of each key one message is under way at a time; what follows waits in the
// client. That is what makes retries safe: nothing can overtake them.
type Producer struct {
	c      *Client
	cfg    ProducerConfig
	chains *chains
	budget *budget
	health *health
	places *places
	turn   atomic.Uint32 // of the round robin

	ctx    context.Context // ends the sends under way
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	sends  sync.WaitGroup // accepted and not settled; Add only under mu and not closed
}

// NewProducer starts a producer. Close it, or the client.
func (c *Client) NewProducer(cfg ProducerConfig) (*Producer, error) {
	cfg, err := cfg.complete(c.cfg.RequestTimeout)
	if err != nil {
		return nil, err
	}
	p := &Producer{
		c: c, cfg: cfg,
		chains: newChains(cfg.MaxStoppedKeys),
		budget: newBudget(cfg.MaxPending, cfg.MaxPendingBytes),
		health: newHealth(),
		places: newPlaces(c, cfg),
	}
	p.ctx, p.cancel = context.WithCancelCause(c.ctx)
	if err := c.addProducer(p); err != nil {
		p.cancel(err)
		return nil, err
	}
	c.announceAll()
	return p, nil
}

// Send stores m and says where. If ctx ends first it returns ctx's error while
// the send goes on until DeliveryTimeout, in its place in the key's order.
func (p *Producer) Send(ctx context.Context, m *Message) (Receipt, error) {
	var r Receipt
	result := make(chan error, 1)
	p.SendAsync(ctx, m, func(receipt Receipt, err error) {
		r = receipt
		result <- err
	})
	select {
	case err := <-result:
		return r, err
	case <-ctx.Done():
		return Receipt{}, fmt.Errorf("orderly: send to %s: the send goes on without its caller: %w", m.Topic, context.Cause(ctx))
	}
}

// SendAsync takes m in call order and returns; done (which may be nil) runs
// once: on another goroutine when m is stored or given up, or before SendAsync
// returns if m is refused at once. The key's next message waits for done to
// return; it must not close the producer. SendAsync waits for room when too
// much is pending, at most until ctx ends. m must not be changed before done
// runs.
func (p *Producer) SendAsync(ctx context.Context, m *Message, done func(Receipt, error)) {
	if done == nil {
		done = func(Receipt, error) {}
	}
	p.submit(ctx, &job{ms: []*Message{m}}, func(receipts []Receipt, err error) {
		if batch, ok := errors.AsType[*BatchError](err); ok {
			err = batch.Errs[0]
		}
		done(receipts[0], err)
	})
}

// SendOneway writes m to the broker's connection and asks for no answer:
// nobody will know whether it was stored. Its place in the order of its key is
// kept against the calls before it, no more.
func (p *Producer) SendOneway(ctx context.Context, m *Message) error {
	result := make(chan error, 1)
	p.submit(ctx, &job{ms: []*Message{m}, oneway: true}, func(_ []Receipt, err error) { result <- err })
	select {
	case err := <-result:
		if batch, ok := errors.AsType[*BatchError](err); ok {
			err = batch.Errs[0]
		}
		return err
	case <-ctx.Done():
		return fmt.Errorf("orderly: send to %s: the send goes on without its caller: %w", m.Topic, context.Cause(ctx))
	}
}

// SendBatch stores messages of one topic with one request per queue. Messages
// of one key keep their order. On failure the error is a *BatchError and the
// receipts of the stored messages are there.
func (p *Producer) SendBatch(ctx context.Context, ms []*Message) ([]Receipt, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	for _, m := range ms {
		if m != nil && ms[0] != nil && m.Topic != ms[0].Topic {
			return nil, fmt.Errorf("%w batch: topics %s and %s", ErrInvalid, ms[0].Topic, m.Topic)
		}
	}
	var receipts []Receipt
	result := make(chan error, 1)
	p.submit(ctx, &job{ms: ms, batch: true}, func(rs []Receipt, err error) {
		receipts = rs
		result <- err
	})
	select {
	case err := <-result:
		return receipts, err
	case <-ctx.Done():
		return nil, fmt.Errorf("orderly: send to %s: the send goes on without its caller: %w", ms[0].Topic, context.Cause(ctx))
	}
}

// Resume lets a stopped key go on. It reports whether the key was stopped.
func (p *Producer) Resume(topic, key string) bool {
	return p.chains.resume(link{topic: topic, key: key})
}

// StoppedKey is a key that a failed message stopped.
type StoppedKey struct {
	Topic       string
	OrderingKey string
	Since       time.Time
	Cause       error
}

// Stopped lists the stopped keys, oldest first.
func (p *Producer) Stopped() []StoppedKey { return p.chains.list() }

// Close refuses new messages and returns when the accepted ones are settled;
// messages that are still unsent when ctx ends fail with ErrClosed.
func (p *Producer) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.budget.close(ErrClosed)
	settled := make(chan struct{})
	go func() {
		p.sends.Wait()
		close(settled)
	}()
	var err error
	select {
	case <-settled:
	case <-ctx.Done():
		err = fmt.Errorf("orderly: producer closed with messages unsent: %w", context.Cause(ctx))
	}
	p.cancel(ErrClosed)
	<-settled
	p.c.dropProducer(p)
	return err
}

// accept counts one more send, unless the producer is closed.
func (p *Producer) accept() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.sends.Add(1)
	return true
}
