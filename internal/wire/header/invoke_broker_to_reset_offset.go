// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// InvokeBrokerToResetOffset is INVOKE_BROKER_TO_RESET_OFFSET 222, A to B.
// Java: ResetOffsetRequestHeader. The answer is body.ResetOffset.
type InvokeBrokerToResetOffset struct {
	Topic     string
	Group     string
	Timestamp Opt[int64] // ms; -1 is the end
	IsForce   bool
	QueueID   Opt[int32] // absent or -1: all queues
	Offset    Opt[int64] // with a queue id: this very offset
}

// Encode appends the fields.
func (h *InvokeBrokerToResetOffset) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 6)
	w.str("topic", h.Topic)
	w.str("group", h.Group)
	w.optInt64("timestamp", h.Timestamp)
	w.bool("isForce", h.IsForce)
	w.optInt32("queueId", h.QueueID)
	w.optInt64("offset", h.Offset)
	w.done()
}

// Decode reads the fields.
func (h *InvokeBrokerToResetOffset) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = InvokeBrokerToResetOffset{
		Topic:     r.str("topic"),
		Group:     r.str("group"),
		Timestamp: r.optInt64("timestamp"),
		IsForce:   r.bool("isForce"),
		QueueID:   r.optInt32("queueId"),
		Offset:    r.optInt64("offset"),
	}
	return r.err
}
