// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// DeleteTopic is DELETE_TOPIC_IN_BROKER 215, A to B, and without a cluster
// name DELETE_TOPIC_IN_NAMESRV 216, A to N. Java: DeleteTopicRequestHeader,
// DeleteTopicFromNamesrvRequestHeader.
type DeleteTopic struct {
	Topic       string
	ClusterName string // 216: only this cluster's brokers
}

// Encode appends the fields.
func (h *DeleteTopic) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.str("topic", h.Topic)
	w.optStr("clusterName", h.ClusterName)
	w.done()
}

// Decode reads the fields.
func (h *DeleteTopic) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = DeleteTopic{
		Topic:       r.str("topic"),
		ClusterName: r.optStr("clusterName"),
	}
	return r.err
}
