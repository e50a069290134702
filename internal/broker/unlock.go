// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"slices"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// unlockBatch handles UNLOCK_BATCH_MQ 42, from a member or from an operator.
func (b *Broker) unlockBatch(r request) {
	var verb header.Verb
	if !r.decode(&verb) {
		return
	}
	if verb.Verb != "" {
		b.releaseQueue(r, &verb)
		return
	}
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
	g.feed(ev, &ask{done: func(acts []order.LeaseAction, err error) {
		switch {
		case err != nil:
			r.failed(err)
			return
		case refusedUnlock(acts):
			r.fail(wire.SystemBusy, "queue unlock: the session is not resumed on this connection yet: ask again")
			return
		}
		r.ok(nil)
		b.syncSoon()
	}})
}

// refusedUnlock reports whether an unlock was not done.
func refusedUnlock(acts []order.LeaseAction) bool {
	return slices.ContainsFunc(acts, func(a order.LeaseAction) bool { return a.Kind == order.LeaseRefused })
}
