// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"slices"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// relayVerb passes an operator's word on to the member that has the queue: the
// one that the request names, else the holder of its lease.
func (b *Broker) relayVerb(r request, h *header.ConsumeMessageDirectly, v *header.Verb) {
	q := order.Queue{Topic: v.Topic, ID: v.Queue}
	if v.Verb == header.VerbRelease {
		r.fail(wire.InvalidParameter, "release is a request to the broker itself: send it with UNLOCK_BATCH_MQ")
		return
	}
	client := h.ClientID
	if client == "" {
		holder, ok := b.holderOf(h.ConsumerGroup, q)
		switch {
		case !ok || holder.Client == "":
			r.fail(wire.SystemError, fmt.Sprintf("nobody of group %s holds queue %d of topic %s: name the member, or wait for one to take it", h.ConsumerGroup, q.ID, q.Topic))
			return
		case holder.Session == 0:
			r.fail(wire.SystemError, fmt.Sprintf("queue %d of topic %s is held by %s, a client of RocketMQ, which takes no such orders: reset the position, or release the queue", q.ID, q.Topic, holder.Client))
			return
		}
		client = holder.Client
	}
	r.cmd.Ext.Set("brokerName", b.cfg.Name)
	b.relay(r, h.ConsumerGroup, client, nil)
}

// holderOf is the state of one queue of a group.
func (b *Broker) holderOf(group string, q order.Queue) (order.Holder, bool) {
	all := b.Holders(group)
	i := slices.IndexFunc(all, func(h order.Holder) bool { return h.Queue == q })
	if i < 0 {
		return order.Holder{}, false
	}
	return all[i], true
}

// releaseQueue handles UNLOCK_BATCH_MQ 42 with the verb release: an operator
// takes a queue from its holder, which is fenced at once. Whoever the queue is
// meant for may lock it after the grace.
func (b *Broker) releaseQueue(r request, v *header.Verb) {
	var req body.LockBatch
	if err := req.Decode(r.cmd.Body); err != nil {
		r.fail(wire.SystemError, fmt.Sprintf("release: %v", err))
		return
	}
	g := b.group(req.ConsumerGroup)
	if g == nil {
		r.fail(wire.SubscriptionGroupNotExist, fmt.Sprintf("Group %s not exist!", req.ConsumerGroup))
		return
	}
	q := order.Queue{Topic: v.Topic, ID: v.Queue}
	holder, _ := b.holderOf(g.name, q)
	if holder.Client == "" {
		r.fail(wire.SystemError, fmt.Sprintf("nobody of group %s holds queue %d of topic %s", g.name, q.ID, q.Topic))
		return
	}
	b.log.Warn("an operator takes a queue from its holder", "group", g.name, "topic", q.Topic, "queue", q.ID,
		"holder", holder.Client, "epoch", holder.Epoch, "operator", r.c.peer.String())
	g.feed(&order.LeaseEvent{Kind: order.LeaseRelease, Queue: q}, &ask{done: func(_ []order.LeaseAction, err error) {
		if err != nil {
			r.failed(err)
			return
		}
		b.wake(b.holds.ofQueue(g.name, q)) // the holder's pull is asked about anew, and fenced
		resp := wire.NewResponse(r.cmd, wire.Success, "taken from "+holder.Client)
		r.reply(resp)
	}})
}
