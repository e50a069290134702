// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"time"

	"github.com/orderlymq/orderly/internal/order"
)

// handOut calls the handler with entries on a goroutine of its own, as soon as
// one of the member's slots is free, and posts what came of it. entries stay
// as they are until then.
func (l *lane) handOut(token order.LaneToken, entries []order.Entry, attempt int32) {
	if l.m.pull != nil {
		l.calledAt = time.Now()
		l.running[token] = l.m.pull.offer(l, token, entries, attempt)
		return
	}
	ctx, cancel := context.WithCancelCause(l.m.handlerCtx)
	l.running[token] = cancel
	l.calledAt = time.Now()
	this := &call{token: token, entries: entries, attempt: attempt}
	l.calls[token] = this
	l.handlers.Go(func() {
		if !l.enter(ctx, token) {
			l.settle(token, entries, attempt, outcome{verdict: order.Retry, err: context.Cause(ctx)})
			return
		}
		defer l.m.slots.leave()
		if !l.mayBegin(ctx) {
			l.settle(token, entries, attempt, outcome{verdict: order.Retry, err: context.Cause(ctx)})
			return
		}
		ms, err := l.messages(entries, attempt)
		if err != nil {
			l.settle(token, entries, attempt, failed(0, err))
			return
		}
		begun := time.Now()
		guard(ctx, l.m.call, ms, func(o outcome) {
			ok, failed := o.count(len(ms))
			l.m.rates.call(time.Now(), time.Since(begun), ok, failed)
			if !l.counts(this) {
				return
			}
			l.settle(token, entries, attempt, l.m.sentBack(l, entries, o))
		})
	})
}

// mayBegin looks at the clock once more, for a call may have waited for its
// slot. If the broker has not been heard, the machine is told to look too: it
// ends the context, so that this counts as no attempt, or the broker is heard
// again.
func (l *lane) mayBegin(ctx context.Context) bool {
	for l.until() <= l.m.c.now() {
		l.post(order.LaneEvent{Kind: order.LaneTick})
		if !pause(ctx, minBackoff) {
			return false
		}
	}
	return ctx.Err() == nil
}

// enter takes a slot. The time spent on waiting for one is not the handler's.
func (l *lane) enter(ctx context.Context, token order.LaneToken) bool {
	if l.m.slots.try() {
		return true
	}
	deadline := func(at order.Time) {
		if l.m.cfg.HandlerTimeout > 0 {
			l.post(order.LaneEvent{Kind: order.LaneExtend, Token: token, Deadline: at})
		}
	}
	deadline(order.Never)
	l.queued.Add(1)
	defer l.queued.Add(-1)
	if !l.m.slots.enter(ctx) {
		return false
	}
	deadline(l.m.c.now().Add(l.m.cfg.HandlerTimeout))
	return true
}

func (l *lane) messages(entries []order.Entry, attempt int32) ([]*Message, error) {
	ms := make([]*Message, len(entries))
	for i, e := range entries {
		r := e.Ref.(*storedMessage)
		// Retries through the retry topic carry their number with them.
		m, err := l.m.c.received(r, l.queue.Broker, int(attempt)+int(r.ReconsumeTimes), uint64(l.grant.Epoch))
		if err != nil {
			return nil, err
		}
		ms[i] = m
	}
	return ms, nil
}

// settle tells the machine what a hand-out came to.
func (l *lane) settle(token order.LaneToken, entries []order.Entry, attempt int32, o outcome) {
	l.causes.settle(entries, o)
	if o.err != nil {
		r := entries[min(o.done, len(entries)-1)].Ref.(*storedMessage)
		l.log.Warn("handler failed", "offset", r.QueueOffset, "key", r.OrderingKey(), "attempt", attempt, "err", o.err)
	}
	if o.verdict != order.Success && o.delay == 0 {
		o.delay = l.m.backoff(l.b, int(attempt)+1)
	}
	l.post(order.LaneEvent{Kind: order.LaneSettle, Token: token, Verdict: o.verdict, Delay: o.delay, Done: o.done})
}

// slots bounds the handler calls of a member; those who wait are served in the
// order in which they came.
type slots chan struct{}

func (s slots) enter(ctx context.Context) bool {
	select {
	case s <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s slots) try() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s slots) leave() { <-s }
