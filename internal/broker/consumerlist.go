// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// getConsumerList handles GET_CONSUMER_LIST_BY_GROUP 38. A member of ours
// whose link broke stays listed while its grace runs, so that a short cut
// moves no queue.
func (b *Broker) getConsumerList(r request) {
	var h header.GetConsumerList
	if !r.decode(&h) {
		return
	}
	ids := b.consumers(h.ConsumerGroup)
	if len(ids) == 0 {
		r.fail(wire.SystemError, "no consumer for this group, "+h.ConsumerGroup)
		return
	}
	r.okBody((&body.ConsumerList{ClientIDs: ids}).Encode())
}

// consumers lists the client ids of a group's members, sorted.
func (b *Broker) consumers(name string) []string {
	g := b.group(name)
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var ids []string
	for _, m := range g.leases.Members(make([]order.Member, 0, 16)) {
		if len(ids) == 0 || ids[len(ids)-1] != m.Client {
			ids = append(ids, m.Client)
		}
	}
	return ids
}
