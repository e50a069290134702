// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"slices"

	"github.com/orderlymq/orderly/internal/wire/body"
)

// getAllConsumerOffsets handles GET_ALL_CONSUMER_OFFSET 43.
func (b *Broker) getAllConsumerOffsets(r request) {
	v := b.meta.View()
	out := body.ConsumerOffsets{
		DataVersion: dataVersion(v.OffsetVersion()), OffsetTable: map[string]map[int32]int64{},
		GroupTopics: map[string][]string{}, TopicGroups: map[string][]string{},
	}
	for key, q := range v.AllQueues() {
		if q.Committed < 0 {
			continue
		}
		name := key.Topic + "@" + key.Group
		if out.OffsetTable[name] == nil {
			out.OffsetTable[name] = map[int32]int64{}
			out.GroupTopics[key.Group] = append(out.GroupTopics[key.Group], key.Topic)
			out.TopicGroups[key.Topic] = append(out.TopicGroups[key.Topic], key.Group)
		}
		out.OffsetTable[name][key.Queue] = q.Committed
	}
	for topic := range out.TopicGroups {
		slices.Sort(out.TopicGroups[topic])
	}
	r.okBody(out.Encode())
}

// getAllDelayOffsets handles GET_ALL_DELAY_OFFSET 45.
func (b *Broker) getAllDelayOffsets(r request) {
	out := body.DelayOffsets{DataVersion: dataVersion(b.meta.View().OffsetVersion()), OffsetTable: map[int32]int64{}}
	for level := 1; level <= len(b.delays); level++ {
		if delivered, stored := b.delayOffsets(level); stored > 0 {
			out.OffsetTable[int32(level)] = delivered
		}
	}
	r.okBody(out.Encode())
}
