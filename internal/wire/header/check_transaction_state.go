// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// CheckTransactionState is CHECK_TRANSACTION_STATE 39, B to C, oneway. Java:
// CheckTransactionStateRequestHeader. The body is the half message as one
// stored message, with its real topic and queue.
type CheckTransactionState struct {
	Topic                string // the half topic
	TranStateTableOffset int64
	CommitLogOffset      int64
	MsgID                string // UNIQ_KEY
	TransactionID        string // UNIQ_KEY
	OffsetMsgID          string
	BrokerName           string
}

// Encode appends the fields.
func (h *CheckTransactionState) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 7)
	w.optStr("topic", h.Topic)
	w.int("tranStateTableOffset", h.TranStateTableOffset)
	w.int("commitLogOffset", h.CommitLogOffset)
	w.optStr("msgId", h.MsgID)
	w.optStr("transactionId", h.TransactionID)
	w.optStr("offsetMsgId", h.OffsetMsgID)
	w.optStr("bname", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *CheckTransactionState) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = CheckTransactionState{
		Topic:                r.optStr("topic"),
		TranStateTableOffset: r.int64("tranStateTableOffset"),
		CommitLogOffset:      r.int64("commitLogOffset"),
		MsgID:                r.optStr("msgId"),
		TransactionID:        r.optStr("transactionId"),
		OffsetMsgID:          r.optStr("offsetMsgId"),
		BrokerName:           r.optStr("bname"),
	}
	return r.err
}
