// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetTopicStatsInfo is GET_TOPIC_STATS_INFO 202, A to B. Java:
// GetTopicStatsInfoRequestHeader. The answer is body.TopicStatsTable.
type GetTopicStatsInfo struct {
	Topic string
}

// Encode appends the fields.
func (h *GetTopicStatsInfo) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.str("topic", h.Topic)
	w.done()
}

// Decode reads the fields.
func (h *GetTopicStatsInfo) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetTopicStatsInfo{
		Topic: r.str("topic"),
	}
	return r.err
}
