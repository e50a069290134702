// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// viewStats handles VIEW_BROKER_STATS_DATA 315. Counters by topic and group are
// not kept; tools show nothing where the answer says so.
func (b *Broker) viewStats(r request) {
	var h header.ViewBrokerStatsData
	if !r.decode(&h) {
		return
	}
	r.fail(wire.SystemError, fmt.Sprintf("The stats <%s> <%s> not exist", h.StatsName, h.StatsKey))
}

// getBrokerConsumeStats handles GET_BROKER_CONSUME_STATS 317: how far every
// group is in every queue; with isOrder only those of ordered topics.
func (b *Broker) getBrokerConsumeStats(r request) {
	var h header.GetBrokerConsumeStats
	if !r.decode(&h) {
		return
	}
	b.read(r, func() {
		out := body.ConsumeStatsList{BrokerAddr: b.addr}
		for g := range b.meta.View().Groups() {
			list := []body.ConsumeStats{}
			for _, topic := range b.topicsOfGroup(g.Name) {
				if t, ok := b.topic(topic); !ok || h.IsOrder && !t.Order {
					continue
				}
				stats := body.ConsumeStats{OffsetTable: map[body.MessageQueue]body.OffsetWrapper{}}
				b.addConsumeStats(&stats, g.Name, topic)
				for _, o := range stats.OffsetTable {
					out.TotalDiff += o.BrokerOffset - o.ConsumerOffset
				}
				list = append(list, stats)
			}
			out.ConsumeStatsList = append(out.ConsumeStatsList, map[string][]body.ConsumeStats{g.Name: list})
		}
		r.okBody(out.Encode())
	})
}

// getRequestModes handles GET_ALL_MESSAGE_REQUEST_MODE 402: every group pulls.
func (b *Broker) getRequestModes(r request) {
	r.okBody((&body.MessageRequestModes{}).Encode())
}
