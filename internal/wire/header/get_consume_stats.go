// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetConsumeStats is GET_CONSUME_STATS 208, A to B. Java:
// GetConsumeStatsRequestHeader. The answer is body.ConsumeStats.
type GetConsumeStats struct {
	ConsumerGroup string
	Topic         string
	TopicList     string // separated by semicolons
}

// Encode appends the fields.
func (h *GetConsumeStats) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 3)
	w.str("consumerGroup", h.ConsumerGroup)
	w.optStr("topic", h.Topic)
	w.optStr("topicList", h.TopicList)
	w.done()
}

// Decode reads the fields.
func (h *GetConsumeStats) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetConsumeStats{
		ConsumerGroup: r.str("consumerGroup"),
		Topic:         r.optStr("topic"),
		TopicList:     r.optStr("topicList"),
	}
	return r.err
}
