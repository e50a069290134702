// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// ConsumerSendMsgBack is CONSUMER_SEND_MSG_BACK 36, C to B. Java:
// ConsumerSendMsgBackRequestHeader.
type ConsumerSendMsgBack struct {
	Offset            int64  // commit-log offset of the message
	Group             string // without %RETRY%
	DelayLevel        int32  // 0: the server decides, below 0: straight to the dead letters
	OriginMsgID       string
	OriginTopic       string
	UnitMode          bool
	MaxReconsumeTimes Opt[int32] // wins over the group's, from VersionMaxReconsume on
	BrokerName        string
}

// Encode appends the fields.
func (h *ConsumerSendMsgBack) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 8)
	w.int("offset", h.Offset)
	w.str("group", h.Group)
	w.int("delayLevel", int64(h.DelayLevel))
	w.optStr("originMsgId", h.OriginMsgID)
	w.optStr("originTopic", h.OriginTopic)
	w.bool("unitMode", h.UnitMode)
	w.optInt32("maxReconsumeTimes", h.MaxReconsumeTimes)
	w.optStr("bname", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *ConsumerSendMsgBack) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = ConsumerSendMsgBack{
		Offset:            r.int64("offset"),
		Group:             r.str("group"),
		DelayLevel:        r.int32("delayLevel"),
		OriginMsgID:       r.optStr("originMsgId"),
		OriginTopic:       r.optStr("originTopic"),
		UnitMode:          r.bool("unitMode"),
		MaxReconsumeTimes: r.optInt32("maxReconsumeTimes"),
		BrokerName:        r.optStr("bname"),
	}
	return r.err
}
