// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire"
)

// members is who is connected to a group and what it subscribes to, as told by
// heartbeats. It belongs to a group, whose mu guards it.
type members struct {
	consumeType, model, from string // of the last heartbeat
	subs                     map[string]*subscription
	links                    map[order.LinkID]memberLink
	fingerprint              int32 // of the last heartbeat v2
}

// subscription is what a group reads of one topic. It is replaced, never
// changed.
type subscription struct {
	msg.Subscription
	filter msg.TagFilter
}

// memberLink is one connection of a member.
type memberLink struct {
	conn     *conn
	client   string
	language wire.Language
	version  int32
	updated  int64 // wall clock of the last heartbeat, ms
	ours     bool
	told     order.Time // until then it is busy with a reset that it was told of; 0: never
	closing  bool       // ours: wants no queue any more
}

const broadcasting = "BROADCASTING"

// joining is what one heartbeat says of one group.
type joining struct {
	consumeType, model, from string
	subs                     []msg.Subscription
	keepSubs                 bool // the heartbeat leaves subscriptions out
}

// update takes over what a heartbeat says. It reports whether members that
// were there before ought to know of another subscription; the lease table
// tells of new members by itself.
func (m *members) update(link memberLink, j *joining) (changed bool) {
	m.consumeType, m.model, m.from = j.consumeType, j.model, j.from
	if m.links == nil {
		m.links = map[order.LinkID]memberLink{}
	}
	before, known := m.links[link.conn.id]
	link.told = before.told
	link.closing = before.closing
	m.links[link.conn.id] = link
	if j.keepSubs {
		return false
	}
	return m.subscribe(j.subs) && known
}

// subscribe takes over subscriptions: of each topic the newest version counts,
// topics that are not named any more are dropped.
func (m *members) subscribe(subs []msg.Subscription) (changed bool) {
	named := make(map[string]bool, len(subs))
	for _, s := range subs {
		named[s.Topic] = true
		have := m.subs[s.Topic]
		if have != nil && s.Version <= have.Version {
			continue
		}
		if m.subs == nil {
			m.subs = map[string]*subscription{}
		}
		m.subs[s.Topic] = &subscription{Subscription: s, filter: s.Filter()}
		changed = changed || have == nil || have.Expr != s.Expr || have.Type != s.Type
	}
	for topic := range m.subs {
		if !named[topic] {
			delete(m.subs, topic)
			changed = true
		}
	}
	return changed
}

// closing notes that the member on a connection is closing. It is forgotten
// with the connection, or when the member leaves.
func (m *members) closing(id order.LinkID) {
	if l, ok := m.links[id]; ok {
		l.closing = true
		m.links[id] = l
	}
}

// remove takes a connection out and reports whether it was in.
func (m *members) remove(id order.LinkID) bool {
	_, ok := m.links[id]
	delete(m.links, id)
	return ok
}

// announce tells all members that they should look again at who is there and
// which queues are free.
func (g *group) announce() {
	if cfg, ok := g.b.meta.View().Group(g.name); ok && !cfg.NotifyConsumerIDsChangedEnable {
		return
	}
	g.mu.Lock()
	var conns []*conn
	if g.members.model != broadcasting {
		for _, l := range g.members.links {
			conns = append(conns, l.conn)
		}
	}
	g.mu.Unlock()
	for _, c := range conns {
		c.notifyChanged(g.name)
	}
}
