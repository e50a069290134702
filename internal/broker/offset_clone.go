// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// cloneOffsets handles CLONE_GROUP_OFFSET 314: one group takes over the
// positions of another in a topic, or in all of its topics.
func (b *Broker) cloneOffsets(r request) {
	var h header.CloneGroupOffset
	if !r.decode(&h) {
		return
	}
	topics := []string{h.Topic}
	if h.Topic == "" {
		topics = b.topicsOfGroup(h.SrcGroup)
	}
	var targets []target
	for _, topic := range topics {
		for key, q := range b.meta.View().Queues(h.SrcGroup, topic) {
			if q.Committed >= 0 {
				targets = append(targets, target{orderQueue(key), q.Committed})
			}
		}
	}
	if len(targets) == 0 {
		r.ok(nil)
		return
	}
	g, err := b.ensureGroup(b.ctx, h.DestGroup)
	if err != nil {
		r.fail(errorCodeOr(err, wire.SubscriptionGroupNotExist), err.Error())
		return
	}
	b.reset(r, g, targets)
}
