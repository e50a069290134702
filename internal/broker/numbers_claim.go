// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"strconv"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// maxProducerName bounds the bytes of a producer's name.
const maxProducerName = 255

// claiming is a claim of a producer on its way through the log.
type claiming struct {
	store.Append
	b    *Broker
	beat *beat
	made meta.Producer
}

// claimNumbers gives a producer its identity or its next epoch, if the
// heartbeat asks for one. The epoch is on disk first; then it goes through the
// log's writer: behind it no frame of an earlier epoch is stored, and what is
// stored of them is complete when the answer is made.
func (b *Broker) claimNumbers(beat *beat, client string) {
	if beat.claim.Name == "" {
		return
	}
	c := &claiming{b: b, beat: beat}
	beat.open.Add(1)
	if err := b.noteClaim(c, client); err != nil {
		beat.one(err)
		return
	}
	c.Turn, c.Done, c.Arg = claimTurn, claimDone, c
	if err := b.store.Append(b.ctx, &c.Append); err != nil {
		beat.one(err)
	}
}

// noteClaim decides about the claim and makes the outcome durable.
func (b *Broker) noteClaim(c *claiming, client string) error {
	claim := &c.beat.claim
	if len(claim.Name) > maxProducerName {
		return &sendError{wire.InvalidParameter, "a producer's name has at most 255 bytes"}
	}
	id, err := b.numbers.identity(claim, b.clock.now())
	if err != nil {
		return err
	}
	return b.meta.UpdateSync(b.ctx, func(v *meta.View) ([]meta.Change, error) {
		p, err := nextProducer(v, id, claim, client)
		if err != nil {
			return nil, err
		}
		b.numbers.mu.Lock()
		room := b.numbers.table.Advance(b.clock.now(), id, p.Epoch-1) // so that nobody takes it for forgotten
		b.numbers.mu.Unlock()
		if !room {
			return nil, errTooManyProducers
		}
		p.SeenAt = b.clock.at()
		c.made = p
		return []meta.Change{meta.PutProducer{Producer: p}}, nil
	})
}

var errTooManyProducers = &sendError{wire.CodeTooManyProducers, "no room for one more producer: raise the limit, or give producers names that stay"}

// nextProducer is the producer that a claim makes. A claim of the next epoch
// may come again, its answer having been lost: it gets the same one.
func nextProducer(v *meta.View, id uint64, claim *header.ProducerClaim, client string) (meta.Producer, error) {
	old, ok := v.Producer(id)
	next := meta.Producer{ID: id, Group: claim.Name, ClientID: client}
	if claim.Producer == 0 {
		next.Epoch = 1
		if ok {
			next.Epoch = old.Epoch + 1
		}
		return next, nil
	}
	next.Epoch = claim.Epoch + 1
	next.ClientID += "#" + strconv.FormatUint(uint64(claim.Epoch), 10)
	switch {
	case !ok || old.Group != claim.Name || claim.Epoch > old.Epoch:
		return next, &sendError{wire.CodeProducerUnknown, "the broker does not know this producer: claim a new identity"}
	case claim.Epoch == old.Epoch:
		return next, nil
	case next.Epoch == old.Epoch && next.ClientID == old.ClientID:
		return next, nil
	}
	return next, &sendError{wire.CodeProducerFenced, "a newer epoch of the producer is there: another process has its name"}
}

// identity finds or makes the id of the claim's producer.
func (n *numbers) identity(claim *header.ProducerClaim, now order.Time) (uint64, error) {
	if claim.Producer != 0 {
		return claim.Producer, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if id, ok := n.names[claim.Name]; ok {
		return id, nil
	}
	id := mintProducer()
	if !n.table.Advance(now, id, 0) {
		return 0, errTooManyProducers
	}
	n.names[claim.Name] = id
	return id, nil
}

func mintProducer() uint64 {
	for {
		var b [8]byte
		_, _ = rand.Read(b[:])
		if id := binary.BigEndian.Uint64(b[:]); id != 0 {
			return id
		}
	}
}

// claimTurn begins the epoch; the store's writer calls it.
func claimTurn(a *store.Append, _ int64) error {
	c := a.Arg.(*claiming)
	c.b.numbers.mu.Lock()
	defer c.b.numbers.mu.Unlock()
	if !c.b.numbers.table.Advance(c.b.clock.now(), c.made.ID, c.made.Epoch) {
		return errTooManyProducers
	}
	return nil
}

// claimDone tells what is stored of the epoch that has ended.
func claimDone(a *store.Append, err error) {
	c := a.Arg.(*claiming)
	if err == nil {
		c.beat.grant = c.b.numbers.granted(c)
	}
	c.beat.one(err)
}

func (n *numbers) granted(c *claiming) *header.ProducerGrant {
	g := &header.ProducerGrant{Producer: c.made.ID, Epoch: c.made.Epoch}
	var buf [order.KeptFrames]order.KeptFrame
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, q := range c.beat.claim.Queues {
		next, frames := n.table.Stored(c.made.ID, c.beat.claim.Epoch, order.Queue{Topic: q.Topic, ID: q.Queue}, buf[:0])
		s := header.ProducerStored{ProducerQueue: q, Next: next}
		for _, f := range frames {
			s.Frames = append(s.Frames, header.StoredFrame{First: f.First, Count: f.Count, Offset: f.Offset})
		}
		g.Stored = append(g.Stored, s)
	}
	return g
}

// forgetProducers drops producers that the table has forgotten.
func (b *Broker) forgetProducers(ctx context.Context, gone []uint64) error {
	return b.meta.Update(ctx, func(v *meta.View) ([]meta.Change, error) {
		b.numbers.mu.Lock()
		defer b.numbers.mu.Unlock()
		var changes []meta.Change
		for _, id := range gone {
			if _, back := b.numbers.table.Epoch(id); back {
				continue
			}
			if p, ok := v.Producer(id); ok {
				delete(b.numbers.names, p.Group)
				changes = append(changes, meta.DropProducer{ID: id})
			}
		}
		return changes, nil
	})
}
