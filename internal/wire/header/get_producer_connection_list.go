// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetProducerConnectionList is GET_PRODUCER_CONNECTION_LIST 204, A to B. Java:
// GetProducerConnectionListRequestHeader. The answer is
// body.ProducerConnection.
type GetProducerConnectionList struct {
	ProducerGroup string
}

// Encode appends the fields.
func (h *GetProducerConnectionList) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.str("producerGroup", h.ProducerGroup)
	w.done()
}

// Decode reads the fields.
func (h *GetProducerConnectionList) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetProducerConnectionList{
		ProducerGroup: r.str("producerGroup"),
	}
	return r.err
}
