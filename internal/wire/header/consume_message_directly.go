// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// ConsumeMessageDirectly is CONSUME_MESSAGE_DIRECTLY 309, A to B, relayed B to
// C with the message as its body. Java:
// ConsumeMessageDirectlyResultRequestHeader. The answer is
// body.ConsumeMessageDirectlyResult.
type ConsumeMessageDirectly struct {
	ConsumerGroup string
	ClientID      string
	MsgID         string // offset message id
	BrokerName    string
	Topic         string
	TopicSysFlag  Opt[int32]
	GroupSysFlag  Opt[int32]
}

// Encode appends the fields.
func (h *ConsumeMessageDirectly) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 7)
	w.str("consumerGroup", h.ConsumerGroup)
	w.optStr("clientId", h.ClientID)
	w.optStr("msgId", h.MsgID)
	w.optStr("brokerName", h.BrokerName)
	w.optStr("topic", h.Topic)
	w.optInt32("topicSysFlag", h.TopicSysFlag)
	w.optInt32("groupSysFlag", h.GroupSysFlag)
	w.done()
}

// Decode reads the fields.
func (h *ConsumeMessageDirectly) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = ConsumeMessageDirectly{
		ConsumerGroup: r.str("consumerGroup"),
		ClientID:      r.optStr("clientId"),
		MsgID:         r.optStr("msgId"),
		BrokerName:    r.optStr("brokerName"),
		Topic:         r.optStr("topic"),
		TopicSysFlag:  r.optInt32("topicSysFlag"),
		GroupSysFlag:  r.optInt32("groupSysFlag"),
	}
	return r.err
}
