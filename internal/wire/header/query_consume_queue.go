// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// QueryConsumeQueue is QUERY_CONSUME_QUEUE 321, A to B. Java:
// QueryConsumeQueueRequestHeader. The answer is body.QueryConsumeQueue.
type QueryConsumeQueue struct {
	Topic         string
	QueueID       int32
	Index         int64
	Count         int32
	ConsumerGroup string
}

// Encode appends the fields.
func (h *QueryConsumeQueue) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 5)
	w.str("topic", h.Topic)
	w.int("queueId", int64(h.QueueID))
	w.int("index", h.Index)
	w.int("count", int64(h.Count))
	w.optStr("consumerGroup", h.ConsumerGroup)
	w.done()
}

// Decode reads the fields.
func (h *QueryConsumeQueue) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = QueryConsumeQueue{
		Topic:         r.str("topic"),
		QueueID:       r.int32("queueId"),
		Index:         r.int64("index"),
		Count:         r.int32("count"),
		ConsumerGroup: r.optStr("consumerGroup"),
	}
	return r.err
}
