// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// WipeWritePerm is WIPE_WRITE_PERM_OF_BROKER 205, A to N. Java:
// WipeWritePermOfBrokerRequestHeader.
type WipeWritePerm struct {
	BrokerName string
}

// Encode appends the fields.
func (h *WipeWritePerm) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.str("brokerName", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *WipeWritePerm) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = WipeWritePerm{
		BrokerName: r.str("brokerName"),
	}
	return r.err
}

// WipeWritePermResponse answers 205. Java:
// WipeWritePermOfBrokerResponseHeader.
type WipeWritePermResponse struct {
	WipeTopicCount int32
}

// Encode appends the fields.
func (h *WipeWritePermResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.int("wipeTopicCount", int64(h.WipeTopicCount))
	w.done()
}

// Decode reads the fields.
func (h *WipeWritePermResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = WipeWritePermResponse{
		WipeTopicCount: r.int32("wipeTopicCount"),
	}
	return r.err
}
