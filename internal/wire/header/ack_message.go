// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// AckMessage is ACK_MESSAGE 200051, C to B. Java: AckMessageRequestHeader.
type AckMessage struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32
	ExtraInfo     string
	Offset        int64
	LiteTopic     string
	BrokerName    string
}

// Encode appends the fields.
func (h *AckMessage) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 7)
	w.str("consumerGroup", h.ConsumerGroup)
	w.str("topic", h.Topic)
	w.int("queueId", int64(h.QueueID))
	w.str("extraInfo", h.ExtraInfo)
	w.int("offset", h.Offset)
	w.optStr("liteTopic", h.LiteTopic)
	w.optStr("bname", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *AckMessage) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = AckMessage{
		ConsumerGroup: r.str("consumerGroup"),
		Topic:         r.str("topic"),
		QueueID:       r.int32("queueId"),
		ExtraInfo:     r.str("extraInfo"),
		Offset:        r.int64("offset"),
		LiteTopic:     r.optStr("liteTopic"),
		BrokerName:    r.optStr("bname"),
	}
	return r.err
}
