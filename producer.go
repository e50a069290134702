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
// Messages that have a key or a selector go through one pipeline per queue,
// which keeps their order: those that wait anyway share a request. A broker of
// ours that numbers producers has up to 8 requests of a queue under way, stores
// each message once and in its place whatever is repeated. Towards another one
// request of a queue is under way at a time: nothing can overtake a retry.
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
	rounds []*round       // those that are not over; the last one takes sends
	sends  sync.WaitGroup // accepted and not settled; Add only under mu and not closed

	line      sync.Mutex
	pipelines map[string]*pipeline   // by broker name
	unplaced  map[string][]*outgoing // by topic, while its queues are not known
	wg        sync.WaitGroup         // goroutines; they end when ctx has ended
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
		rounds: []*round{newRound()}, pipelines: map[string]*pipeline{}, unplaced: map[string][]*outgoing{},
	}
	p.cfg.Name = or(cfg.Name, c.id+"/"+c.ids.Next())
	p.ctx, p.cancel = context.WithCancelCause(c.ctx)
	if err := c.addProducer(p); err != nil {
		p.cancel(err)
		return nil, err
	}
	c.announceAll()
	return p, nil
}

// Send stores m and says where. If ctx ends first it returns an *UnderWayError,
// which is also ctx's error, while the send goes on until DeliveryTimeout, in its
// place in the key's order.
func (p *Producer) Send(ctx context.Context, m *Message) (Receipt, error) {
	u := &UnderWayError{done: make(chan struct{})}
	if m != nil {
		u.Topic, u.OrderingKey = m.Topic, m.OrderingKey
	}
	p.submit(ctx, &job{ms: []*Message{m}, inline: true}, func(receipts []Receipt, err error) {
		u.receipt, u.err = receipts[0], unbatched(err)
		close(u.done)
	})
	select {
	case <-u.done:
		return u.receipt, u.err
	case <-ctx.Done():
		u.Cause = context.Cause(ctx)
		return Receipt{}, u
	}
}

// unbatched is the error of the only message.
func unbatched(err error) error {
	if batch, ok := errors.AsType[*BatchError](err); ok {
		return batch.Errs[0]
	}
	return err
}

// SendAsync takes m in call order and returns; done (which may be nil) runs
// once: on another goroutine when m is stored or given up, or before SendAsync
// returns if m is refused at once. Callbacks of a queue run one after the other,
// in order: one that takes long holds up the next ones, not the sending. It must
// neither close nor flush the producer. SendAsync waits for room when too much
// is pending, at most until ctx ends; with FailFast it fails with
// ErrProducerFull. m must not be changed before done runs.
func (p *Producer) SendAsync(ctx context.Context, m *Message, done func(Receipt, error)) {
	if done == nil {
		done = func(Receipt, error) {}
	}
	p.submit(ctx, &job{ms: []*Message{m}}, func(receipts []Receipt, err error) {
		done(receipts[0], unbatched(err))
	})
}

// SendOneway writes m to the broker's connection and asks for no answer:
// nobody will know whether it was stored. Its place in the order of its key is
// kept against the calls before it, no more.
func (p *Producer) SendOneway(ctx context.Context, m *Message) error {
	result := make(chan error, 1)
	p.submit(ctx, &job{ms: []*Message{m}, oneway: true, inline: true}, func(_ []Receipt, err error) { result <- err })
	select {
	case err := <-result:
		return unbatched(err)
	case <-ctx.Done():
		return fmt.Errorf("orderly: send to %s: the send goes on without its caller: %w", m.Topic, context.Cause(ctx))
	}
}

// SendBatch stores messages of one topic. Messages of one key keep their order,
// with those of earlier and later calls too, and share requests. On failure the error is a *BatchError and the
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
	p.submit(ctx, &job{ms: ms, batch: true, inline: true}, func(rs []Receipt, err error) {
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
	p.line.Lock()
	defer p.line.Unlock()
	was := p.chains.resume(link{topic: topic, key: key})
	for _, l := range p.pipelines {
		l.inbox.post(pipeEvent{kind: pipeResume, key: parcelKey(topic, key)})
	}
	return was
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
	p.wg.Wait()
	p.c.dropProducer(p)
	return err
}
