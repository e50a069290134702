// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

const (
	// noticeDelay lets resets that belong together travel in one notice: a
	// client stands still for 10 s for each one that it gets.
	noticeDelay = 50 * time.Millisecond
	// noticeTime is how long a client that was told of a reset may take to drop
	// what it has, wait its 10 s and commit the new position.
	noticeTime = 15 * time.Second
)

// notices are the resets that stock members are still to be told, by
// connection. It belongs to a group, whose mu guards it.
type notices struct {
	byLink map[order.LinkID]*notice
	bell   *alarm
}

type notice struct {
	link   memberLink
	queues map[order.Queue]int64
}

// takesNotice reports whether the client acts on RESET_CONSUMER_CLIENT_OFFSET:
// push consumers do. Others learn of a reset by the answer to their next pull.
func (m *members) takesNotice(l memberLink) bool {
	switch l.language {
	case wire.LanguageJava, wire.LanguageGo, wire.LanguageCPP:
		return !l.ours && l.version >= wire.VersionConsumerStatus && m.consumeType == body.ConsumePassively && m.model != broadcasting
	default:
		return false
	}
}

// moved makes a reset known: to stock members that it concerns by a notice, to
// all others by the answer to the pull that waits. Both ways at once would be
// one too many: a client takes its queue up again after the first one, and the
// second one would drop what is at work then.
func (g *group) moved(act order.LeaseAction) {
	now := g.b.clock.now()
	g.mu.Lock()
	for id, l := range g.members.links {
		if act.Session != 0 || act.Client != "" && act.Client != l.client || !g.members.takesNotice(l) {
			continue
		}
		l.told = now.Add(noticeTime)
		g.members.links[id] = l
		n := g.notices.byLink[id]
		if n == nil {
			n = &notice{link: l, queues: map[order.Queue]int64{}}
			g.notices.byLink[id] = n
		}
		n.queues[act.Queue] = act.Offset
	}
	if len(g.notices.byLink) > 0 {
		g.b.alarms.set(g.notices.bell, now.Add(noticeDelay))
	}
	g.mu.Unlock()
	g.b.wake(g.b.holds.ofQueue(g.name, act.Queue))
}

// notify sends what is to be told.
func (g *group) notify() {
	g.mu.Lock()
	due := g.notices.byLink
	g.notices.byLink = map[order.LinkID]*notice{}
	g.mu.Unlock()
	for _, n := range due {
		byTopic := map[string]*body.ResetOffset{}
		for q, to := range n.queues {
			if byTopic[q.Topic] == nil {
				byTopic[q.Topic] = &body.ResetOffset{OffsetTable: map[body.MessageQueue]int64{}}
			}
			byTopic[q.Topic].OffsetTable[g.b.queueName(q.Topic, q.ID)] = to
		}
		for topic, table := range byTopic {
			n.link.conn.notifyReset(g.name, topic, table, n.link.language)
		}
	}
}

// notifyReset sends RESET_CONSUMER_CLIENT_OFFSET 220, one-way. The client drops
// the queues, waits 10 s, commits the offsets and takes the queues up again.
func (c *conn) notifyReset(group, topic string, table *body.ResetOffset, language wire.Language) {
	h := &header.ResetConsumerClientOffset{
		Topic: topic, Group: group, Timestamp: -1, IsForce: header.Some(false), QueueID: header.Some(int32(-1)),
	}
	data := table.Encode()
	if language == wire.LanguageCPP {
		data = table.EncodeList()
	}
	cmd := wire.NewRequest(wire.ReqResetConsumerClientOffset, h, data)
	cmd.Flag |= wire.FlagOneway
	_ = c.t.Send(cmd) // the end of the connection is noticed elsewhere
}

// awaitsReset reports whether a pull comes from a client that was told of a
// reset of the queue and has not taken it up: what it does with messages or
// offsets now is about the past. g.mu is held.
func (g *group) awaitsReset(ev *order.LeaseEvent) bool {
	return ev.Epoch == 0 && g.resets[ev.Queue] && g.members.links[ev.Link].told > g.b.clock.now()
}
