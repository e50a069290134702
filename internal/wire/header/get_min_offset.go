// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetMinOffset is GET_MIN_OFFSET 31, C to B. Java: GetMinOffsetRequestHeader.
// Answered by OffsetResponse.
type GetMinOffset struct {
	Topic      string
	QueueID    int32
	BrokerName string
}

// Encode appends the fields.
func (h *GetMinOffset) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 3)
	w.str("topic", h.Topic)
	w.int("queueId", int64(h.QueueID))
	w.optStr("bname", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *GetMinOffset) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetMinOffset{
		Topic:      r.str("topic"),
		QueueID:    r.int32("queueId"),
		BrokerName: r.optStr("bname"),
	}
	return r.err
}
