// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// EndTransaction is END_TRANSACTION 37, C to B; Java sends it oneway. Java:
// EndTransactionRequestHeader. The frame's remark may hold the text of an
// exception.
type EndTransaction struct {
	Topic                string // the Go client does not send it
	ProducerGroup        string
	TranStateTableOffset int64  // queue offset of the half message
	CommitLogOffset      int64  // commit-log offset of the half message
	CommitOrRollback     int32  // see TransactionCommit
	FromTransactionCheck bool   // it answers a CHECK_TRANSACTION_STATE
	MsgID                string // UNIQ_KEY
	TransactionID        string // UNIQ_KEY
	BrokerName           string
}

// Encode appends the fields.
func (h *EndTransaction) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 9)
	w.optStr("topic", h.Topic)
	w.str("producerGroup", h.ProducerGroup)
	w.int("tranStateTableOffset", h.TranStateTableOffset)
	w.int("commitLogOffset", h.CommitLogOffset)
	w.int("commitOrRollback", int64(h.CommitOrRollback))
	w.bool("fromTransactionCheck", h.FromTransactionCheck)
	w.str("msgId", h.MsgID)
	w.optStr("transactionId", h.TransactionID)
	w.optStr("bname", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *EndTransaction) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = EndTransaction{
		Topic:                r.optStr("topic"),
		ProducerGroup:        r.str("producerGroup"),
		TranStateTableOffset: r.int64("tranStateTableOffset"),
		CommitLogOffset:      r.int64("commitLogOffset"),
		CommitOrRollback:     r.int32("commitOrRollback"),
		FromTransactionCheck: r.bool("fromTransactionCheck"),
		MsgID:                r.str("msgId"),
		TransactionID:        r.optStr("transactionId"),
		BrokerName:           r.optStr("bname"),
	}
	return r.err
}
