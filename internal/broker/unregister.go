// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// unregister handles UNREGISTER_CLIENT 35: a client leaves a producer group, a
// consumer group, or both. Its queues pass on as after the loss of its link,
// what it has given back before at once.
func (b *Broker) unregister(r request) {
	var h header.UnregisterClient
	_ = h.Decode(r.cmd.Ext) // without a client id it is answered 0 all the same
	if h.ProducerGroup != "" {
		b.producers.remove(r.c, h.ProducerGroup)
	}
	g := r.c.touched[h.ConsumerGroup]
	if h.ConsumerGroup == "" || g == nil {
		r.ok(nil)
		return
	}
	g.linkGone(r.c.id, order.LeaseLeave, &ask{done: func(_ []order.LeaseAction, err error) {
		if err != nil {
			r.failed(err)
			return
		}
		r.ok(nil)
		b.syncSoon()
	}})
}

// syncSoon has the change log synced now and not within a second: what a client
// leaves behind when it goes in peace is not to be repeated after a power cut.
func (b *Broker) syncSoon() {
	if !b.syncing.CompareAndSwap(false, true) {
		return // the sync that is about to begin is as good
	}
	b.background(func(ctx context.Context) {
		b.syncing.Store(false)
		if err := b.meta.Sync(ctx); err != nil && ctx.Err() == nil {
			b.log.Error("the broker's state cannot be synced", "err", err)
		}
	})
}
