// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// PollingInfo is POLLING_INFO 200055, C to B. Java: PollingInfoRequestHeader.
type PollingInfo struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32
}

// Encode appends the fields.
func (h *PollingInfo) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 3)
	w.str("consumerGroup", h.ConsumerGroup)
	w.str("topic", h.Topic)
	w.int("queueId", int64(h.QueueID))
	w.done()
}

// Decode reads the fields.
func (h *PollingInfo) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = PollingInfo{
		ConsumerGroup: r.str("consumerGroup"),
		Topic:         r.str("topic"),
		QueueID:       r.int32("queueId"),
	}
	return r.err
}

// PollingInfoResponse answers 200055. Java: PollingInfoResponseHeader.
type PollingInfoResponse struct {
	PollingNum int32
}

// Encode appends the fields.
func (h *PollingInfoResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.int("pollingNum", int64(h.PollingNum))
	w.done()
}

// Decode reads the fields.
func (h *PollingInfoResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = PollingInfoResponse{
		PollingNum: r.int32("pollingNum"),
	}
	return r.err
}
