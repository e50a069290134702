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
		b.misplaced.note(b, topic, s, key, want)
	}
	return true
}

// placement is where a topic's keys go.
func placement(t *meta.Topic) route.Placement {
	p := route.Placement{Function: route.Function(t.LaneFunc.String()), Queues: t.WriteQueues}
	if t.Lanes != nil {
		p.Map = route.LaneMap{Epoch: int64(t.Lanes.Epoch), Queue: t.Lanes.Queue}
	}
	return p
}
