// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// SearchOffset is SEARCH_OFFSET_BY_TIMESTAMP 29, C to B. Java:
// SearchOffsetRequestHeader. Answered by OffsetResponse.
type SearchOffset struct {
	Topic        string
	QueueID      int32
	Timestamp    int64  // ms
	BoundaryType string // see Upper
	BrokerName   string
}

// Encode appends the fields.
func (h *SearchOffset) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 5)
	w.str("topic", h.Topic)
	w.int("queueId", int64(h.QueueID))
	w.int("timestamp", h.Timestamp)
	w.optStr("boundaryType", h.BoundaryType)
	w.optStr("bname", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *SearchOffset) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = SearchOffset{
		Topic:        r.str("topic"),
		QueueID:      r.int32("queueId"),
		Timestamp:    r.int64("timestamp"),
		BoundaryType: r.optStr("boundaryType"),
		BrokerName:   r.optStr("bname"),
	}
	return r.err
}
