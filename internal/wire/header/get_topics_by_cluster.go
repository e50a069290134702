// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetTopicsByCluster is GET_TOPICS_BY_CLUSTER 224, A to N. Java:
// GetTopicsByClusterRequestHeader. The answer is body.TopicList.
type GetTopicsByCluster struct {
	Cluster string
}

// Encode appends the fields.
func (h *GetTopicsByCluster) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.str("cluster", h.Cluster)
	w.done()
}

// Decode reads the fields.
func (h *GetTopicsByCluster) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetTopicsByCluster{
		Cluster: r.str("cluster"),
	}
	return r.err
}
