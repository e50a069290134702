// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetMaxOffset is GET_MAX_OFFSET 30, C to B. Java: GetMaxOffsetRequestHeader.
// Answered by OffsetResponse, exclusive.
type GetMaxOffset struct {
	Topic      string
	QueueID    int32
	Committed  Opt[bool] // absent means true
	BrokerName string
}

// Encode appends the fields.
func (h *GetMaxOffset) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 4)
	w.str("topic", h.Topic)
	w.int("queueId", int64(h.QueueID))
	w.optBool("committed", h.Committed)
	w.optStr("bname", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *GetMaxOffset) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetMaxOffset{
		Topic:      r.str("topic"),
		QueueID:    r.int32("queueId"),
		Committed:  r.optBool("committed"),
		BrokerName: r.optStr("bname"),
	}
	return r.err
}
