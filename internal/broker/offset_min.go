// SPDX-License-Identifier: Apache-2.0

package broker

import "github.com/orderlymq/orderly/internal/wire/header"

// getMinOffset answers GET_MIN_OFFSET 31.
func (b *Broker) getMinOffset(r request) {
	var h header.GetMinOffset
	if !r.decode(&h) {
		return
	}
	min, _ := b.store.Bounds(h.Topic, h.QueueID)
	r.ok(&header.OffsetResponse{Offset: min})
}
