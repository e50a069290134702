// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// ViewMessage is VIEW_MESSAGE_BY_ID 33, C to B. Java:
// ViewMessageRequestHeader. The answer's body is one stored message.
type ViewMessage struct {
	Offset int64 // commit-log offset out of the offset message id
	Topic  string
}

// Encode appends the fields.
func (h *ViewMessage) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.int("offset", h.Offset)
	w.optStr("topic", h.Topic)
	w.done()
}

// Decode reads the fields.
func (h *ViewMessage) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = ViewMessage{
		Offset: r.int64("offset"),
		Topic:  r.optStr("topic"),
	}
	return r.err
}
