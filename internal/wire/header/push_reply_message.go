// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// PushReplyMessage is PUSH_REPLY_MESSAGE_TO_CLIENT 326, B to C. Java:
// ReplyMessageRequestHeader. The body is the reply's body as sent.
type PushReplyMessage struct {
	ProducerGroup         string
	Topic                 string
	DefaultTopic          string
	DefaultTopicQueueNums int32
	QueueID               int32
	SysFlag               int32
	BornTimestamp         int64
	Flag                  int32
	Properties            string
	ReconsumeTimes        Opt[int32]
	UnitMode              Opt[bool]
	BornHost              string // ip:port
	StoreHost             string // ip:port
	StoreTimestamp        int64
}

// Encode appends the fields.
func (h *PushReplyMessage) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 14)
	w.str("producerGroup", h.ProducerGroup)
	w.str("topic", h.Topic)
	w.str("defaultTopic", h.DefaultTopic)
	w.int("defaultTopicQueueNums", int64(h.DefaultTopicQueueNums))
	w.int("queueId", int64(h.QueueID))
	w.int("sysFlag", int64(h.SysFlag))
	w.int("bornTimestamp", h.BornTimestamp)
	w.int("flag", int64(h.Flag))
	w.optStr("properties", h.Properties)
	w.optInt32("reconsumeTimes", h.ReconsumeTimes)
	w.optBool("unitMode", h.UnitMode)
	w.str("bornHost", h.BornHost)
	w.str("storeHost", h.StoreHost)
	w.int("storeTimestamp", h.StoreTimestamp)
	w.done()
}

// Decode reads the fields.
func (h *PushReplyMessage) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = PushReplyMessage{
		ProducerGroup:         r.str("producerGroup"),
		Topic:                 r.str("topic"),
		DefaultTopic:          r.str("defaultTopic"),
		DefaultTopicQueueNums: r.int32("defaultTopicQueueNums"),
		QueueID:               r.int32("queueId"),
		SysFlag:               r.int32("sysFlag"),
		BornTimestamp:         r.int64("bornTimestamp"),
		Flag:                  r.int32("flag"),
		Properties:            r.optStr("properties"),
		ReconsumeTimes:        r.optInt32("reconsumeTimes"),
		UnitMode:              r.optBool("unitMode"),
		BornHost:              r.str("bornHost"),
		StoreHost:             r.str("storeHost"),
		StoreTimestamp:        r.int64("storeTimestamp"),
	}
	return r.err
}
