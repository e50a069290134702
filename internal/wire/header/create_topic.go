// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// CreateTopic is UPDATE_AND_CREATE_TOPIC 17, A to B. Java:
// CreateTopicRequestHeader.
type CreateTopic struct {
	Topic           string
	DefaultTopic    string
	ReadQueueNums   int32
	WriteQueueNums  int32
	Perm            int32
	TopicFilterType string // SINGLE_TAG or MULTI_TAG
	TopicSysFlag    Opt[int32]
	Order           bool
	Attributes      string // +key=value,-key
	Force           Opt[bool]
}

// Encode appends the fields.
func (h *CreateTopic) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 10)
	w.str("topic", h.Topic)
	w.str("defaultTopic", h.DefaultTopic)
	w.int("readQueueNums", int64(h.ReadQueueNums))
	w.int("writeQueueNums", int64(h.WriteQueueNums))
	w.int("perm", int64(h.Perm))
	w.str("topicFilterType", h.TopicFilterType)
	w.optInt32("topicSysFlag", h.TopicSysFlag)
	w.bool("order", h.Order)
	w.optStr("attributes", h.Attributes)
	w.optBool("force", h.Force)
	w.done()
}

// Decode reads the fields.
func (h *CreateTopic) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = CreateTopic{
		Topic:           r.str("topic"),
		DefaultTopic:    r.str("defaultTopic"),
		ReadQueueNums:   r.int32("readQueueNums"),
		WriteQueueNums:  r.int32("writeQueueNums"),
		Perm:            r.int32("perm"),
		TopicFilterType: r.str("topicFilterType"),
		TopicSysFlag:    r.optInt32("topicSysFlag"),
		Order:           r.bool("order"),
		Attributes:      r.optStr("attributes"),
		Force:           r.optBool("force"),
	}
	return r.err
}
