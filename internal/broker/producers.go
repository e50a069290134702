// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"cmp"
	"slices"
	"sync"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
)

// producers is which connections produce for which group, as told by
// heartbeats.
type producers struct {
	mu      sync.Mutex
	byGroup map[string]map[order.LinkID]memberLink
}

// update takes in the producer groups of a heartbeat.
func (p *producers) update(c *conn, data *body.HeartbeatData, cmd *wire.Command, at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range data.Producers {
		if msg.CheckGroup(name) != nil {
			continue
		}
		if p.byGroup == nil {
			p.byGroup = map[string]map[order.LinkID]memberLink{}
		}
		if p.byGroup[name] == nil {
			p.byGroup[name] = map[order.LinkID]memberLink{}
		}
		p.byGroup[name][c.id] = memberLink{conn: c, client: data.ClientID, language: cmd.Language, version: cmd.Version, updated: at}
	}
}

// remove takes a connection out of one group, or of all if group is "".
func (p *producers) remove(c *conn, group string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, links := range p.byGroup {
		if group != "" && name != group {
			continue
		}
		delete(links, c.id)
		if len(links) == 0 {
			delete(p.byGroup, name)
		}
	}
}

// of lists the connections of a group by client id; nil if there is none.
func (p *producers) of(group string) []memberLink {
	p.mu.Lock()
	defer p.mu.Unlock()
	return sortedLinks(p.byGroup[group])
}

// all lists the connections of all groups.
func (p *producers) all() map[string][]memberLink {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string][]memberLink, len(p.byGroup))
	for name, links := range p.byGroup {
		out[name] = sortedLinks(links)
	}
	return out
}

func sortedLinks(links map[order.LinkID]memberLink) []memberLink {
	var out []memberLink
	for _, l := range links {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b memberLink) int {
		return cmp.Or(cmp.Compare(a.client, b.client), cmp.Compare(a.conn.id, b.conn.id))
	})
	return out
}
