// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// QueryConsumerOffset is QUERY_CONSUMER_OFFSET 14, C to B. Java:
// QueryConsumerOffsetRequestHeader. Answered by OffsetResponse.
type QueryConsumerOffset struct {
	ConsumerGroup     string
	Topic             string
	QueueID           int32
	SetZeroIfNotFound Opt[bool] // absent means true
	BrokerName        string
}

// Encode appends the fields.
func (h *QueryConsumerOffset) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 5)
	w.str("consumerGroup", h.ConsumerGroup)
	w.str("topic", h.Topic)
	w.int("queueId", int64(h.QueueID))
	w.optBool("setZeroIfNotFound", h.SetZeroIfNotFound)
	w.optStr("bname", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *QueryConsumerOffset) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = QueryConsumerOffset{
		ConsumerGroup:     r.str("consumerGroup"),
		Topic:             r.str("topic"),
		QueueID:           r.int32("queueId"),
		SetZeroIfNotFound: r.optBool("setZeroIfNotFound"),
		BrokerName:        r.optStr("bname"),
	}
	return r.err
}
