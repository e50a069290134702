// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// PutKVConfig is PUT_KV_CONFIG 100, A to N. Java: PutKVConfigRequestHeader.
type PutKVConfig struct {
	Namespace string
	Key       string
	Value     string
}

// Encode appends the fields.
func (h *PutKVConfig) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 3)
	w.str("namespace", h.Namespace)
	w.str("key", h.Key)
	w.str("value", h.Value)
	w.done()
}

// Decode reads the fields.
func (h *PutKVConfig) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = PutKVConfig{
		Namespace: r.str("namespace"),
		Key:       r.str("key"),
		Value:     r.str("value"),
	}
	return r.err
}
