// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"strconv"
	"strings"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/store/changelog"
	"github.com/orderlymq/orderly/internal/wire/body"
)

// Health is what a health check wants to know of a broker.
type Health struct {
	Store    store.Health     // the messages
	State    changelog.Health // topics, groups, positions, leases
	Conns    int
	Holds    int             // pulls that wait for a message
	Rescued  int64           // pulls that waited for a message that was there; 0 in a sound broker
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
		Rescued:  b.stats.rescued.Load(),
		NameServ: b.registrar.status(),
	}
}

// healthInfo adds the condition of both logs to what tools are told.
func (b *Broker) healthInfo(t map[string]string, h *store.Health) {
	state, was := b.meta.Health(), b.meta.Recovery()
	t[body.InfoStoreState] = h.State.String()
	t[body.InfoStoreReads] = itoa(h.ReadErrors)
	t[body.InfoStoreRepaired] = strconv.Itoa(len(b.store.Repairs()))
	t[body.InfoStateState] = state.State.String()
	t[body.InfoStateRepaired] = strconv.Itoa(len(was.Damage))
	for key, err := range map[string]error{
		body.InfoStoreError: h.Err, body.InfoStoreIndex: h.IndexErr,
		body.InfoStateError: state.Err, body.InfoStateSnapshot: state.SnapshotErr,
	} {
		if err != nil {
			t[key] = err.Error()
		}
	}
	if len(was.Aside) > 0 {
		t[body.InfoStateAside] = strings.Join(was.Aside, " ")
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
