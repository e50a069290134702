// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// QueryConsumeTimeSpan is QUERY_CONSUME_TIME_SPAN 303, A to B. Java:
// QueryConsumeTimeSpanRequestHeader. The answer is body.ConsumeTimeSpans.
type QueryConsumeTimeSpan struct {
	Topic string
	Group string
}

// Encode appends the fields.
func (h *QueryConsumeTimeSpan) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.str("topic", h.Topic)
	w.str("group", h.Group)
	w.done()
}

// Decode reads the fields.
func (h *QueryConsumeTimeSpan) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = QueryConsumeTimeSpan{
		Topic: r.str("topic"),
		Group: r.str("group"),
	}
	return r.err
}
