// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetConsumerConnectionList is GET_CONSUMER_CONNECTION_LIST 203, A to B. Java:
// GetConsumerConnectionListRequestHeader. The answer is
// body.ConsumerConnection.
type GetConsumerConnectionList struct {
	ConsumerGroup string
}

// Encode appends the fields.
func (h *GetConsumerConnectionList) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.str("consumerGroup", h.ConsumerGroup)
	w.done()
}

// Decode reads the fields.
func (h *GetConsumerConnectionList) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetConsumerConnectionList{
		ConsumerGroup: r.str("consumerGroup"),
	}
	return r.err
}
