// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// QueryTopicsByConsumer is QUERY_TOPICS_BY_CONSUMER 343, A to B. Java:
// QueryTopicsByConsumerRequestHeader. The answer is body.TopicList.
type QueryTopicsByConsumer struct {
	Group string
}

// Encode appends the fields.
func (h *QueryTopicsByConsumer) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.str("group", h.Group)
	w.done()
}

// Decode reads the fields.
func (h *QueryTopicsByConsumer) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = QueryTopicsByConsumer{
		Group: r.str("group"),
	}
	return r.err
}
