// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// OffsetResponse answers 14, 29, 30 and 31. Java:
// QueryConsumerOffsetResponseHeader, SearchOffsetResponseHeader,
// GetMaxOffsetResponseHeader, GetMinOffsetResponseHeader.
type OffsetResponse struct {
	Offset int64
}

// Encode appends the fields.
func (h *OffsetResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.int("offset", h.Offset)
	w.done()
}

// Decode reads the fields.
func (h *OffsetResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = OffsetResponse{
		Offset: r.int64("offset"),
	}
	return r.err
}
