// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"sync"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// numbers holds what is known of the producers that number their sends. The
// log's writer asks it about each frame when the frame's turn has come, so that
// what it says is in the order of the log.
type numbers struct {
	mu    sync.Mutex
	table *order.Numbers
	names map[string]uint64 // producers by name
	mark  int64             // frames below this place of the log are in the change log
	owed  *keeping          // taken from the table and not all in the change log; of housekeeping alone
}

func (n *numbers) stats() order.NumbersStats {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.table.Stats()
}

func (n *numbers) dropTopic(topic string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.table.DropTopic(topic)
}

// numbersError is a verdict that keeps a frame out.
type numbersError struct{}

func (numbersError) Error() string { return "refused by its numbers" }

// number lets the writer ask about the send, if it has numbers.
func (b *Broker) number(s *sending) {
	if s.numbers.Producer == 0 {
		return
	}
	s.count = uint32(len(s.Append.Msgs))
	s.Append.Turn = sendTurn
	s.Append.Numbers = store.Numbers{Producer: s.numbers.Producer, Epoch: s.numbers.Epoch, First: s.numbers.First}
}

// frame is the send as the table knows it.
func (s *sending) frame(offset int64) order.NumberedFrame {
	return order.NumberedFrame{
		Producer: s.numbers.Producer, Epoch: s.numbers.Epoch, Queue: order.Queue{Topic: s.topic, ID: s.queue},
		KeptFrame: order.KeptFrame{First: s.numbers.First, Count: s.count, Offset: offset},
	}
}

// sendTurn decides about a numbered send; the store's writer calls it.
func sendTurn(a *store.Append, offset int64) error {
	s := a.Arg.(*sending)
	b, f := s.c.b, s.frame(offset)
	now := b.clock.now()
	b.numbers.mu.Lock()
	defer b.numbers.mu.Unlock()
	if len(a.Msgs) == 0 { // believed to be a repeat: there is nothing to store
		s.verdict = b.numbers.table.Repeat(now, &f)
	} else {
		s.verdict = b.numbers.table.Admit(now, &f)
	}
	if s.verdict.Verdict != order.NumberAdmit {
		return numbersError{}
	}
	return nil
}

// answeredBefore answers a send that is stored already, before anything that
// may have changed since can refuse it, and reports whether it did. The answer
// waits for the first one's to be safe.
func (b *Broker) answeredBefore(r request, h *header.SendMessage, n header.Numbers) bool {
	if h.QueueID < 0 {
		r.failSend(wire.InvalidParameter, "a numbered send must name its queue")
		return true
	}
	s := &sending{request: r, queue: h.QueueID, topic: h.Topic, numbers: n, count: 1}
	if h.Batch {
		records, err := msg.DecodeBatch(r.cmd.Body, b.cfg.MaxBatch)
		if err != nil {
			return false // refused in a moment
		}
		s.count = uint32(len(records))
	}
	f := s.frame(0)
	b.numbers.mu.Lock()
	_, found := b.numbers.table.Find(&f)
	b.numbers.mu.Unlock()
	if !found {
		return false
	}
	s.key, _ = msg.Property(h.Properties, msg.PropUniqueKey)
	s.Append.Turn = sendTurn
	b.append(s)
	return true
}

// refusedNumbers answers a send that its numbers have kept out of the log.
func (b *Broker) refusedNumbers(s *sending, err error) bool {
	if _, ok := err.(numbersError); !ok { //nolint:errorlint // the store hands it on as it is
		return false
	}
	v := s.verdict
	switch v.Verdict {
	case order.NumberRepeat:
		b.read(s.request, func() { b.repeatSend(s) })
	case order.NumberGap:
		s.failNumbers(wire.CodeSequenceGap, "numbers before the frame's are missing", header.SendNumbersAnswer{Next: header.Some(v.Next)})
	case order.NumberFenced:
		s.failNumbers(wire.CodeProducerFenced, "a newer epoch of the producer is there", header.SendNumbersAnswer{})
	case order.NumberTooMany:
		s.failNumbers(wire.CodeTooManyProducers, "no room for one more producer or queue of one: raise the limit, or use fewer producers", header.SendNumbersAnswer{})
	default:
		s.failNumbers(wire.CodeProducerUnknown, "the broker does not know the producer, or no longer its numbers in this queue", header.SendNumbersAnswer{})
	}
	return true
}

func (r request) failNumbers(code int32, remark string, n header.SendNumbersAnswer) {
	resp := wire.NewResponse(r.cmd, code, remark)
	h := header.SendMessageResponse{Region: regionID, TraceOn: header.Some(true)}
	h.EncodeTrace(&resp.Ext)
	n.Encode(&resp.Ext)
	r.reply(resp)
}

// repeatSend answers a send again. Messages that are gone by now, or wait for
// their delay, have no ids.
func (b *Broker) repeatSend(s *sending) {
	resp := wire.NewResponse(s.cmd, wire.Success, "")
	h := header.SendMessageResponse{
		QueueID: s.queue, QueueOffset: s.verdict.Offset, TransactionID: s.key, Region: regionID, TraceOn: header.Some(true),
	}
	found, err := b.store.Read(s.topic, s.queue, s.verdict.Offset, store.ReadLimit{MaxMsgs: int(s.count), MaxBytes: b.cfg.MaxMessageSize * 2}, nil)
	if msgs, derr := msg.DecodeRecords(found.Records); err == nil && derr == nil && len(msgs) == int(s.count) {
		h.MsgID = offsetIDs(msgs)
	}
	h.Encode(&resp.Ext)
	header.SendNumbersAnswer{Repeat: true}.Encode(&resp.Ext)
	s.reply(resp)
}
