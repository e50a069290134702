// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"strings"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// deleteTopic handles DELETE_TOPIC_IN_BROKER 215: the topic, its messages and
// all positions in it. An unknown topic is answered 0.
func (b *Broker) deleteTopic(r request) {
	var h header.DeleteTopic
	_ = h.Decode(r.cmd.Ext)
	if strings.TrimSpace(h.Topic) == "" {
		r.fail(wire.InvalidParameter, "The specified topic is blank.")
		return
	}
	if b.isSystemTopic(h.Topic) {
		r.fail(wire.InvalidParameter, "The topic["+h.Topic+"] is conflict with system topic.")
		return
	}
	if _, ok := b.topic(h.Topic); !ok {
		r.ok(nil)
		return
	}
	if err := b.dropTopic(h.Topic); err != nil {
		r.failed(err)
		return
	}
	b.registrar.changed()
	r.ok(nil)
}

// dropTopic deletes a topic. The configuration goes first: from then on nothing
// new comes in.
func (b *Broker) dropTopic(name string) error {
	if err := b.meta.ApplySync(b.ctx, meta.DeleteTopic{Name: name, At: b.clock.at()}); err != nil {
		return err
	}
	for _, g := range b.allGroups() {
		g.forgetTopic(name)
	}
	if err := b.store.DropTopic(name); err != nil {
		return err
	}
	b.numbers.dropTopic(name)
	b.log.Info("topic deleted", "topic", name)
	return nil
}

// forgetTopic takes a deleted topic's queues out of the group's leases.
func (g *group) forgetTopic(name string) {
	g.mu.Lock()
	for _, h := range g.leases.Holders(nil) {
		if h.Queue.Topic == name {
			g.step(&order.LeaseEvent{Kind: order.LeaseForget, Queue: h.Queue}, nil)
			delete(g.resets, h.Queue)
		}
	}
	g.mu.Unlock()
	g.flush()
}
