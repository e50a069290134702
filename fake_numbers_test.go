// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// fakeNumbers is a naive broker's memory of producers. It is guarded by the
// cluster's mutex.
type fakeNumbers struct {
	names  map[string]uint64
	epochs map[uint64]uint32
	queues map[fakeNumbered]*header.ProducerStored
	gaps   int
	repeat int
}

type fakeNumbered struct {
	producer uint64
	epoch    uint32
	queue    header.ProducerQueue
}

func newFakeNumbers() *fakeNumbers {
	return &fakeNumbers{names: map[string]uint64{}, epochs: map[uint64]uint32{}, queues: map[fakeNumbered]*header.ProducerStored{}}
}

// claim answers a heartbeat that claims an identity; false: a refusal.
func (n *fakeNumbers) claim(req, resp *wire.Command) bool {
	var c header.ProducerClaim
	if n == nil || c.Decode(req.Ext) != nil || c.Name == "" {
		return true
	}
	id := n.names[c.Name]
	if id == 0 {
		id = uint64(len(n.names) + 1)
		n.names[c.Name] = id
	}
	if c.Producer != 0 && (c.Producer != id || c.Epoch != n.epochs[id]) {
		resp.Code = wire.CodeProducerFenced
		return false
	}
	g := header.ProducerGrant{Producer: id, Epoch: n.epochs[id] + 1}
	for _, q := range c.Queues {
		s := n.queues[fakeNumbered{id, c.Epoch, q}]
		if s == nil {
			s = &header.ProducerStored{ProducerQueue: q}
		}
		g.Stored = append(g.Stored, *s)
	}
	n.epochs[id]++
	g.Encode(&resp.Ext)
	return true
}

// admit says whether a frame is not to be stored, because it was, or because it
// is out of turn.
func (n *fakeNumbers) admit(req, resp *wire.Command, h *header.SendMessage, count int, offset int64) (at int64, done bool) {
	var num header.Numbers
	if n == nil || num.Decode(req.Ext) != nil || num.Producer == 0 {
		return 0, false
	}
	if num.Epoch != n.epochs[num.Producer] {
		resp.Code = wire.CodeProducerFenced
		if num.Epoch > n.epochs[num.Producer] {
			resp.Code = wire.CodeProducerUnknown
		}
		return 0, true
	}
	q := header.ProducerQueue{Topic: h.Topic, Queue: h.QueueID}
	s := n.queues[fakeNumbered{num.Producer, num.Epoch, q}]
	if s == nil {
		s = &header.ProducerStored{ProducerQueue: q}
		n.queues[fakeNumbered{num.Producer, num.Epoch, q}] = s
	}
	for _, f := range s.Frames {
		if f.First == num.First && int(f.Count) == count {
			n.repeat++
			return f.Offset, true
		}
	}
	if num.First != s.Next {
		n.gaps++
		resp.Code = wire.CodeSequenceGap
		(header.SendNumbersAnswer{Next: header.Some(s.Next)}).Encode(&resp.Ext)
		return 0, true
	}
	s.Next += uint64(count)
	s.Frames = append(s.Frames, header.StoredFrame{First: num.First, Count: uint32(count), Offset: offset})
	return 0, false
}
