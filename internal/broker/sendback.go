// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// sendBack handles CONSUMER_SEND_MSG_BACK 36: a copy of a message goes to the
// group's retry topic by way of a delay level, or to its dead letters.
func (b *Broker) sendBack(r request) {
	var h header.ConsumerSendMsgBack
	var letter header.Letter
	var fence header.Fence
	if !r.decode(&h) || !r.decode(&letter) || !r.decode(&fence) {
		return
	}
	if r.cmd.Ext.Has(header.ExtResend) {
		b.resend(r, &h)
		return
	}
	if _, err := b.ensureGroup(b.ctx, h.Group); err != nil {
		r.fail(errorCodeOr(err, wire.SubscriptionGroupNotExist), fmt.Sprintf("subscription group not exist, %s: %v %s", h.Group, err, faq))
		return
	}
	cfg, ok := b.meta.View().Group(h.Group)
	if !ok || cfg.RetryQueueNums <= 0 {
		r.ok(nil)
		return
	}
	if letter.Given && h.DelayLevel < 0 {
		b.letter(r, &h, &letter, &fence)
		return
	}
	queues := cfg.RetryQueueNums
	b.read(r, func() { b.sendBackCopy(r, &h, queues) })
}

// sendBackCopy reads the message and stores the copy.
func (b *Broker) sendBackCopy(r request, h *header.ConsumerSendMsgBack, queues int32) {
	m, ok := b.givenBack(r, h.Offset)
	if !ok {
		return
	}
	if err := b.retryCopy(&m, h, r.cmd.Version, queues); err != nil {
		r.failed(err)
		return
	}
	b.storeBack(r, m, nil)
}

// givenBack reads the message that a request gives back. If it cannot it answers
// and reports false.
func (b *Broker) givenBack(r request, at int64) (m msg.Message, ok bool) {
	rec, err := b.store.Record(at)
	if err != nil {
		code := wire.SystemError
		if !errors.Is(err, store.ErrNotFound) {
			code = errorCode(err)
		}
		r.fail(code, fmt.Sprintf("look message by offset failed, %d", at))
		return m, false
	}
	if m, _, err = msg.DecodeRecord(rec); err != nil {
		r.fail(wire.SystemError, fmt.Sprintf("look message by offset failed, %d: %v", at, err))
		return m, false
	}
	return m, true
}

// storeBack stores m and answers; then is told how it ended before that.
func (b *Broker) storeBack(r request, m msg.Message, then func()) {
	s := &sending{request: r, then: then}
	s.one[0] = m
	s.Append.Msgs = s.one[:]
	s.Append.Done, s.Append.Arg = sentBack, s
	if err := b.store.Append(b.ctx, &s.Append); err != nil {
		if then != nil {
			then()
		}
		r.failed(err)
	}
}

// sentBack answers a send-back.
func sentBack(a *store.Append, err error) {
	s := a.Arg.(*sending)
	if s.then != nil {
		s.then()
	}
	if err != nil {
		s.failed(err)
		return
	}
	s.c.b.stats.stored(s.Append.Msgs)
	s.ok(nil)
}

// retryCopy turns a stored message into its next try.
func (b *Broker) retryCopy(m *msg.Message, h *header.ConsumerSendMsgBack, version int32, queues int32) error {
	original, id := m.Topic, m.OffsetID()
	if _, ok := m.Property(msg.PropRetryTopic); !ok {
		m.SetProperty(msg.PropRetryTopic, original)
	}
	if _, ok := m.Property(msg.PropOriginID); !ok {
		m.SetProperty(msg.PropOriginID, id)
	}
	m.Properties = msg.WithoutCheck(m.Properties)
	m.StoreHost = b.storeHost
	limit := b.retryLimit(h.Group, version, h.MaxReconsumeTimes)
	level := int(h.DelayLevel)
	if level < 0 || m.ReconsumeTimes >= limit {
		if _, err := b.ensureOwned(b.ctx, msg.DLQTopic(h.Group), 1); err != nil {
			return err
		}
		m.ReconsumeTimes++
		deadLetter(m, h.Group)
		return nil
	}
	retry, err := b.ensureOwned(b.ctx, msg.RetryTopic(h.Group), queues)
	if err != nil {
		return err
	}
	if level == 0 {
		level = 3 + int(m.ReconsumeTimes)
	}
	m.ReconsumeTimes++
	m.Topic, m.QueueID = retry.Name, rand.Int32N(max(1, retry.WriteQueues))
	b.schedule(m, level)
	return nil
}
