// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/route"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// sending is one send on its way through the store. It is the argument of the
// append, so that a send costs no closure.
type sending struct {
	request
	store.Append
	one     [1]msg.Message
	numbers header.Numbers // zero: none
	count   uint32         // messages, for numbers
	verdict order.NumberAnswer
	queue   int32 // as asked for: what the answer names, even if a delay moved it
	key     string
	topic   string
	then    func() // send-backs: called when it is stored, or not; nil: nothing
}

// sendMessage handles SEND_MESSAGE 10, SEND_MESSAGE_V2 310 and
// SEND_BATCH_MESSAGE 320. The body is a batch only if the header says so.
//
// The handler ends when the store has queued the messages; what the connection
// sends next comes after them. The answer follows when they are safe.
func (b *Broker) sendMessage(r request) {
	h, err := header.DecodeSend(r.cmd.Code, r.cmd.Ext)
	if err != nil {
		r.fail(wire.SystemError, err.Error())
		return
	}
	var numbers header.Numbers
	if !r.decode(&numbers) || numbers.Producer != 0 && b.answeredBefore(r, &h, numbers) {
		return
	}
	topic, queue, ok := b.admitSend(r, &h)
	if !ok {
		return
	}
	s := &sending{request: r, queue: queue, topic: h.Topic, numbers: numbers}
	if h.Batch {
		err = b.fillBatch(s, &h)
	} else {
		err = b.fillOne(s, &h)
	}
	if err != nil {
		r.failSend(sendErrorCode(err), err.Error())
		return
	}
	if !b.checkLane(r, topic, &h, s) {
		return
	}
	b.number(s)
	b.append(s)
}

// append hands the messages to the store, which answers.
func (b *Broker) append(s *sending) {
	s.Done, s.Arg = sendDone, s
	if err := b.store.Append(b.ctx, &s.Append); err != nil {
		s.failSend(errorCode(err), err.Error())
	}
}

// sendDone answers a send; the store's completer calls it, in log order.
func sendDone(a *store.Append, err error) {
	s := a.Arg.(*sending)
	b := s.c.b
	if b.refusedNumbers(s, err) {
		return
	}
	if err != nil {
		b.stats.sendsFailed.Add(1)
		s.failSend(errorCode(err), err.Error())
		return
	}
	b.stats.stored(s.Append.Msgs)
	if s.cmd.IsOneway() {
		return
	}
	first := &s.Append.Msgs[0]
	h := header.SendMessageResponse{
		MsgID: offsetIDs(s.Append.Msgs), QueueID: s.queue, QueueOffset: first.QueueOffset,
		TransactionID: s.key, Region: regionID, TraceOn: header.Some(true),
	}
	s.ok(&h)
}

// offsetIDs lists the offset ids of the messages, separated by commas.
func offsetIDs(msgs []msg.Message) string {
	if len(msgs) == 1 {
		return msgs[0].OffsetID()
	}
	ids := make([]byte, 0, 33*len(msgs))
	for i := range msgs {
		if i > 0 {
			ids = append(ids, ',')
		}
		ids = append(ids, msgs[i].OffsetID()...)
	}
	return string(ids)
}

// failSend answers a send that stored nothing. Region and trace switch belong
// into every answer.
func (r request) failSend(code int32, remark string) {
	resp := wire.NewResponse(r.cmd, code, remark)
	h := header.SendMessageResponse{Region: regionID, TraceOn: header.Some(true)}
	h.EncodeTrace(&resp.Ext)
	r.reply(resp)
}

// admitSend checks topic and queue and creates what may be created. If the
// send is refused it answers and reports false.
func (b *Broker) admitSend(r request, h *header.SendMessage) (*meta.Topic, int32, bool) {
	if !msg.Sendable(h.Topic) {
		r.failSend(wire.NoPermission, fmt.Sprintf("Sending message to topic[%s] is forbidden.", h.Topic))
		return nil, 0, false
	}
	topic, ok := b.topic(h.Topic)
	if !ok {
		if topic = b.topicForSend(r, h); topic == nil {
			return nil, 0, false
		}
	}
	if topic.Order && topic.Perm&route.PermWrite == 0 {
		r.failSend(wire.NoPermission, fmt.Sprintf("the broker[%s] sending message is forbidden", b.cfg.Name))
		return nil, 0, false
	}
	queue := h.QueueID
	if queue >= max(topic.ReadQueues, topic.WriteQueues) {
		r.failSend(wire.InvalidParameter, fmt.Sprintf("request queueId[%d] is illegal, topic %s has readQueueNums=%d, writeQueueNums=%d",
			queue, topic.Name, topic.ReadQueues, topic.WriteQueues))
		return nil, 0, false
	}
	if queue < 0 {
		queue = rand.Int32N(max(1, topic.WriteQueues))
	}
	return topic, queue, true
}

// topicForSend creates the topic of a send, or answers why it does not.
func (b *Broker) topicForSend(r request, h *header.SendMessage) *meta.Topic {
	if err := msg.CheckTopic(h.Topic); err != nil {
		r.failSend(wire.InvalidParameter, err.Error())
		return nil
	}
	topic, err := b.autoCreate(b.ctx, h.Topic, h.DefaultTopic, h.DefaultTopicQueueNums)
	switch {
	case err == nil:
		return topic
	case errors.Is(err, errNoTopic):
		r.failSend(wire.TopicNotExist, fmt.Sprintf("topic[%s] not exist, apply first please!%s", h.Topic, faq))
	default:
		r.failSend(errorCode(err), err.Error())
	}
	return nil
}

// sendError is a send that is refused for what it is.
type sendError struct {
	code   int32
	reason string
}

func (e *sendError) Error() string { return e.reason }

func sendErrorCode(err error) int32 {
	var refused *sendError
	if errors.As(err, &refused) {
		return refused.code
	}
	return errorCode(err)
}

func illegal(format string, args ...any) error {
	return &sendError{wire.MessageIllegal, fmt.Sprintf(format, args...)}
}

// fillOne makes the message of a plain send.
func (b *Broker) fillOne(s *sending, h *header.SendMessage) error {
	if len(s.cmd.Body) == 0 {
		return &sendError{wire.SystemError, "the message has no body"}
	}
	if err := b.checkSize(len(s.cmd.Body), len(h.Properties)); err != nil {
		return err
	}
	m := &s.one[0]
	*m = msg.Message{
		Topic: h.Topic, QueueID: s.queue, Flag: h.Flag, SysFlag: h.SysFlag &^ (msg.FlagNeedUnwrap | msg.FlagInnerBatch),
		BornTimestamp: h.BornTimestamp, BornHost: s.c.peer, StoreHost: b.storeHost, ReconsumeTimes: h.ReconsumeTimes,
		Body: s.cmd.Body, Properties: h.Properties,
	}
	s.Append.Msgs = s.one[:]
	if err := b.retryRule(s, h, m); err != nil {
		return err
	}
	t := traitsOf(m.Properties)
	b.completeProperties(s, m, &t)
	return b.delayRule(m, &t)
}

func (b *Broker) checkSize(body, properties int) error {
	if body > b.cfg.MaxMessageSize || properties > msg.MaxProperties {
		return illegal("the message is illegal, maybe msg body or properties length not matched. msg body length limit %dB, msg properties length limit 32KB.", b.cfg.MaxMessageSize)
	}
	return nil
}

// traits are the properties of a message that the broker looks at, found in
// one pass over them.
type traits struct {
	key         string // UNIQ_KEY
	delay       int    // delay level, 0: none
	foreign     bool   // it carries properties that are the broker's to add or remove
	timer, half bool
}

func traitsOf(properties string) (t traits) {
	for name, value := range msg.Properties(properties) {
		switch name {
		case msg.PropUniqueKey:
			t.key = value
		case msg.PropDelay:
			n, err := strconv.Atoi(value)
			if t.delay = max(n, 0); err != nil {
				t.delay = 0
			}
		case msg.PropRegion, msg.PropTraceOn, msg.PropCluster, msg.PropPopCheckpoint:
			t.foreign = true
		case msg.PropTimerDelaySec, msg.PropTimerDelayMs, msg.PropTimerDeliverMs:
			t.timer = true
		case msg.PropTransaction:
			t.half = value == "true"
		}
	}
	return t
}

// completeProperties adds what the broker knows of every message, and a unique
// key if the sender gave none. A message that went through a broker before has
// that one's properties replaced.
func (b *Broker) completeProperties(s *sending, m *msg.Message, t *traits) {
	p := m.Properties
	if t.foreign {
		for _, name := range []string{msg.PropPopCheckpoint, msg.PropRegion, msg.PropTraceOn, msg.PropCluster} {
			p = msg.DeleteProperty(p, name)
		}
	}
	out := make([]byte, 0, len(p)+len(b.ownProperties)+64)
	out = append(out, p...)
	if p != "" && p[len(p)-1] != propertyEnd {
		out = append(out, propertyEnd)
	}
	if s.key = t.key; t.key == "" {
		s.key = b.ids.Next()
		out = msg.AppendProperty(out, msg.PropUniqueKey, s.key)
	}
	m.Properties = string(append(out, b.ownProperties...))
}

// propertyEnd ends each pair of a property string.
const propertyEnd = 2

// ownProperties are the properties that the broker adds to each message.
func ownProperties(cfg Config) string {
	p := msg.AppendProperty(nil, msg.PropRegion, regionID)
	p = msg.AppendProperty(p, msg.PropTraceOn, "true")
	return string(msg.AppendProperty(p, msg.PropCluster, cfg.Cluster))
}
