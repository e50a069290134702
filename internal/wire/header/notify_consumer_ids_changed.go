// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// NotifyConsumerIDsChanged is NOTIFY_CONSUMER_IDS_CHANGED 40, B to C, oneway.
// Java: NotifyConsumerIdsChangedRequestHeader.
type NotifyConsumerIDsChanged struct {
	ConsumerGroup string
}

// Encode appends the fields.
func (h *NotifyConsumerIDsChanged) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.str("consumerGroup", h.ConsumerGroup)
	w.done()
}

// Decode reads the fields.
func (h *NotifyConsumerIDsChanged) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = NotifyConsumerIDsChanged{
		ConsumerGroup: r.str("consumerGroup"),
	}
	return r.err
}
