// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// PeekMessage is PEEK_MESSAGE 200052, C to B. Java: PeekMessageRequestHeader.
// Answered by PopMessageResponse.
type PeekMessage struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32
	MaxMsgNums    int32
}

// Encode appends the fields.
func (h *PeekMessage) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 4)
	w.str("consumerGroup", h.ConsumerGroup)
	w.str("topic", h.Topic)
	w.int("queueId", int64(h.QueueID))
	w.int("maxMsgNums", int64(h.MaxMsgNums))
	w.done()
}

// Decode reads the fields.
func (h *PeekMessage) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = PeekMessage{
		ConsumerGroup: r.str("consumerGroup"),
		Topic:         r.str("topic"),
		QueueID:       r.int32("queueId"),
		MaxMsgNums:    r.int32("maxMsgNums"),
	}
	return r.err
}
