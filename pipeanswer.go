// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// verdictOf reads the answer to a frame.
func verdictOf(conn *transport.Conn, cmd *wire.Command, f *order.Frame, resp *wire.Command, err error) pipeEvent {
	e := pipeEvent{frame: f, resp: resp}
	if err != nil {
		e.verdict = order.FrameUnsent
		if mayHaveLeft(err) {
			e.verdict = order.FrameNoAnswer
		}
		e.err = fmt.Errorf("%s to %v: %w", wire.RequestName(cmd.Code), conn.RemoteAddr(), err)
		return e
	}
	var ok bool
	if e.status, ok = sendStatus(resp.Code); ok {
		return e
	}
	e.err = refusal(conn, cmd, resp)
	e.verdict = order.FrameRefused
	if retryable(e.err) {
		e.verdict = order.FrameBusy
	}
	if f.Producer == 0 {
		return e
	}
	switch resp.Code {
	case wire.CodeProducerUnknown:
		e.verdict = order.FrameUnknown
	case wire.CodeProducerFenced:
		e.verdict = order.FrameFenced
	case wire.CodeTooManyProducers:
		e.verdict = order.FrameBusy
	case wire.CodeSequenceGap:
		var h header.SendNumbersAnswer
		if err := h.Decode(resp.Ext); err == nil && h.Next.Set {
			e.verdict, e.next = order.FrameGap, h.Next.Value
		} else {
			e.verdict = order.FrameBusy
		}
	}
	return e
}

// receipts reads the answer to a frame that is stored. One that cannot be read
// leaves the place unknown, not the fact.
func (l *pipeline) receipts(e *pipeEvent) []Receipt {
	fo := e.frame.Ref.(*frameOf)
	if e.resp == nil {
		return onewayReceipts(fo.q, fo.outs)
	}
	rs, err := receipts(e.resp, e.status, fo.q, fo.outs)
	if err != nil {
		l.p.c.log.Warn("answer to a send cannot be read: the message is stored, its place is unknown", "broker", l.broker, "err", err)
		return onewayReceipts(fo.q, fo.outs)
	}
	return rs
}

func (l *pipeline) stored(a *order.PipeAction) {
	rs := a.Cause.([]Receipt)
	for i, o := range a.Frame.Ref.(*frameOf).outs {
		l.settle(o, rs[i], nil)
	}
}

// found is a message of which the broker says, later, that it is stored.
func (l *pipeline) found(a *order.PipeAction) {
	o := a.Parcel.Ref.(*outgoing)
	l.settle(o, Receipt{ID: o.id, Queue: o.queue, Offset: a.Offset}, nil)
}

func (l *pipeline) failed(a *order.PipeAction) {
	o := a.Parcel.Ref.(*outgoing)
	key := a.Parcel.Key
	if a.Why == order.ParcelStopped {
		cause := l.causes[key]
		if cause == nil { // the key has gone on since
			cause = errDeliveryTimeout
		}
		l.settle(o, Receipt{}, &KeyStoppedError{Topic: o.m.Topic, OrderingKey: o.m.OrderingKey, Cause: cause})
		return
	}
	cause, _ := a.Cause.(error)
	switch a.Why {
	case order.ParcelLate:
		cause = errors.Join(errDeliveryTimeout, cause)
	case order.ParcelFenced:
		cause = fmt.Errorf("%w: %w", ErrProducerFenced, cause)
	case order.ParcelForgotten:
		cause = errors.Join(errForgotten, cause)
	}
	err := &DeliveryError{Topic: o.m.Topic, OrderingKey: o.m.OrderingKey, Attempts: a.Parcel.Tries, MayBeStored: a.Maybe, Err: cause}
	if key != "" && l.p.cfg.OnFailure == StopKey && a.Why != order.ParcelDropped {
		if l.causes[key] == nil {
			l.causes[key] = err
		}
		l.p.chains.halt(keyLink(o.m), err)
	}
	l.settle(o, Receipt{}, err)
}

var errForgotten = errors.New("the broker has forgotten the producer before it answered")

func (l *pipeline) lost(a *order.PipeAction) {
	err := &TailLostError{
		Queue: Queue{Topic: a.Queue.Topic, Broker: l.broker, ID: int(a.Queue.ID)}, Messages: int(a.To - a.From),
	}
	l.p.c.log.Error("the broker has lost acknowledged messages", "queue", err.Queue.String(), "messages", err.Messages)
	if f := l.p.cfg.TailLost; f != nil {
		l.p.wg.Go(func() { f(err) })
	}
}

// settle tells a message's job.
func (l *pipeline) settle(o *outgoing, r Receipt, err error) {
	o.job.receipts[o.index], o.job.errs[o.index] = r, err
	l.p.finish(o.job, 1, func(j *job) { l.tell(o.queue, j) })
}

// claim asks for an identity, or for the next epoch.
func (l *pipeline) claim(ctx context.Context, a order.PipeAction) pipeEvent {
	e := pipeEvent{kind: pipeGrant}
	conn, err := l.conn()
	if err != nil {
		e.err = err
		return e
	}
	cmd := wire.NewRequest(wire.ReqHeartBeat, nil, (&body.HeartbeatData{ClientID: l.p.c.id, Producers: l.p.c.producerGroups()}).Encode())
	claim := header.ProducerClaim{Name: l.p.cfg.Name, Producer: a.Producer, Epoch: a.Epoch}
	for _, q := range a.Queues {
		claim.Queues = append(claim.Queues, header.ProducerQueue{Topic: q.Topic, Queue: q.ID})
	}
	claim.Encode(&cmd.Ext)
	ctx, cancel := context.WithTimeout(ctx, l.p.cfg.AttemptTimeout)
	defer cancel()
	resp, err := conn.Call(ctx, cmd)
	var g header.ProducerGrant
	if resp, err = answerOf(conn, cmd, resp, err); err == nil {
		err = g.Decode(resp.Ext)
	}
	e.err = err
	e.grant = order.PipeGrant{Producer: g.Producer, Epoch: g.Epoch, Stored: storedBy(&g)}
	return e
}

// storedBy answers the pipe's questions from a grant.
func storedBy(g *header.ProducerGrant) func(order.Queue, uint64) (bool, int64) {
	return func(q order.Queue, n uint64) (bool, int64) {
		for _, s := range g.Stored {
			if s.Topic != q.Topic || s.ProducerQueue.Queue != q.ID {
				continue
			}
			for _, f := range s.Frames {
				if n >= f.First && n < f.First+uint64(f.Count) {
					return n < s.Next, f.Offset + int64(n-f.First)
				}
			}
			return n < s.Next, -1
		}
		return false, -1
	}
}

func (l *pipeline) granted(now order.Time, e *pipeEvent) {
	refused, _ := errors.AsType[*BrokerError](e.err)
	switch {
	case refused != nil && int32(refused.Code) == wire.CodeProducerFenced:
		l.acts = l.core.ClaimFenced(e.err, l.acts)
	case e.err != nil:
		l.p.c.log.Debug("producer has no epoch yet", "broker", l.broker, "err", e.err)
		l.core.ClaimFailed(now)
	default:
		if e.grant.Producer == 0 {
			l.p.c.log.Info("the broker knows no producer numbers: one request at a time is under way in a queue, and a retry may store a message twice",
				"broker", l.broker, "producer", l.p.cfg.Name)
		}
		l.acts = l.core.Granted(e.grant, l.acts)
	}
}
