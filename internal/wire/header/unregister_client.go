// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// UnregisterClient is UNREGISTER_CLIENT 35, C to B; the Go client never sends
// it. Java: UnregisterClientRequestHeader.
type UnregisterClient struct {
	ClientID      string // Java answers 0 without one, too
	ProducerGroup string
	ConsumerGroup string
}

// Encode appends the fields.
func (h *UnregisterClient) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 3)
	w.optStr("clientID", h.ClientID)
	w.optStr("producerGroup", h.ProducerGroup)
	w.optStr("consumerGroup", h.ConsumerGroup)
	w.done()
}

// Decode reads the fields.
func (h *UnregisterClient) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = UnregisterClient{
		ClientID:      r.optStr("clientID"),
		ProducerGroup: r.optStr("producerGroup"),
		ConsumerGroup: r.optStr("consumerGroup"),
	}
	return r.err
}
