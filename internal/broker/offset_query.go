// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"strconv"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// queryOffset handles QUERY_CONSUMER_OFFSET 14. It sees every commit that the
// group's table has decided on before, so a client reads its own.
func (b *Broker) queryOffset(r request) {
	var h header.QueryConsumerOffset
	if !r.decode(&h) {
		return
	}
	g := b.group(h.ConsumerGroup)
	if g == nil {
		b.tellOffset(r, &h)
		return
	}
	g.settled(func(err error) {
		if err != nil {
			r.failed(err)
			return
		}
		b.tellOffset(r, &h)
	})
}

func (b *Broker) tellOffset(r request, h *header.QueryConsumerOffset) {
	q, _ := b.meta.View().Queue(metaKey(h.ConsumerGroup, h.Topic, h.QueueID))
	switch {
	case q.Committed >= 0:
		b.tellPosition(r, q.Committed, q)
	case h.SetZeroIfNotFound.Set && !h.SetZeroIfNotFound.Value:
		r.fail(wire.QueryNotFound, "Not found, do not set to zero, maybe this group boot first")
	case r.cmd.Ext.Has(header.ExtSession):
		r.fail(wire.QueryNotFound, "Not found, the group has no position in the queue")
	default:
		b.read(r, func() {
			if b.young(h.Topic, h.QueueID) {
				b.tellPosition(r, 0, q)
				return
			}
			r.fail(wire.QueryNotFound, "Not found, maybe this group consumer boot first")
		})
	}
}

// tellPosition answers with an offset; our client also learns what is settled
// above it.
func (b *Broker) tellPosition(r request, offset int64, q *meta.Queue) {
	resp := wire.NewResponse(r.cmd, wire.Success, "")
	(&header.OffsetResponse{Offset: offset}).Encode(&resp.Ext)
	if r.cmd.Ext.Has(header.ExtSession) {
		progressOf(q).Encode(&resp.Ext)
		if q.Epoch != 0 {
			resp.Ext.Add(header.ExtEpoch, strconv.FormatUint(q.Epoch, 10))
		}
	}
	r.reply(resp)
}

// youngLog is how far a queue's first message may lie behind the log's end for
// the queue to count as young.
const youngLog = 1 << 30

// young says whether a group that is new to the queue starts at 0 whatever it
// asked for: nothing has expired, and the first message is so recent that a
// RocketMQ broker would still have it in memory. That keeps the first messages
// of a new topic from being missed.
func (b *Broker) young(topic string, queue int32) bool {
	low, high := b.store.Bounds(topic, queue)
	if low > 0 || high == 0 {
		return false
	}
	first, err := b.place(topic, queue, 0)
	return err == nil && b.store.Positions().Committed-first < youngLog
}

// place is where a message stands in the log.
func (b *Broker) place(topic string, queue int32, offset int64) (int64, error) {
	res, err := b.store.Read(topic, queue, offset, store.ReadLimit{MaxMsgs: 1, MaxBytes: 1}, nil)
	if err != nil {
		return 0, err
	}
	v, _, err := msg.ParseView(res.Records)
	if err != nil {
		return 0, fmt.Errorf("no message at offset %d of queue %d of %s", offset, queue, topic)
	}
	return v.PhysicalOffset(), nil
}
