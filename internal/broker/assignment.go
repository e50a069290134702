// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"slices"
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/rebalance"
	"github.com/orderlymq/orderly/internal/route"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// rejoinTime is how long the queues of a named member that is away go home when
// it comes back.
const rejoinTime = 60 * time.Second

// queryAssignment handles QUERY_ASSIGNMENT 400: the queues of a topic that one
// member of a group is to consume.
func (b *Broker) queryAssignment(r request) {
	var req body.QueryAssignment
	if err := req.Decode(r.cmd.Body); err != nil {
		r.fail(wire.SystemError, err.Error())
		return
	}
	t, ok := b.topic(req.Topic)
	g := b.group(req.ConsumerGroup)
	if !ok || g == nil {
		r.fail(wire.SystemError, fmt.Sprintf("topic %s or group %s does not exist", req.Topic, req.ConsumerGroup))
		return
	}
	queues := make([]route.MessageQueue, t.ReadQueues)
	for i := range queues {
		queues[i] = route.MessageQueue{Topic: req.Topic, Broker: b.cfg.Name, Queue: int32(i)}
	}
	mine, strategy := queues, ""
	if req.MessageModel != body.Broadcasting {
		var err error
		if mine, strategy, err = g.assign(req.ClientID, req.StrategyName, queues); err != nil {
			r.fail(wire.SystemError, err.Error())
			return
		}
	}
	out := body.QueryAssignmentResponse{Assignments: make([]body.QueueAssignment, len(mine))}
	for i, q := range mine {
		out.Assignments[i] = body.QueueAssignment{Queue: b.queueName(q.Topic, q.Queue), Mode: body.ModePull}
	}
	resp := wire.NewResponse(r.cmd, wire.Success, "")
	resp.Body = out.Encode()
	if strategy != "" {
		resp.Ext.Set(header.ExtStrategy, strategy)
	}
	r.reply(resp)
}

// assign returns the queues of one client, and by which strategy. The sticky one
// is used while every member is ours; a stock member works its share out by the
// classic one, so all must.
func (g *group) assign(client, strategy string, queues []route.MessageQueue) ([]route.MessageQueue, string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	members := g.leases.Members(nil)
	ids := make([]string, len(members))
	ours := true
	for i, m := range members {
		ids[i] = m.Client
		ours = ours && m.Session != 0
	}
	for _, h := range g.leases.Holders(nil) { // a stock one that is away may come back
		ours = ours && (h.Client == "" || h.Session != 0)
	}
	ids = slices.Compact(ids)
	if strategy == rebalance.NameSticky {
		switch {
		case !slices.Contains(ids, client):
			return nil, "", fmt.Errorf("client %s is no member of group %s", client, g.name)
		case ours && len(ids) == len(members) && len(queues) > 0:
			return g.sticky(members, queues)[client], strategy, nil
		}
		strategy = rebalance.NameAverage
	}
	s, err := rebalance.ByName(strategy)
	if err != nil {
		return nil, "", err
	}
	mine, err := s.Allocate(g.name, client, queues, ids)
	return mine, s.Name(), err
}

// stickyState is what the sticky strategy remembers of one topic: who was given
// each queue last, and to which named member it belongs.
type stickyState struct {
	given map[route.MessageQueue]string // client id
	home  map[route.MessageQueue]string // member name
	away  map[string]order.Time         // named members that are away, since when
	idle  map[string]order.Time         // client ids that did not lock what was theirs: they get nothing until then
}

// idleTime is how long a member that did not lock a free queue of its share
// within the grace gets no share.
const idleTime = 10 * time.Second

// sticky splits the queues so that as few as possible move; g.mu is held.
func (g *group) sticky(members []order.Member, queues []route.MessageQueue) map[string][]route.MessageQueue {
	topic := queues[0].Topic
	st := g.assigned[topic]
	if st == nil {
		st = g.newSticky(queues)
		if g.assigned == nil {
			g.assigned = map[string]*stickyState{}
		}
		g.assigned[topic] = st
	}
	var ids []string
	named := map[string]string{} // member name: client id
	for _, m := range g.wanting(members) {
		if g.b.clock.now() < st.idle[m.Client] {
			continue
		}
		delete(st.idle, m.Client)
		ids = append(ids, m.Client)
		if m.Name != "" {
			named[m.Name] = m.Client
		}
	}
	if len(ids) == 0 { // all are: better them than nobody
		for _, m := range members {
			ids = append(ids, m.Client)
		}
	}
	prev := st.previous(g.b.clock.now(), named)
	shares := rebalance.Sticky(queues, ids, prev)
	st.remember(members, shares)
	g.mean(members, shares)
	return shares
}

// wanting leaves out the members that are to get no queue: those that are
// closing, and those whose link is gone and whose successor of the same name is
// here already. g.mu is held.
func (g *group) wanting(members []order.Member) []order.Member {
	closing, here := map[string]bool{}, map[string]bool{}
	for _, l := range g.members.links {
		closing[l.client] = closing[l.client] || l.closing
	}
	for _, m := range members {
		if m.Name != "" && m.Links > 0 {
			here[m.Name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(members), func(m order.Member) bool {
		return closing[m.Client] || m.Links == 0 && here[m.Name]
	})
}

// mean tells the table whose the queues are; it says when one is not locked in
// time. g.mu is held.
func (g *group) mean(members []order.Member, shares map[string][]route.MessageQueue) {
	for _, m := range members {
		ev := order.LeaseEvent{Kind: order.LeaseAssign, Client: m.Client, Session: m.Session}
		for _, q := range shares[m.Client] {
			ev.Queues = append(ev.Queues, order.Queue{Topic: q.Topic, ID: q.Queue})
		}
		if len(ev.Queues) > 0 {
			g.step(&ev, nil)
		}
	}
}

// passed takes note of a member that did not lock a queue of its share, unless
// it has left or is leaving; g.mu is held.
func (g *group) passed(act order.LeaseAction) {
	here := slices.ContainsFunc(g.wanting(g.leases.Members(nil)), func(m order.Member) bool { return m.Session == act.Session })
	if st := g.assigned[act.Queue.Topic]; st != nil && here {
		st.idle[act.Client] = g.b.clock.now().Add(idleTime)
		g.b.log.Warn("a member did not lock a queue of its share within the grace; others get it",
			"group", g.name, "topic", act.Queue.Topic, "queue", act.Queue.ID, "client", act.Client)
	}
}

// newSticky begins with who holds the queues now.
func (g *group) newSticky(queues []route.MessageQueue) *stickyState {
	st := &stickyState{given: map[route.MessageQueue]string{}, home: map[route.MessageQueue]string{}, away: map[string]order.Time{}, idle: map[string]order.Time{}}
	for _, h := range g.leases.Holders(nil) {
		if h.Client != "" && h.Queue.Topic == queues[0].Topic {
			st.given[route.MessageQueue{Topic: h.Queue.Topic, Broker: g.b.cfg.Name, Queue: h.Queue.ID}] = h.Client
		}
	}
	return st
}

// previous is who had each queue, where a queue that was lent goes home if its
// member is back.
func (st *stickyState) previous(now order.Time, named map[string]string) map[route.MessageQueue]string {
	for q, name := range st.home {
		client, here := named[name]
		since, known := st.away[name]
		switch {
		case here:
			st.given[q] = client
		case !known:
			st.away[name] = now
		case now.Sub(since) > rejoinTime:
			delete(st.home, q)
		}
	}
	for name := range named {
		delete(st.away, name)
	}
	return st.given
}

// remember keeps what was given. A queue has its home with the named member
// that it was given to while no other home of it is kept.
func (st *stickyState) remember(members []order.Member, shares map[string][]route.MessageQueue) {
	names := map[string]string{}
	for _, m := range members {
		names[m.Client] = m.Name
	}
	clear(st.given)
	for client, share := range shares {
		for _, q := range share {
			st.given[q] = client
			home, lent := st.home[q]
			if _, away := st.away[home]; lent && away {
				continue
			}
			delete(st.home, q)
			if names[client] != "" {
				st.home[q] = names[client]
			}
		}
	}
}
