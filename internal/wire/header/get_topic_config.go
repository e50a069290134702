// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetTopicConfig is GET_TOPIC_CONFIG 351, A to B. Java:
// GetTopicConfigRequestHeader. The answer is body.TopicConfig.
type GetTopicConfig struct {
	Topic        string
	LogicalQueue Opt[bool] // static topics
}

// Encode appends the fields.
func (h *GetTopicConfig) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.str("topic", h.Topic)
	w.optBool("lo", h.LogicalQueue)
	w.done()
}

// Decode reads the fields.
func (h *GetTopicConfig) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetTopicConfig{
		Topic:        r.str("topic"),
		LogicalQueue: r.optBool("lo"),
	}
	return r.err
}
