// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/store/changelog"
)

// Health is what a health check wants to know of a broker.
type Health struct {
	Store    store.Health     // the messages
	State    changelog.Health // topics, groups, positions, leases
	Conns    int
	Holds    int             // pulls that wait for a message
	NameServ map[string]bool // by address: did the last registration work
}

// OK reports whether sends and commits are taken.
func (h *Health) OK() bool {
	return h.Store.State == store.StateOpen && h.State.State == changelog.Healthy
}

// Health describes the condition of a broker that has been started.
func (b *Broker) Health() Health {
	return Health{
		Store: b.store.Health(), State: b.meta.Health(), Conns: b.connCount(), Holds: b.holds.size(),
		NameServ: b.registrar.status(),
	}
}

// status tells which name servers know the broker.
func (r *registrar) status() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[string]bool, len(r.known))
	for addr, ok := range r.known {
		out[addr] = ok
	}
	return out
}

// Holders lists who holds each queue of a group and until when; nil for a group
// that is not at work.
func (b *Broker) Holders(group string) []order.Holder {
	g := b.group(group)
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leases.Holders(nil)
}
