// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// unlockBatch handles UNLOCK_BATCH_MQ 42.
func (b *Broker) unlockBatch(r request) {
	req, session, g, ok := b.lockRequest(r)
	if !ok {
		return
	}
	ev := &order.LeaseEvent{
		Kind: order.LeaseUnlock, Link: r.c.id, Client: req.ClientID, Session: order.Token(session.Token),
		Queues: b.queuesHere(req.Queues), Overrun: r.cmd.Ext.Has(header.ExtOverrun),
	}
	if r.cmd.Ext.Has(header.ExtClosing) {
		g.mu.Lock()
		g.members.closing(r.c.id)
		g.mu.Unlock()
	}
	g.feed(ev, &ask{done: func(_ []order.LeaseAction, err error) {
		if err != nil {
			r.failed(err)
			return
		}
		r.ok(nil)
		b.syncSoon()
	}})
}
