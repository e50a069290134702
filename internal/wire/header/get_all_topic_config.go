// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetAllTopicConfig is GET_ALL_TOPIC_CONFIG 21, A or B to B, paged by newer
// admin tools. Java: GetAllTopicConfigRequestHeader. The answer is
// body.TopicConfigSerializeWrapper.
type GetAllTopicConfig struct {
	TopicSeq    Opt[int32]
	DataVersion string
	MaxTopicNum Opt[int32]
}

// Encode appends the fields.
func (h *GetAllTopicConfig) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 3)
	w.optInt32("topicSeq", h.TopicSeq)
	w.optStr("dataVersion", h.DataVersion)
	w.optInt32("maxTopicNum", h.MaxTopicNum)
	w.done()
}

// Decode reads the fields.
func (h *GetAllTopicConfig) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetAllTopicConfig{
		TopicSeq:    r.optInt32("topicSeq"),
		DataVersion: r.optStr("dataVersion"),
		MaxTopicNum: r.optInt32("maxTopicNum"),
	}
	return r.err
}

// GetAllTopicConfigResponse answers 21. Java: GetAllTopicConfigResponseHeader.
// Leave the total out or make it exact: an admin tool asks on until it has
// seen as many.
type GetAllTopicConfigResponse struct {
	TotalTopicNum Opt[int32]
}

// Encode appends the fields.
func (h *GetAllTopicConfigResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.optInt32("totalTopicNum", h.TotalTopicNum)
	w.done()
}

// Decode reads the fields.
func (h *GetAllTopicConfigResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetAllTopicConfigResponse{
		TotalTopicNum: r.optInt32("totalTopicNum"),
	}
	return r.err
}
