// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"

	"github.com/orderlymq/orderly/internal/route"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// checkLane compares the queue of each keyed message for an ordered topic with
// the one that the topic's lane function names. A message elsewhere is counted
// and, if the topic says so, refused. What a user's own selector placed is not
// compared. If the send is refused it answers and reports false.
func (b *Broker) checkLane(r request, topic *meta.Topic, h *header.SendMessage, s *sending) bool {
	if !topic.Ordered() {
		return true
	}
	var lane header.Lane
	if !r.decode(&lane) {
		return false
	}
	if lane.Selector {
		return true
	}
	where := placement(topic)
	for i := range s.Append.Msgs {
		key := s.Append.Msgs[i].OrderingKey()
		if key == "" {
			if h.QueueID < 0 || !lane.Lane.Set {
				b.stats.keyless.Add(1)
			}
			continue
		}
		want, err := where.Queue(key)
		if err != nil || want == s.queue {
			continue
		}
		b.stats.misplaced.Add(1)
		if topic.Check == meta.CheckRefuse {
			r.failSend(wire.InvalidParameter, fmt.Sprintf(
				"ordering key %.64q belongs to queue %d of topic %s by its lane function %s, not to queue %d: producers must share the topic's lane function",
				key, want, topic.Name, topic.LaneFunc, s.queue))
			return false
		}
		b.reportMisplaced(topic, s, key, want)
	}
	return true
}

func (b *Broker) reportMisplaced(topic *meta.Topic, s *sending, key string, want int32) {
	if b.misplaced.due(b) {
		b.log.Warn("keyed messages are sent to other queues than the topic's lane function names: their order is not kept across producers",
			"topic", topic.Name, "function", topic.LaneFunc.String(), "key", key, "queue", s.queue, "lane's queue", want,
			"peer", s.c.peer.String(), "so far", b.stats.misplaced.Load())
	}
}

// placement is where a topic's keys go.
func placement(t *meta.Topic) route.Placement {
	p := route.Placement{Function: route.Function(t.LaneFunc.String()), Queues: t.WriteQueues}
	if t.Lanes != nil {
		p.Map = route.LaneMap{Epoch: int64(t.Lanes.Epoch), Queue: t.Lanes.Queue}
	}
	return p
}

// reportUnlocked notes that a member of a group reads an ordered topic without
// holding its queue: it consumes concurrently, and nothing keeps the order of
// what it handles. Readers that are no members, such as tools, may.
func (b *Broker) reportUnlocked(p *pulling) {
	p.group.mu.Lock()
	link, member := p.group.members.links[p.c.id]
	clustering := p.group.members.model != broadcasting
	p.group.mu.Unlock()
	if !member || !clustering {
		return
	}
	b.stats.unlocked.Add(1)
	if b.unlocked.due(b) {
		b.log.Warn("a member reads an ordered topic without a queue lock: it consumes concurrently, order is not kept; let the whole group consume orderly",
			"group", p.group.name, "topic", p.topic.Name, "client", link.client, "peer", p.c.peer.String())
	}
}
