// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"sync/atomic"
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire/header"
)

const sendBackRetry = 5 * time.Second

// sendsBack reports whether failed messages go to the group's retry topic.
func (m *member) sendsBack() bool { return m.cfg.Order == Unordered && !m.cfg.Broadcast }

// sentBack does for a failed hand-out what the retry topic is for: what failed
// goes there and is done here. What cannot be sent back is tried again here.
func (m *member) sentBack(l *lane, entries []order.Entry, o outcome) outcome {
	if !m.sendsBack() || o.verdict != order.Retry {
		return o
	}
	level := levelOf(o.delay)
	for i, e := range entries[o.done:] {
		if err := m.sendBack(l.b, e.Ref.(*storedMessage), level, letterOf{}); err != nil {
			l.log.Warn("cannot send a failed message back; it is tried again here", "offset", e.Offset, "err", err)
			return outcome{verdict: order.Retry, done: o.done + i, delay: sendBackRetry, err: o.err}
		}
	}
	if m.gaveBack.CompareAndSwap(false, true) {
		m.rebalance()
	}
	l.log.Warn("handler failed; the message comes again through the retry topic", "offset", entries[o.done].Offset, "err", o.err)
	return outcome{verdict: order.Success}
}

// levelOf is the delay level of the wait that a handler has asked for: the
// first one that is long enough. Without a wish the broker's ladder decides.
func levelOf(d time.Duration) int32 {
	if d == 0 {
		return brokerDecides
	}
	level := int32(1)
	for _, of := range []time.Duration{time.Second, 5 * time.Second, 10 * time.Second} {
		if d > of {
			level++
		}
	}
	return level
}

// sendBack hands r back to the broker.
func (m *member) sendBack(b *broker, r *storedMessage, level int32, letter letterOf) error {
	ctx, cancel := m.c.requestContext()
	defer cancel()
	return b.sendBack(ctx, m, r, level, m.retries(b), letter)
}

// retries is how often a message goes to the retry topic before it becomes a
// dead letter; its first attempt needs none. Unset: what the broker has of the
// group (retryMaxTimes), 16 unless it was changed.
func (m *member) retries(b *broker) header.Opt[int32] {
	policy := b.policy(m.cfg.Group)
	switch {
	case policy.MaxAttempts > 0 && policy.Poison == "dead-letter":
		return header.Some(int32(policy.MaxAttempts) - 1)
	case m.cfg.MaxAttempts > 0:
		return header.Some(int32(m.cfg.MaxAttempts) - 1)
	}
	return header.Opt[int32]{}
}

// call is one hand-out with a handler. Whoever says first what it came to
// decides: the handler, or in a consumer without order the end of its time.
type call struct {
	token   order.LaneToken
	entries []order.Entry
	attempt int32
	decided atomic.Bool
}

// overrun deals with a handler that ignores the end of its context. Without
// order nothing has to wait for it: when its time was up its messages are sent
// back, as RocketMQ does, and what it says later counts no more.
func (l *lane) overrun(a *order.LaneAction) {
	c := l.calls[a.Token]
	if c == nil || a.Cause != order.CauseTimeout || !l.m.sendsBack() {
		l.log.Error("handler ignores its ended context; the queue waits for it to return")
		return
	}
	if !c.decided.CompareAndSwap(false, true) {
		return // it has just returned
	}
	l.log.Error("handler ignores its ended context; its messages are sent back", "offset", c.entries[0].Offset)
	l.late.Add(1)
	l.handlers.Go(func() {
		l.settle(c.token, c.entries, c.attempt, l.m.sentBack(l, c.entries, failed(0, ErrHandlerTimeout)))
	})
}

// counts reports whether what a handler says when it returns decides.
func (l *lane) counts(c *call) bool {
	if c.decided.CompareAndSwap(false, true) {
		return true
	}
	l.late.Add(-1)
	return false
}

// awaitHandlers waits for the handlers of a lane that is over, unless it ended
// in spite of them. Those that nothing waits for are told of at the end.
func (l *lane) awaitHandlers() {
	switch {
	case l.released != nil && l.released.Overrun:
	case l.late.Load() == 0:
		l.handlers.Wait()
	case l.released != nil && l.m.ending.Load():
		l.released.Overrun = true
	}
}
