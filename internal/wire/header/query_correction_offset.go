// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// QueryCorrectionOffset is QUERY_CORRECTION_OFFSET 308, A to B. Java:
// QueryCorrectionOffsetHeader. The answer is body.CorrectionOffsets.
type QueryCorrectionOffset struct {
	FilterGroups string
	CompareGroup string
	Topic        string
}

// Encode appends the fields.
func (h *QueryCorrectionOffset) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 3)
	w.optStr("filterGroups", h.FilterGroups)
	w.str("compareGroup", h.CompareGroup)
	w.str("topic", h.Topic)
	w.done()
}

// Decode reads the fields.
func (h *QueryCorrectionOffset) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = QueryCorrectionOffset{
		FilterGroups: r.optStr("filterGroups"),
		CompareGroup: r.str("compareGroup"),
		Topic:        r.str("topic"),
	}
	return r.err
}
