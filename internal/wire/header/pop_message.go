// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// PopMessage is POP_MESSAGE 200050, C to B. Java: PopMessageRequestHeader.
type PopMessage struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32 // -1: any queue
	MaxMsgNums    int32
	InvisibleTime int64 // ms
	PollTime      int64 // ms
	BornTime      int64 // ms of the client's clock
	InitMode      int32 // a new group starts at 0 the first, 1 the end
	ExpType       string
	Exp           string
	Order         Opt[bool]
	AttemptID     string
	BrokerName    string
}

// Encode appends the fields.
func (h *PopMessage) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 13)
	w.str("consumerGroup", h.ConsumerGroup)
	w.str("topic", h.Topic)
	w.int("queueId", int64(h.QueueID))
	w.int("maxMsgNums", int64(h.MaxMsgNums))
	w.int("invisibleTime", h.InvisibleTime)
	w.int("pollTime", h.PollTime)
	w.int("bornTime", h.BornTime)
	w.int("initMode", int64(h.InitMode))
	w.optStr("expType", h.ExpType)
	w.optStr("exp", h.Exp)
	w.optBool("order", h.Order)
	w.optStr("attemptId", h.AttemptID)
	w.optStr("bname", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *PopMessage) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = PopMessage{
		ConsumerGroup: r.str("consumerGroup"),
		Topic:         r.str("topic"),
		QueueID:       r.int32("queueId"),
		MaxMsgNums:    r.int32("maxMsgNums"),
		InvisibleTime: r.int64("invisibleTime"),
		PollTime:      r.int64("pollTime"),
		BornTime:      r.int64("bornTime"),
		InitMode:      r.int32("initMode"),
		ExpType:       r.optStr("expType"),
		Exp:           r.optStr("exp"),
		Order:         r.optBool("order"),
		AttemptID:     r.optStr("attemptId"),
		BrokerName:    r.optStr("bname"),
	}
	return r.err
}

// PopMessageResponse answers 200050 and 200052. Java:
// PopMessageResponseHeader.
type PopMessageResponse struct {
	PopTime         int64
	InvisibleTime   int64
	ReviveQid       int32
	RestNum         int64
	StartOffsetInfo string
	MsgOffsetInfo   string
	OrderCountInfo  string
}

// Encode appends the fields.
func (h *PopMessageResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 7)
	w.int("popTime", h.PopTime)
	w.int("invisibleTime", h.InvisibleTime)
	w.int("reviveQid", int64(h.ReviveQid))
	w.int("restNum", h.RestNum)
	w.optStr("startOffsetInfo", h.StartOffsetInfo)
	w.optStr("msgOffsetInfo", h.MsgOffsetInfo)
	w.optStr("orderCountInfo", h.OrderCountInfo)
	w.done()
}

// Decode reads the fields.
func (h *PopMessageResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = PopMessageResponse{
		PopTime:         r.int64("popTime"),
		InvisibleTime:   r.int64("invisibleTime"),
		ReviveQid:       r.int32("reviveQid"),
		RestNum:         r.int64("restNum"),
		StartOffsetInfo: r.optStr("startOffsetInfo"),
		MsgOffsetInfo:   r.optStr("msgOffsetInfo"),
		OrderCountInfo:  r.optStr("orderCountInfo"),
	}
	return r.err
}
