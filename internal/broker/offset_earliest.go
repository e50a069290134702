// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/wire/header"
)

// getEarliestStoreTime answers GET_EARLIEST_MSG_STORETIME 32; -1 without a
// message.
func (b *Broker) getEarliestStoreTime(r request) {
	var h header.GetEarliestMsgStoreTime
	if !r.decode(&h) {
		return
	}
	b.read(r, func() {
		r.ok(&header.GetEarliestMsgStoreTimeResponse{Timestamp: b.earliest(h.Topic, h.QueueID)})
	})
}

// earliest is the store time of a queue's first message, -1 without one.
func (b *Broker) earliest(topic string, queue int32) int64 {
	min, max := b.store.Bounds(topic, queue)
	if min >= max {
		return -1
	}
	ms, err := b.store.StoreTime(topic, queue, min)
	if err != nil {
		return -1
	}
	return ms
}
