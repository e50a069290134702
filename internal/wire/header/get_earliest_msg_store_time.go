// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetEarliestMsgStoreTime is GET_EARLIEST_MSG_STORETIME 32, C to B. Java:
// GetEarliestMsgStoretimeRequestHeader.
type GetEarliestMsgStoreTime struct {
	Topic      string
	QueueID    int32
	BrokerName string
}

// Encode appends the fields.
func (h *GetEarliestMsgStoreTime) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 3)
	w.str("topic", h.Topic)
	w.int("queueId", int64(h.QueueID))
	w.optStr("bname", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *GetEarliestMsgStoreTime) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetEarliestMsgStoreTime{
		Topic:      r.str("topic"),
		QueueID:    r.int32("queueId"),
		BrokerName: r.optStr("bname"),
	}
	return r.err
}

// GetEarliestMsgStoreTimeResponse answers 32. Java:
// GetEarliestMsgStoretimeResponseHeader.
type GetEarliestMsgStoreTimeResponse struct {
	Timestamp int64 // ms, -1 if there is no message
}

// Encode appends the fields.
func (h *GetEarliestMsgStoreTimeResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.int("timestamp", h.Timestamp)
	w.done()
}

// Decode reads the fields.
func (h *GetEarliestMsgStoreTimeResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetEarliestMsgStoreTimeResponse{
		Timestamp: r.int64("timestamp"),
	}
	return r.err
}
