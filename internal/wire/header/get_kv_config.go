// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetKVConfig is GET_KV_CONFIG 101, A to N. Java: GetKVConfigRequestHeader.
type GetKVConfig struct {
	Namespace string
	Key       string
}

// Encode appends the fields.
func (h *GetKVConfig) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.str("namespace", h.Namespace)
	w.str("key", h.Key)
	w.done()
}

// Decode reads the fields.
func (h *GetKVConfig) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetKVConfig{
		Namespace: r.str("namespace"),
		Key:       r.str("key"),
	}
	return r.err
}

// GetKVConfigResponse answers 101. Java: GetKVConfigResponseHeader.
type GetKVConfigResponse struct {
	Value string
}

// Encode appends the fields.
func (h *GetKVConfigResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.optStr("value", h.Value)
	w.done()
}

// Decode reads the fields.
func (h *GetKVConfigResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetKVConfigResponse{
		Value: r.optStr("value"),
	}
	return r.err
}
