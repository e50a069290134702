// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetBrokerConfigResponse answers GET_BROKER_CONFIG 26, A to B. Java:
// GetBrokerConfigResponseHeader. The body is lines key=value.
type GetBrokerConfigResponse struct {
	Version string // body.DataVersion as text
}

// Encode appends the fields.
func (h *GetBrokerConfigResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.optStr("version", h.Version)
	w.done()
}

// Decode reads the fields.
func (h *GetBrokerConfigResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetBrokerConfigResponse{
		Version: r.optStr("version"),
	}
	return r.err
}
