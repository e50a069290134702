// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// RecallMessage is RECALL_MESSAGE 370, C to B. Java:
// RecallMessageRequestHeader.
type RecallMessage struct {
	ProducerGroup string
	Topic         string
	RecallHandle  string
	BrokerName    string
}

// Encode appends the fields.
func (h *RecallMessage) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 4)
	w.optStr("producerGroup", h.ProducerGroup)
	w.str("topic", h.Topic)
	w.str("recallHandle", h.RecallHandle)
	w.optStr("bname", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *RecallMessage) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = RecallMessage{
		ProducerGroup: r.optStr("producerGroup"),
		Topic:         r.str("topic"),
		RecallHandle:  r.str("recallHandle"),
		BrokerName:    r.optStr("bname"),
	}
	return r.err
}

// RecallMessageResponse answers 370. Java: RecallMessageResponseHeader.
type RecallMessageResponse struct {
	MsgID  string // UNIQ_KEY of the recalled message
	Region string
}

// Encode appends the fields.
func (h *RecallMessageResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.str("msgId", h.MsgID)
	w.optStr("MSG_REGION", h.Region)
	w.done()
}

// Decode reads the fields.
func (h *RecallMessageResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = RecallMessageResponse{
		MsgID:  r.str("msgId"),
		Region: r.optStr("MSG_REGION"),
	}
	return r.err
}
