// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// deleteGroup handles DELETE_SUBSCRIPTIONGROUP 207. An unknown group is
// answered 0. Positions stay unless they are to go too.
func (b *Broker) deleteGroup(r request) {
	var h header.DeleteSubscriptionGroup
	if !r.decode(&h) {
		return
	}
	if msg.IsSystemGroup(h.GroupName) {
		r.fail(wire.InvalidParameter, "the group "+h.GroupName+" belongs to the system")
		return
	}
	if err := b.meta.ApplySync(b.ctx, meta.DeleteGroup{Name: h.GroupName, KeepOffsets: !h.CleanOffset, At: b.clock.at()}); err != nil {
		r.failed(err)
		return
	}
	b.groups.mu.Lock()
	g := b.groups.byName[h.GroupName]
	delete(b.groups.byName, h.GroupName)
	b.groups.mu.Unlock()
	if g != nil {
		b.alarms.stop(g.bell)
		g.end()
	}
	b.log.Info("consumer group deleted", "group", h.GroupName, "positions too", h.CleanOffset)
	r.ok(nil)
}

// end makes a deleted group's table forget its leases; who is connected finds
// out with its next request.
func (g *group) end() {
	g.announce()
	g.mu.Lock()
	g.leases = order.NewLeases(order.LeaseConfig{Start: g.b.served})
	g.resets = map[order.Queue]bool{}
	g.deliveries = map[order.Queue]delivery{}
	g.mu.Unlock()
}
