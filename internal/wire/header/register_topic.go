// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// RegisterTopic is REGISTER_TOPIC_IN_NAMESRV 217, A to N. Java:
// RegisterTopicRequestHeader. The body is body.TopicRouteData, of which only
// the queues count.
type RegisterTopic struct {
	Topic string
}

// Encode appends the fields.
func (h *RegisterTopic) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.str("topic", h.Topic)
	w.done()
}

// Decode reads the fields.
func (h *RegisterTopic) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = RegisterTopic{
		Topic: r.str("topic"),
	}
	return r.err
}
