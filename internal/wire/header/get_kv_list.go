// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetKVList is GET_KVLIST_BY_NAMESPACE 219, A to N. Java:
// GetKVListByNamespaceRequestHeader. The answer is body.KVTable.
type GetKVList struct {
	Namespace string
}

// Encode appends the fields.
func (h *GetKVList) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.str("namespace", h.Namespace)
	w.done()
}

// Decode reads the fields.
func (h *GetKVList) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetKVList{
		Namespace: r.str("namespace"),
	}
	return r.err
}
