// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"errors"

	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// searchOffset answers SEARCH_OFFSET_BY_TIMESTAMP 29. It reads the index, so
// it runs beside the connection's other requests.
func (b *Broker) searchOffset(r request) {
	var h header.SearchOffset
	if !r.decode(&h) {
		return
	}
	b.read(r, func() {
		off, err := b.store.OffsetAtTime(h.Topic, h.QueueID, h.Timestamp, h.Upper())
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			r.failed(err)
			return
		}
		r.ok(&header.OffsetResponse{Offset: off})
	})
}
