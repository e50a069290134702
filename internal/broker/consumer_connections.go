// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// getConsumerConnections handles GET_CONSUMER_CONNECTION_LIST 203.
func (b *Broker) getConsumerConnections(r request) {
	var h header.GetConsumerConnectionList
	if !r.decode(&h) {
		return
	}
	links, m := b.membersOf(h.ConsumerGroup)
	if len(links) == 0 {
		r.fail(wire.ConsumerNotOnline, fmt.Sprintf("the consumer group[%s] not online", h.ConsumerGroup))
		return
	}
	out := body.ConsumerConnection{
		ConsumeType: m.consumeType, MessageModel: m.model, ConsumeFromWhere: m.from,
		SubscriptionTable: map[string]body.SubscriptionData{}, Connections: connections(links),
	}
	for topic, s := range m.subs {
		out.SubscriptionTable[topic] = subscriptionBody(&s.Subscription)
	}
	r.okBody(out.Encode())
}

// membersOf returns a group's connections and a copy of what it does.
func (b *Broker) membersOf(name string) ([]memberLink, members) {
	g := b.group(name)
	if g == nil {
		return nil, members{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	m := members{consumeType: g.members.consumeType, model: g.members.model, from: g.members.from, subs: map[string]*subscription{}}
	for topic, s := range g.members.subs {
		m.subs[topic] = s
	}
	return sortedLinks(g.members.links), m
}

func connections(links []memberLink) []body.Connection {
	out := make([]body.Connection, len(links))
	for i, l := range links {
		out[i] = body.Connection{ClientID: l.client, ClientAddr: l.conn.peer.String(), Language: l.language, Version: l.version}
	}
	return out
}

func subscriptionBody(s *msg.Subscription) body.SubscriptionData {
	return body.SubscriptionData{
		Topic: s.Topic, SubString: s.Expr, TagsSet: s.Tags, CodeSet: s.Codes, SubVersion: s.Version,
		ExpressionType: s.Type, ClassFilterMode: s.ClassFilter,
	}
}
