// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// retryRule decides what becomes of a send to a group's retry topic: a message
// that was tried too often becomes a dead letter. It does so at once while the
// group holds a queue lock, because an orderly consumer sends there only to
// give up.
func (b *Broker) retryRule(s *sending, h *header.SendMessage, m *msg.Message) error {
	name, ok := msg.RetryGroup(m.Topic)
	if !ok {
		return nil
	}
	g, err := b.ensureGroup(b.ctx, name)
	if err != nil {
		return &sendError{wire.SubscriptionGroupNotExist, fmt.Sprintf("subscription group not exist, %s: %v", name, err)}
	}
	limit := b.retryLimit(name, s.cmd.Version, h.MaxReconsumeTimes)
	if h.ReconsumeTimes <= limit && !g.leased() {
		return nil
	}
	if _, err := b.ensureOwned(b.ctx, msg.DLQTopic(name), 1); err != nil {
		return err
	}
	deadLetter(m, name)
	s.queue = m.QueueID
	return nil
}

// retryLimit is how often a message of the group is retried: what the request
// says wins, if its version is one that says it.
func (b *Broker) retryLimit(group string, version int32, asked header.Opt[int32]) int32 {
	if asked.Set && version >= wire.VersionMaxReconsume {
		return asked.Value
	}
	if cfg, ok := b.meta.View().Group(group); ok {
		return cfg.RetryMaxTimes
	}
	return 16
}

// deadLetter sends m to the group's dead-letter topic, without a delay.
func deadLetter(m *msg.Message, group string) {
	m.Topic, m.QueueID = msg.DLQTopic(group), 0
	if _, ok := m.Property(msg.PropDelay); ok {
		m.SetProperty(msg.PropDelay, "0")
	}
}

// leased reports whether any queue of the group is leased.
func (g *group) leased() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leases.Leased()
}
