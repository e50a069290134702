// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"

	"github.com/orderlymq/orderly/internal/order"
)

// begin finds out where the queue is to be read from and starts the machine
// there. It reports false if the queue was given up before that.
func (l *lane) begin() bool {
	ctx, cancel := context.WithCancel(l.m.c.ctx)
	defer cancel()
	found := make(chan order.Grant, 1)
	l.handlers.Go(func() {
		if grant, ok := l.locate(ctx); ok {
			found <- grant
		}
	})
	var early []order.LaneEvent
	for {
		select {
		case grant := <-found:
			l.m.notify(l.m.cfg.OnAssign, l.queue)
			l.m.pull.begun(l, grant.Offset)
			l.step(order.LaneEvent{Kind: order.LaneStart, Grant: grant})
			for _, ev := range early {
				l.step(ev)
			}
			return true
		case <-l.box.wake:
			for _, ev := range l.box.take() {
				if ev.Kind == order.LaneRevoke || ev.Kind == order.LaneLost {
					l.released = &order.LaneAction{Kind: order.LaneReleased, Lost: ev.Kind == order.LaneLost}
					return false
				}
				early = append(early, ev)
			}
		case answer := <-l.asked:
			answer <- l.look()
		case <-ctx.Done():
			l.released = &order.LaneAction{Kind: order.LaneReleased, Lost: true}
			return false
		}
	}
}

// locate completes the grant with the position to begin at. It tries until it
// succeeds or ctx ends.
func (l *lane) locate(ctx context.Context) (order.Grant, bool) {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		grant, err := l.position(ctx)
		if err == nil {
			return grant, true
		}
		l.log.Debug("start position unknown; trying again", "err", err)
		if !pause(ctx, wait) {
			return grant, false
		}
	}
}

// position is one try of locate. A group that has never committed the queue
// begins where its configuration says, and that is written down before the
// first message is read: a message that is stored from now on cannot fall
// between two starts of the group.
func (l *lane) position(ctx context.Context) (order.Grant, error) {
	grant := l.grant
	if grant.Offset != order.Unknown {
		return grant, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.m.c.cfg.RequestTimeout)
	defer cancel()
	var err error
	if l.m.offsets != nil {
		grant.Offset = l.m.offsets.load(l.queue)
	} else if grant.Offset, err = l.b.position(ctx, l.m.cfg.Group, l.queue); err != nil {
		return grant, err
	}
	if grant.Offset != order.Unknown {
		return grant, nil
	}
	if grant.Offset, err = l.first(ctx); err != nil {
		return grant, err
	}
	return grant, l.settleStart(ctx, grant)
}

// first is where a group begins that has no position.
func (l *lane) first(ctx context.Context) (int64, error) {
	start := l.m.cfg.Start
	switch {
	case isRetryTopic(l.queue.Topic), start.kind == startFirst:
		return l.b.firstOffset(ctx, l.queue)
	case start.kind == startTime:
		return l.b.offsetAt(ctx, l.queue, start.at)
	}
	return l.b.endOffset(ctx, l.queue)
}

// settleStart writes the start position down.
func (l *lane) settleStart(ctx context.Context, grant order.Grant) error {
	if l.m.offsets != nil {
		return l.m.offsets.store(l.queue, grant.Offset)
	}
	done := make(chan error, 1)
	l.b.commit(commitRequest{group: l.m.cfg.Group, queue: l.queue, offset: grant.Offset, epoch: grant.Epoch}, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
