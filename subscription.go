// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"fmt"

	"github.com/orderlymq/orderly/internal/msg"
)

// subscription is a topic that a member reads, and what it wants of it.
type subscription struct {
	topic string
	expr  string
	tags  msg.TagFilter
}

func newSubscription(topic string, filter Filter) (subscription, error) {
	tags, err := msg.ParseTags(filter.expr)
	if err != nil {
		return subscription{}, fmt.Errorf("%w consumer configuration: Filter: %w", ErrInvalid, err)
	}
	s := subscription{topic: topic, expr: filter.expr, tags: tags}
	if tags.All() {
		s.expr = msg.AllTags
	}
	return s, nil
}

// subscriptions are the topics that the member reads, the retry topic apart.
func (m *member) subscriptions() []subscription {
	if subs := m.subs.Load(); subs != nil {
		return *subs
	}
	return nil
}

// subscribe adds s, or replaces what the member wanted of its topic.
func (m *member) subscribe(s subscription) {
	subs := []subscription{}
	for _, old := range m.subscriptions() {
		if old.topic != s.topic {
			subs = append(subs, old)
		}
	}
	subs = append(subs, s)
	m.subs.Store(&subs)
}

// wants is what the member wants of a topic: all of it, unless it said
// otherwise.
func (m *member) wants(topic string) subscription {
	for _, s := range m.subscriptions() {
		if s.topic == topic {
			return s
		}
	}
	return subscription{topic: topic, expr: msg.AllTags}
}

// topics are what the member shares in. A consumer without order gets its
// failed messages again through the group's retry topic.
func (m *member) topics() []string {
	var topics []string
	for _, s := range m.subscriptions() {
		topics = append(topics, s.topic)
	}
	if m.cfg.Order == Unordered && !m.cfg.Broadcast {
		topics = append(topics, msg.RetryTopic(m.cfg.Group))
	}
	return topics
}
