// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// ChangeInvisibleTime is CHANGE_MESSAGE_INVISIBLETIME 200053, C to B. Java:
// ChangeInvisibleTimeRequestHeader.
type ChangeInvisibleTime struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32
	ExtraInfo     string
	Offset        int64
	InvisibleTime int64
	Suspend       Opt[bool]
	LiteTopic     string
	BrokerName    string
}

// Encode appends the fields.
func (h *ChangeInvisibleTime) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 9)
	w.str("consumerGroup", h.ConsumerGroup)
	w.str("topic", h.Topic)
	w.int("queueId", int64(h.QueueID))
	w.str("extraInfo", h.ExtraInfo)
	w.int("offset", h.Offset)
	w.int("invisibleTime", h.InvisibleTime)
	w.optBool("suspend", h.Suspend)
	w.optStr("liteTopic", h.LiteTopic)
	w.optStr("bname", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *ChangeInvisibleTime) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = ChangeInvisibleTime{
		ConsumerGroup: r.str("consumerGroup"),
		Topic:         r.str("topic"),
		QueueID:       r.int32("queueId"),
		ExtraInfo:     r.str("extraInfo"),
		Offset:        r.int64("offset"),
		InvisibleTime: r.int64("invisibleTime"),
		Suspend:       r.optBool("suspend"),
		LiteTopic:     r.optStr("liteTopic"),
		BrokerName:    r.optStr("bname"),
	}
	return r.err
}

// ChangeInvisibleTimeResponse answers 200053. Java:
// ChangeInvisibleTimeResponseHeader.
type ChangeInvisibleTimeResponse struct {
	PopTime       int64
	InvisibleTime int64
	ReviveQid     int32
}

// Encode appends the fields.
func (h *ChangeInvisibleTimeResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 3)
	w.int("popTime", h.PopTime)
	w.int("invisibleTime", h.InvisibleTime)
	w.int("reviveQid", int64(h.ReviveQid))
	w.done()
}

// Decode reads the fields.
func (h *ChangeInvisibleTimeResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = ChangeInvisibleTimeResponse{
		PopTime:       r.int64("popTime"),
		InvisibleTime: r.int64("invisibleTime"),
		ReviveQid:     r.int32("reviveQid"),
	}
	return r.err
}
