// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// queryConsumeQueue handles QUERY_CONSUME_QUEUE 321: where the messages of a
// queue stand in the log.
func (b *Broker) queryConsumeQueue(r request) {
	var h header.QueryConsumeQueue
	if !r.decode(&h) {
		return
	}
	name := fmt.Sprintf("%d@%s", h.QueueID, h.Topic)
	low, high := b.store.Bounds(h.Topic, h.QueueID)
	if _, ok := b.topic(h.Topic); !ok {
		r.fail(wire.SystemError, name+" is not exist!")
		return
	}
	out := body.QueryConsumeQueue{MinQueueIndex: low, MaxQueueIndex: high}
	if h.ConsumerGroup != "" {
		if _, m := b.membersOf(h.ConsumerGroup); m.subs[h.Topic] != nil {
			s := subscriptionBody(&m.subs[h.Topic].Subscription)
			out.Subscription = &s
		} else {
			out.FilterData = fmt.Sprintf("%s@%s is not online!", h.ConsumerGroup, h.Topic)
		}
	}
	b.read(r, func() {
		res, err := b.store.Read(h.Topic, h.QueueID, h.Index, store.ReadLimit{MaxMsgs: clamp(int(h.Count), 1, 128)}, nil)
		if err != nil {
			r.failed(err)
			return
		}
		for v, err := range msg.Views(res.Records) {
			if err != nil {
				break
			}
			out.Queue = append(out.Queue, body.ConsumeQueueData{PhysicOffset: v.PhysicalOffset(), PhysicSize: int32(v.Size()), TagsCode: v.TagHash()})
		}
		resp := wire.NewResponse(r.cmd, wire.Success, "")
		if len(out.Queue) == 0 {
			resp.Remark = fmt.Sprintf("Index %d of %s is not exist!", h.Index, name)
		}
		resp.Body = out.Encode()
		r.reply(resp)
	})
}
