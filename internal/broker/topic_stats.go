// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// getTopicStats handles GET_TOPIC_STATS_INFO 202: the bounds of each queue.
func (b *Broker) getTopicStats(r request) {
	var h header.GetTopicStatsInfo
	if !r.decode(&h) {
		return
	}
	t, ok := b.topic(h.Topic)
	if !ok {
		r.fail(wire.TopicNotExist, "topic["+h.Topic+"] not exist")
		return
	}
	queues := max(t.ReadQueues, t.WriteQueues)
	b.read(r, func() {
		stats := body.TopicStatsTable{OffsetTable: map[body.MessageQueue]body.TopicOffset{}}
		for id := range queues {
			low, high := b.store.Bounds(h.Topic, id)
			o := body.TopicOffset{MinOffset: low, MaxOffset: high}
			if high > low {
				o.LastUpdateTimestamp, _ = b.store.StoreTime(h.Topic, id, high-1)
			}
			stats.OffsetTable[b.queueName(h.Topic, id)] = o
		}
		r.okBody(stats.Encode())
	})
}

func (b *Broker) queueName(topic string, id int32) body.MessageQueue {
	return body.MessageQueue{Topic: topic, BrokerName: b.cfg.Name, QueueID: id}
}
