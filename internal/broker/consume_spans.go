// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"strings"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// queryTimeSpan handles QUERY_CONSUME_TIME_SPAN 303: the store times of each
// queue's first, last and last consumed message.
func (b *Broker) queryTimeSpan(r request) {
	var h header.QueryConsumeTimeSpan
	if !r.decode(&h) {
		return
	}
	t, ok := b.topic(h.Topic)
	if !ok {
		r.fail(wire.TopicNotExist, "topic["+h.Topic+"] not exist")
		return
	}
	b.read(r, func() {
		var out body.ConsumeTimeSpans
		for id := range t.ReadQueues {
			out.Spans = append(out.Spans, b.timeSpan(h.Group, h.Topic, id))
		}
		r.okBody(out.Encode())
	})
}

func (b *Broker) timeSpan(group, topic string, id int32) body.QueueTimeSpan {
	low, high := b.store.Bounds(topic, id)
	span := body.QueueTimeSpan{Queue: b.queueName(topic, id)}
	if high > low {
		span.MinTimestamp, _ = b.store.StoreTime(topic, id, low)
		span.MaxTimestamp, _ = b.store.StoreTime(topic, id, high-1)
	}
	committed := b.meta.View().Committed(metaKey(group, topic, id))
	if span.ConsumeTimestamp = span.MinTimestamp; committed > low {
		span.ConsumeTimestamp, _ = b.store.StoreTime(topic, id, committed-1)
	}
	if committed >= 0 && committed < high {
		if next, err := b.store.StoreTime(topic, id, max(committed, low)); err == nil {
			span.DelayTime = max(0, b.cfg.Clock().UnixMilli()-next)
		}
	}
	span.MinText, span.MaxText, span.ConsumeText = spanText(span.MinTimestamp), spanText(span.MaxTimestamp), spanText(span.ConsumeTimestamp)
	return span
}

// spanText writes a time as RocketMQ does: 2006-01-02#15:04:05:000.
func spanText(ms int64) string {
	return strings.Replace(time.UnixMilli(ms).Format("2006-01-02#15:04:05.000"), ".", ":", 1)
}
