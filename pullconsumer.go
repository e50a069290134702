// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orderlymq/orderly/internal/order"
)

// PullConsumer reads messages when its caller asks for them, as
// DefaultLitePullConsumer does. It is given queues by the group (Subscribe) or
// by hand (Assign), not both.
//
// Each queue is read under its lease, by one consumer of the group at a time, in
// order. What Poll returned is in the caller's hands until its next Poll,
// Commit, CommitTo or Seek, or Close: before that a queue that moves to another
// member is not given away, unless this process falls silent. A caller that
// stops polling therefore keeps the queues it has; `orderly blocked` lists them.
//
// Poll, Commit, CommitTo and Seek belong to one goroutine at a time; the other
// methods may be called from any.
type PullConsumer struct {
	c   *Client
	m   *member
	box *pullBox

	auto     time.Duration
	commitAt time.Time // of the next commit by a poll; the reader's
	polling  atomic.Bool

	mu      sync.Mutex
	mode    pullMode
	balance func() // starts the rebalance, once

	stop sync.Once
	gone chan struct{} // Close was called
	done chan struct{} // everything is given back
	err  error
}

type pullMode int

const (
	pullNone pullMode = iota
	pullSubscribed
	pullAssigned
)

// NewPullConsumer makes a pull consumer that has no queues yet. Close ends it,
// and so does Client.Close.
func (c *Client) NewPullConsumer(cfg PullConsumerConfig) (*PullConsumer, error) {
	full, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	m := c.makeMember(c.ctx, full)
	m.pull = newPullBox(m, cfg.AutoCommit >= 0)
	if err := c.addMember(m); err != nil {
		return nil, err
	}
	p := &PullConsumer{
		c: c, m: m, box: m.pull, auto: or(cfg.AutoCommit, 5*time.Second), commitAt: time.Now(),
		gone: make(chan struct{}), done: make(chan struct{}),
	}
	balancing, stop := context.WithCancel(c.ctx)
	p.balance = func() { m.wg.Go(func() { m.balance(balancing) }) }
	m.wg.Go(m.run)
	m.wg.Go(func() { m.watch(balancing) })
	go p.run(stop)
	return p, nil
}

// run waits for the end and brings it about. Close and Client.Close wait for it.
func (p *PullConsumer) run(stop context.CancelFunc) {
	defer close(p.done)
	defer p.c.release(p.m)
	var refused error
	select {
	case <-p.gone:
	case <-p.c.closing:
	case refused = <-p.m.refused:
	}
	p.box.close()
	if p.auto > 0 {
		p.commitLater()
	}
	p.mu.Lock()
	p.mode, p.balance = pullNone, nil
	p.mu.Unlock()
	stop()
	p.m.ending.Store(true)
	p.m.do(func() { p.m.close(p.m.cfg.CloseTimeout) })
	<-p.m.ended
	p.m.leave()
	p.m.wg.Wait()
	p.err = refused
}

// Close ends a Poll that waits, drops what is read ahead, commits what was asked
// for (with AutoCommit all that Poll has returned), and gives the queues back.
// It returns an error only if the group did not let the consumer in
// (ErrMemberNameInUse).
func (p *PullConsumer) Close() error {
	p.stop.Do(func() { close(p.gone) })
	<-p.done
	return p.err
}

// Subscribe has the group share the queues of a topic out among its members,
// this one included. It may be called for several topics, and again for one
// to change its filter. All members must subscribe to the same. ctx bounds the
// search for the topic.
func (p *PullConsumer) Subscribe(ctx context.Context, topic string, filter Filter) error {
	sub, err := newSubscription(topic, filter)
	if err != nil {
		return err
	}
	if err := p.c.awaitTopic(ctx, topic); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.balance == nil:
		return ErrClosed
	case p.mode == pullAssigned:
		return fmt.Errorf("%w: Subscribe after Assign: queues come from the group or by hand", ErrInvalid)
	}
	p.m.subscribe(sub)
	if p.mode == pullNone {
		p.mode = pullSubscribed
		p.balance()
	}
	p.c.announceAll()
	p.m.rebalance()
	return nil
}

// Assign has the consumer read these queues, and no others than these. It waits
// until it has them all. When ctx ends before that it returns a *QueueHeldError
// for each queue that another member still has; they stay assigned, and are read
// as soon as they are free.
func (p *PullConsumer) Assign(ctx context.Context, queues ...Queue) error {
	for _, q := range queues {
		if err := p.c.awaitTopic(ctx, q.Topic); err != nil {
			return err
		}
	}
	if err := p.setAssigned(queues); err != nil {
		return err
	}
	return p.await(ctx, func() error {
		var errs []error
		for _, q := range queues {
			if p.box.queues[q] == nil {
				held := p.box.holders[q]
				held.Queue = q
				errs = append(errs, &held)
			}
		}
		return errors.Join(errs...)
	})
}

func (p *PullConsumer) setAssigned(queues []Queue) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.balance == nil:
		return ErrClosed
	case p.mode == pullSubscribed:
		return fmt.Errorf("%w: Assign after Subscribe: queues come from the group or by hand", ErrInvalid)
	}
	p.mode = pullAssigned
	known := len(p.m.subscriptions())
	for _, q := range queues {
		p.m.subscribe(subscription{topic: q.Topic, expr: p.m.wants(q.Topic).expr})
	}
	if len(p.m.subscriptions()) != known {
		p.c.announceAll()
	}
	share := assignment{queues: slices.Clone(queues)}
	p.m.do(func() { p.m.assign(share) })
	return nil
}

// await waits until missing, which is called with the box locked, finds nothing
// missing any more.
func (p *PullConsumer) await(ctx context.Context, missing func() error) error {
	for {
		p.box.mu.Lock()
		err, turn := missing(), p.box.turn
		p.box.mu.Unlock()
		if err == nil {
			return nil
		}
		select {
		case <-turn:
		case <-p.done:
			return ErrClosed
		case <-p.gone:
			return ErrClosed
		case <-ctx.Done():
			return err
		}
	}
}

// Poll returns the next messages of the consumer's queues, at most max, in the
// order of each queue; it waits until there is one. It ends the hold on what
// earlier polls returned, and if AutoCommit is due commits that first. If a
// queue was lost it returns a *QueueLostError, once, and goes on with the others
// at the next call. When ctx ends it returns its error, after Close ErrClosed.
func (p *PullConsumer) Poll(ctx context.Context, max int) ([]*Message, error) {
	if max < 1 {
		return nil, fmt.Errorf("%w: Poll of at most %d messages", ErrInvalid, max)
	}
	if !p.polling.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("%w: Poll is already under way", ErrInvalid)
	}
	defer p.polling.Store(false)
	p.box.letGo(withoutCommit)
	if now := time.Now(); p.auto > 0 && !now.Before(p.commitAt) {
		p.commitAt = now.Add(p.auto)
		p.commitLater()
	}
	for {
		ms, err := p.box.take(max)
		if len(ms) > 0 || err != nil {
			return ms, err
		}
		select {
		case <-p.box.wake:
		case <-p.gone:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Queues lists the readable queues of a topic.
func (p *PullConsumer) Queues(ctx context.Context, topic string) ([]Queue, error) {
	if err := p.c.awaitTopic(ctx, topic); err != nil {
		return nil, err
	}
	r, err := p.c.routes.get(ctx, topic)
	if err != nil {
		return nil, err
	}
	queues, err := r.route.Subscribable(topic)
	return fromRoute(queues), err
}

// Assignment lists the queues that the consumer has, the ones in the middle of a
// move included.
func (p *PullConsumer) Assignment() []Queue {
	var queues []Queue
	for _, l := range p.box.lanes() {
		queues = append(queues, l.queue)
	}
	slices.SortFunc(queues, compareQueues)
	return queues
}

// Pause stops the reading of queues: Poll returns nothing of them, what was read
// ahead included, until Resume. It outlasts a loss of the queue.
func (p *PullConsumer) Pause(queues ...Queue) { p.setPaused(true, queues) }

// Resume ends Pause.
func (p *PullConsumer) Resume(queues ...Queue) { p.setPaused(false, queues) }

func (p *PullConsumer) setPaused(on bool, queues []Queue) {
	kind := order.LaneResume
	if on {
		kind = order.LanePause
	}
	for _, q := range queues {
		p.box.mu.Lock()
		if on {
			p.box.paused[q] = true
		} else {
			delete(p.box.paused, q)
		}
		at := p.box.queues[q]
		if at != nil {
			at.lane.post(order.LaneEvent{Kind: kind})
		}
		p.box.mu.Unlock()
		if at != nil && on {
			p.box.withdraw(func(h *handed) bool { return h.lane == at.lane })
		}
	}
}
