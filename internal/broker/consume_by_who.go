// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"maps"
	"slices"

	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// queryConsumers handles QUERY_TOPIC_CONSUME_BY_WHO 300: the groups that
// subscribe to a topic or have a position in it.
func (b *Broker) queryConsumers(r request) {
	var h header.QueryTopicConsumeByWho
	if !r.decode(&h) {
		return
	}
	groups := map[string]bool{}
	for key := range b.meta.View().AllQueues() {
		if key.Topic == h.Topic {
			groups[key.Group] = true
		}
	}
	for _, g := range b.allGroups() {
		g.mu.Lock()
		_, reads := g.members.subs[h.Topic]
		reads = reads && len(g.members.links) > 0
		g.mu.Unlock()
		if reads {
			groups[g.name] = true
		}
	}
	r.okBody((&body.GroupList{Groups: slices.Sorted(maps.Keys(groups))}).Encode())
}

// queryTopicsOfGroup handles QUERY_TOPICS_BY_CONSUMER 343.
func (b *Broker) queryTopicsOfGroup(r request) {
	var h header.QueryTopicsByConsumer
	if !r.decode(&h) {
		return
	}
	r.okBody((&body.TopicList{Topics: b.topicsOfGroup(h.Group), BrokerAddr: b.addr}).Encode())
}

// querySubscription handles QUERY_SUBSCRIPTION_BY_CONSUMER 345.
func (b *Broker) querySubscription(r request) {
	var h header.QuerySubscriptionByConsumer
	if !r.decode(&h) {
		return
	}
	out := body.QuerySubscription{Group: h.Group, Topic: h.Topic}
	if _, m := b.membersOf(h.Group); m.subs[h.Topic] != nil {
		s := subscriptionBody(&m.subs[h.Topic].Subscription)
		out.Subscription = &s
	}
	r.okBody(out.Encode())
}

// getSystemTopics handles GET_SYSTEM_TOPIC_LIST_FROM_BROKER 305.
func (b *Broker) getSystemTopics(r request) {
	var names []string
	for t := range b.meta.View().Topics() {
		if b.isSystemTopic(t.Name) {
			names = append(names, t.Name)
		}
	}
	r.okBody((&body.TopicList{Topics: names}).Encode())
}
