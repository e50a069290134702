// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// AddWritePerm is ADD_WRITE_PERM_OF_BROKER 327, A to N. Java:
// AddWritePermOfBrokerRequestHeader.
type AddWritePerm struct {
	BrokerName string
}

// Encode appends the fields.
func (h *AddWritePerm) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.str("brokerName", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *AddWritePerm) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = AddWritePerm{
		BrokerName: r.str("brokerName"),
	}
	return r.err
}

// AddWritePermResponse answers 327. Java: AddWritePermOfBrokerResponseHeader.
type AddWritePermResponse struct {
	AddTopicCount int32
}

// Encode appends the fields.
func (h *AddWritePermResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.int("addTopicCount", int64(h.AddTopicCount))
	w.done()
}

// Decode reads the fields.
func (h *AddWritePermResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = AddWritePermResponse{
		AddTopicCount: r.int32("addTopicCount"),
	}
	return r.err
}
