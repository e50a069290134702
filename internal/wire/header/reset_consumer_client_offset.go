// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// ResetConsumerClientOffset is RESET_CONSUMER_CLIENT_OFFSET 220, B to C,
// oneway. Java: ResetOffsetRequestHeader. The body is body.ResetOffset.
type ResetConsumerClientOffset struct {
	Topic     string
	Group     string
	Timestamp int64
	IsForce   Opt[bool]
	QueueID   Opt[int32]
}

// Encode appends the fields.
func (h *ResetConsumerClientOffset) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 5)
	w.str("topic", h.Topic)
	w.str("group", h.Group)
	w.int("timestamp", h.Timestamp)
	w.optBool("isForce", h.IsForce)
	w.optInt32("queueId", h.QueueID)
	w.done()
}

// Decode reads the fields.
func (h *ResetConsumerClientOffset) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = ResetConsumerClientOffset{
		Topic:     r.str("topic"),
		Group:     r.str("group"),
		Timestamp: r.int64("timestamp"),
		IsForce:   r.optBool("isForce"),
		QueueID:   r.optInt32("queueId"),
	}
	return r.err
}
