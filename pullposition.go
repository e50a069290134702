// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func compareQueues(a, b Queue) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.ID, b.ID))
}

// commitAsk is a reader's wish to have its position written down.
type commitAsk struct {
	to   int64
	done chan error
}

// ask carries a commit of the reader out: everything that was said before it
// comes first.
func (l *lane) ask(a commitAsk) {
	for _, ev := range l.box.take() {
		if l.released == nil {
			l.step(ev)
		}
	}
	if l.released != nil {
		return // whoever waits sees that the lane is over
	}
	l.step(order.LaneEvent{Kind: order.LaneCommitTo, Offset: a.to})
	a.to = l.core.CommitOffset()
	l.commits = append(l.commits, a)
	l.answerCommits()
}

// answerCommits answers the asks whose position the broker has.
func (l *lane) answerCommits() {
	open := l.commits[:0]
	for _, a := range l.commits {
		if l.core.Committed() < a.to {
			open = append(open, a)
			continue
		}
		a.done <- nil
	}
	l.commits = open
}

// commitTo commits the reader's position and waits for the broker's answer.
func (l *lane) commitTo(ctx context.Context, to int64) error {
	a := commitAsk{to: to, done: make(chan error, 1)}
	select {
	case l.asks <- a:
	case <-l.over:
		return l.ending()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-a.done:
		return err
	case <-l.over:
		return l.ending()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ending is what the end of a lane means for a commit: a clean one has
// committed everything.
func (l *lane) ending() error {
	if l.released.Lost || l.core.Uncommitted() {
		return &QueueLostError{Queue: l.queue}
	}
	return nil
}

// commitLater commits all that was let go, and waits for nothing.
func (p *PullConsumer) commitLater() {
	for _, l := range p.box.lanes() {
		l.post(order.LaneEvent{Kind: order.LaneCommitTo, Offset: math.MaxInt64})
	}
}

// Commit commits everything that Poll has returned, and waits until the broker
// has written it down. A *QueueLostError says that the commit of a queue does
// not count, because another member has it.
func (p *PullConsumer) Commit(ctx context.Context) error {
	p.box.letGo(committed)
	to := map[Queue]int64{}
	for _, l := range p.box.lanes() {
		to[l.queue] = math.MaxInt64
	}
	return p.commit(ctx, to)
}

// CommitTo commits positions: of each queue the offset of the next message to be
// read. It may not lie beyond what Poll has returned (ErrInvalid); one that is
// lower than what is committed changes nothing, for only Seek goes back.
func (p *PullConsumer) CommitTo(ctx context.Context, positions map[Queue]int64) error {
	for q, offset := range positions {
		at, ok := p.box.find(q)
		if !ok {
			return fmt.Errorf("%w: %v", ErrNotAssigned, q)
		}
		if offset < 0 || offset > at.position {
			return fmt.Errorf("%w: commit of %v to %d, the next message to be polled is %d", ErrInvalid, q, offset, at.position)
		}
	}
	p.box.letGo(func(h *handed) (int64, bool) {
		to, named := positions[h.lane.queue]
		return to, named
	})
	return p.commit(ctx, positions)
}

func (p *PullConsumer) commit(ctx context.Context, to map[Queue]int64) error {
	answers := make(chan error, len(to))
	for q, offset := range to {
		at, ok := p.box.find(q)
		if !ok {
			answers <- &QueueLostError{Queue: q}
			continue
		}
		go func() { answers <- at.lane.commitTo(ctx, offset) }()
	}
	var errs []error
	for range to {
		errs = append(errs, <-answers)
	}
	return errors.Join(errs...)
}

// Position is the offset of the next message of q that Poll returns, if it is
// there.
func (p *PullConsumer) Position(q Queue) (int64, error) {
	at, ok := p.box.find(q)
	if !ok {
		return 0, fmt.Errorf("%w: %v", ErrNotAssigned, q)
	}
	return at.position, nil
}

// Committed is the group's position in q as the broker has it, -1 if there is
// none.
func (p *PullConsumer) Committed(ctx context.Context, q Queue) (int64, error) {
	b, err := p.broker(q)
	if err != nil {
		return 0, err
	}
	return b.position(ctx, p.m.cfg.Group, q)
}

func (p *PullConsumer) broker(q Queue) (*broker, error) {
	at, ok := p.box.find(q)
	if !ok {
		return nil, fmt.Errorf("%w: %v", ErrNotAssigned, q)
	}
	return at.lane.b, nil
}

// SeekBegin is Seek to the oldest message of q.
func (p *PullConsumer) SeekBegin(ctx context.Context, q Queue) error {
	return p.seek(ctx, q, func(b *broker) (int64, error) { return b.firstOffset(ctx, q) })
}

// SeekEnd is Seek behind the newest message of q.
func (p *PullConsumer) SeekEnd(ctx context.Context, q Queue) error {
	return p.seek(ctx, q, func(b *broker) (int64, error) { return b.endOffset(ctx, q) })
}

// SeekTime is Seek to the first message of q that was stored at t or later.
func (p *PullConsumer) SeekTime(ctx context.Context, q Queue, t time.Time) error {
	return p.seek(ctx, q, func(b *broker) (int64, error) { return b.offsetAt(ctx, q, t) })
}

func (p *PullConsumer) seek(ctx context.Context, q Queue, find func(*broker) (int64, error)) error {
	b, err := p.broker(q)
	if err != nil {
		return err
	}
	offset, err := find(b)
	if err != nil {
		return err
	}
	return p.Seek(ctx, q, offset)
}

// Seek sets the group's position in q, forward or back, within what the queue
// holds. It is a reset: the broker writes the new position down at once, gives
// the queue a new epoch (Message.Fence grows), and logs the old and the new
// position. After it Poll begins there, and what was read ahead is gone. ctx
// bounds the wait; if it ends early the position may be set nevertheless.
func (p *PullConsumer) Seek(ctx context.Context, q Queue, offset int64) error {
	at, ok := p.box.find(q)
	if !ok {
		return fmt.Errorf("%w: %v", ErrNotAssigned, q)
	}
	l := at.lane
	l.seeking.Store(true)
	l.post(order.LaneEvent{Kind: order.LanePause}) // nothing is handed out in between
	of := func(h *handed) bool { return h.lane == l }
	p.box.letGo(func(h *handed) (int64, bool) { return 0, of(h) })
	p.box.withdraw(of)
	if l.b.ours() {
		if err := l.b.reset(ctx, p.m.cfg.Group, q, offset); err != nil {
			l.seeking.Store(false)
			p.unpause(l)
			return fmt.Errorf("seek of %v to %d: %w", q, offset, err)
		}
		l.post(order.LaneEvent{Kind: order.LaneLost})
	} else {
		p.m.do(func() { p.m.reset(map[Queue]int64{q: offset}) })
	}
	return p.await(ctx, func() error {
		if now := p.box.queues[q]; now == nil || now.lane == l {
			held := p.box.holders[q]
			held.Queue = q
			return &held
		}
		return nil
	})
}

// unpause lets a lane go on whose seek has failed.
func (p *PullConsumer) unpause(l *lane) {
	p.box.mu.Lock()
	defer p.box.mu.Unlock()
	if !p.box.paused[l.queue] {
		l.post(order.LaneEvent{Kind: order.LaneResume})
	}
}

// reset sets the group's position in a queue, as an operator's tool does.
func (b *broker) reset(ctx context.Context, group string, q Queue, offset int64) error {
	h := &header.InvokeBrokerToResetOffset{
		Topic: q.Topic, Group: group, Timestamp: header.Some(int64(-1)), IsForce: true,
		QueueID: header.Some(int32(q.ID)), Offset: header.Some(offset),
	}
	_, err := b.request(ctx, wire.NewRequest(wire.ReqInvokeBrokerToResetOffset, h, nil))
	return err
}
