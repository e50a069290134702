// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// QueryTopicConsumeByWho is QUERY_TOPIC_CONSUME_BY_WHO 300, A to B. Java:
// QueryTopicConsumeByWhoRequestHeader. The answer is body.GroupList.
type QueryTopicConsumeByWho struct {
	Topic string
}

// Encode appends the fields.
func (h *QueryTopicConsumeByWho) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.str("topic", h.Topic)
	w.done()
}

// Decode reads the fields.
func (h *QueryTopicConsumeByWho) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = QueryTopicConsumeByWho{
		Topic: r.str("topic"),
	}
	return r.err
}
