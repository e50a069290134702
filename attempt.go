// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"time"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
)

// The waits between attempts grow from the first to the last.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = time.Second
)

// attempts sends outs, which may go to any queue, again and again, elsewhere
// after a failure.
func (p *Producer) attempts(j *job, outs []*outgoing) ([]Receipt, *DeliveryError) {
	ctx, cancel := context.WithDeadlineCause(p.ctx, j.deadline, errDeliveryTimeout)
	defer cancel()
	failure := &DeliveryError{Topic: outs[0].m.Topic}
	wait, last := firstRetry, ""
	for {
		failure.Attempts++
		q, err := p.target(ctx, outs[0], last)
		var receipts []Receipt
		if err == nil {
			receipts, err = p.attempt(ctx, j, q, outs)
		}
		if err == nil {
			return receipts, nil
		}
		failure.MayBeStored = failure.MayBeStored || mayBeStored(err)
		failure.Err = err
		if !retryable(err) && !(elsewhere(err) && failure.Attempts < elsewhereTries) {
			return nil, failure
		}
		p.c.log.Debug("send failed; trying again", "queue", q.String(), "attempt", failure.Attempts, "err", err)
		last = q.Broker
		p.c.routes.suspect(outs[0].m.Topic)
		if !pause(ctx, wait) {
			failure.Err = errors.Join(context.Cause(ctx), err)
			return nil, failure
		}
		wait = min(2*wait, lastRetry)
	}
}

var errDeliveryTimeout = errors.New("delivery timeout passed")

// pause waits for d; it reports false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// target is where the next attempt goes.
func (p *Producer) target(ctx context.Context, o *outgoing, last string) (Queue, error) {
	list, ordered, err := p.places.spread(ctx, o.m.Topic)
	if err != nil {
		return Queue{}, err
	}
	if ordered {
		return Queue{}, ErrNoOrderingKey
	}
	return p.health.pick(list, p.turn.Add(1), last), nil
}

// attempt is one request.
func (p *Producer) attempt(ctx context.Context, j *job, q Queue, outs []*outgoing) ([]Receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.AttemptTimeout)
	defer cancel()
	begun := time.Now()
	receipts, err := p.request(ctx, j, q, outs)
	switch {
	case err == nil:
		p.health.answered(q.Broker, time.Since(begun))
	case !errors.Is(err, context.Canceled):
		p.health.failed(q.Broker)
	}
	return receipts, err
}

// retryable tells whether another attempt can end better: connections come
// back, busy brokers calm down; a message that is too large stays so.
func retryable(err error) bool {
	if refusal, ok := errors.AsType[*BrokerError](err); ok {
		switch int32(refusal.Code) {
		case wire.SystemError, wire.SystemBusy, wire.ServiceNotAvailable, wire.FlowControl, wire.GoAway:
			return true
		}
		return false
	}
	switch {
	case errors.Is(err, ErrTopicNotFound), errors.Is(err, ErrNoOrderingKey), errors.Is(err, ErrInvalid):
		return false
	}
	return true
}

// elsewhere tells whether another broker may take what this one refused.
func elsewhere(err error) bool {
	refusal, ok := errors.AsType[*BrokerError](err)
	return ok && (int32(refusal.Code) == wire.NoPermission || int32(refusal.Code) == wire.TopicNotExist)
}

const elsewhereTries = 3

// mayBeStored tells whether the request of a failed attempt may have been
// carried out.
func mayBeStored(err error) bool {
	if _, refused := errors.AsType[*BrokerError](err); refused {
		return false
	}
	return errors.Is(err, transport.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, transport.ErrClosed) && !errors.Is(err, transport.ErrNotSent)
}
