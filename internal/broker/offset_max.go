// SPDX-License-Identifier: Apache-2.0

package broker

import "github.com/orderlymq/orderly/internal/wire/header"

// getMaxOffset answers GET_MAX_OFFSET 30. An unknown queue has 0, as in
// RocketMQ.
func (b *Broker) getMaxOffset(r request) {
	var h header.GetMaxOffset
	if !r.decode(&h) {
		return
	}
	_, max := b.store.Bounds(h.Topic, h.QueueID)
	r.ok(&header.OffsetResponse{Offset: max})
}
