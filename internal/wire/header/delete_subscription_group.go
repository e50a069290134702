// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// DeleteSubscriptionGroup is DELETE_SUBSCRIPTIONGROUP 207, A to B. Java:
// DeleteSubscriptionGroupRequestHeader.
type DeleteSubscriptionGroup struct {
	GroupName   string
	CleanOffset bool
}

// Encode appends the fields.
func (h *DeleteSubscriptionGroup) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.str("groupName", h.GroupName)
	w.bool("cleanOffset", h.CleanOffset)
	w.done()
}

// Decode reads the fields.
func (h *DeleteSubscriptionGroup) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = DeleteSubscriptionGroup{
		GroupName:   r.str("groupName"),
		CleanOffset: r.bool("cleanOffset"),
	}
	return r.err
}
