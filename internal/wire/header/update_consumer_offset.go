// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// UpdateConsumerOffset is UPDATE_CONSUMER_OFFSET 15, C to B, oneway by default
// in stock clients. Java: UpdateConsumerOffsetRequestHeader. A missing field
// is answered 29 by Java's broker.
type UpdateConsumerOffset struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32
	CommitOffset  int64
	BrokerName    string
}

// Encode appends the fields.
func (h *UpdateConsumerOffset) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 5)
	w.str("consumerGroup", h.ConsumerGroup)
	w.str("topic", h.Topic)
	w.int("queueId", int64(h.QueueID))
	w.int("commitOffset", h.CommitOffset)
	w.optStr("bname", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *UpdateConsumerOffset) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = UpdateConsumerOffset{
		ConsumerGroup: r.str("consumerGroup"),
		Topic:         r.str("topic"),
		QueueID:       r.int32("queueId"),
		CommitOffset:  r.int64("commitOffset"),
		BrokerName:    r.optStr("bname"),
	}
	return r.err
}
