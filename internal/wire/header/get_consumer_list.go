// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetConsumerList is GET_CONSUMER_LIST_BY_GROUP 38, C to B. Java:
// GetConsumerListByGroupRequestHeader. The answer is body.ConsumerList.
type GetConsumerList struct {
	ConsumerGroup string
}

// Encode appends the fields.
func (h *GetConsumerList) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.str("consumerGroup", h.ConsumerGroup)
	w.done()
}

// Decode reads the fields.
func (h *GetConsumerList) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetConsumerList{
		ConsumerGroup: r.str("consumerGroup"),
	}
	return r.err
}
