// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// UpdateGroupForbidden is UPDATE_AND_GET_GROUP_FORBIDDEN 353, A to B. Java:
// UpdateGroupForbiddenRequestHeader. The answer is body.GroupForbidden.
type UpdateGroupForbidden struct {
	Group    string
	Topic    string
	Readable Opt[bool] // absent: only ask
}

// Encode appends the fields.
func (h *UpdateGroupForbidden) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 3)
	w.str("group", h.Group)
	w.str("topic", h.Topic)
	w.optBool("readable", h.Readable)
	w.done()
}

// Decode reads the fields.
func (h *UpdateGroupForbidden) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = UpdateGroupForbidden{
		Group:    r.str("group"),
		Topic:    r.str("topic"),
		Readable: r.optBool("readable"),
	}
	return r.err
}
