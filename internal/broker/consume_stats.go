// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"slices"
	"strings"

	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// getConsumeStats handles GET_CONSUME_STATS 208: how far a group is in each
// queue of its topics, or of those that the request names.
func (b *Broker) getConsumeStats(r request) {
	var h header.GetConsumeStats
	if !r.decode(&h) {
		return
	}
	b.read(r, func() {
		topics := b.topicsOfGroup(h.ConsumerGroup)
		switch {
		case h.Topic != "":
			topics = []string{h.Topic}
		case h.TopicList != "":
			topics = strings.Split(h.TopicList, ";")
		}
		stats := body.ConsumeStats{OffsetTable: map[body.MessageQueue]body.OffsetWrapper{}}
		for _, topic := range topics {
			b.addConsumeStats(&stats, h.ConsumerGroup, topic)
		}
		if r.cmd.Ext.Has(header.ExtHolders) {
			stats.Holders = b.holders(h.ConsumerGroup, topics)
			stats.Refused = b.refusedCommits(h.ConsumerGroup, topics)
			var err error
			if stats.Lags, err = b.lags(h.ConsumerGroup, topics); err != nil {
				r.failed(err)
				return
			}
		}
		r.okBody(stats.Encode())
	})
}

// topicsOfGroup lists the topics on which a group has a position or that it
// subscribes to, sorted.
func (b *Broker) topicsOfGroup(name string) []string {
	topics := slices.Collect(b.meta.View().TopicsOf(name))
	_, m := b.membersOf(name)
	for topic := range m.subs {
		topics = append(topics, topic)
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// holders tells who holds a group's queues of the topics.
func (b *Broker) holders(group string, topics []string) []body.QueueHolder {
	var out []body.QueueHolder
	for _, h := range b.Holders(group) {
		if !slices.Contains(topics, h.Queue.Topic) {
			continue
		}
		q := body.QueueHolder{
			Topic: h.Queue.Topic, QueueID: h.Queue.ID, Position: h.Offset, Epoch: int64(h.Epoch), Holder: h.Client,
			Ours: h.Session != 0, Why: whyText(h.Why), Reset: h.Reset, Waiting: int32(h.Waiting), Waiters: h.Waiters,
		}
		if h.Client != "" {
			q.Since, q.Until = b.clock.stored(h.Since).Millis(), b.clock.stored(h.Until).Millis()
		}
		out = append(out, q)
	}
	return out
}

func (b *Broker) addConsumeStats(stats *body.ConsumeStats, group, topic string) {
	t, ok := b.topic(topic)
	if !ok {
		return
	}
	view := b.meta.View()
	for id := range t.ReadQueues {
		committed := view.Committed(metaKey(group, topic, id))
		if committed < 0 {
			committed = 0
		}
		_, high := b.store.Bounds(topic, id)
		o := body.OffsetWrapper{BrokerOffset: high, ConsumerOffset: committed, PullOffset: committed}
		if committed > 0 {
			o.LastTimestamp, _ = b.store.StoreTime(topic, id, committed-1)
		}
		stats.OffsetTable[b.queueName(topic, id)] = o
	}
}
