// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// DeleteKVConfig is DELETE_KV_CONFIG 102, A to N. Java:
// DeleteKVConfigRequestHeader.
type DeleteKVConfig struct {
	Namespace string
	Key       string
}

// Encode appends the fields.
func (h *DeleteKVConfig) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.str("namespace", h.Namespace)
	w.str("key", h.Key)
	w.done()
}

// Decode reads the fields.
func (h *DeleteKVConfig) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = DeleteKVConfig{
		Namespace: r.str("namespace"),
		Key:       r.str("key"),
	}
	return r.err
}
