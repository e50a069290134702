// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// CloneGroupOffset is CLONE_GROUP_OFFSET 314, A to B. Java:
// CloneGroupOffsetRequestHeader.
type CloneGroupOffset struct {
	SrcGroup  string
	DestGroup string
	Topic     string
	Offline   bool
}

// Encode appends the fields.
func (h *CloneGroupOffset) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 4)
	w.str("srcGroup", h.SrcGroup)
	w.str("destGroup", h.DestGroup)
	w.optStr("topic", h.Topic)
	w.bool("offline", h.Offline)
	w.done()
}

// Decode reads the fields.
func (h *CloneGroupOffset) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = CloneGroupOffset{
		SrcGroup:  r.str("srcGroup"),
		DestGroup: r.str("destGroup"),
		Topic:     r.optStr("topic"),
		Offline:   r.bool("offline"),
	}
	return r.err
}
