// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetConsumerStatus is INVOKE_BROKER_TO_GET_CONSUMER_STATUS 223, A to B, and
// GET_CONSUMER_STATUS_FROM_CLIENT 221, B to C. Java:
// GetConsumerStatusRequestHeader. The answer is body.ConsumerStatus.
type GetConsumerStatus struct {
	Topic      string
	Group      string
	ClientAddr string // 223 only: this client alone
}

// Encode appends the fields.
func (h *GetConsumerStatus) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 3)
	w.str("topic", h.Topic)
	w.str("group", h.Group)
	w.optStr("clientAddr", h.ClientAddr)
	w.done()
}

// Decode reads the fields.
func (h *GetConsumerStatus) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetConsumerStatus{
		Topic:      r.str("topic"),
		Group:      r.str("group"),
		ClientAddr: r.optStr("clientAddr"),
	}
	return r.err
}
