// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"fmt"
	"sync"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store/meta"
)

const (
	epochsReserved = 1 << 20 // at a time, with one sync
	epochsOfGroup  = 1 << 10 // what one lease table gets at a time
)

// epochs hands blocks of lease epochs to lease tables. An epoch is used only
// after its reservation is on disk, so none is ever given twice, whatever is
// lost in a power cut.
type epochs struct {
	state *meta.State

	mu        sync.Mutex
	next, end order.Epoch // reserved and not handed out: [next, end)
}

// take hands out a block without waiting, if one is reserved.
func (e *epochs) take() (first, end order.Epoch, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.end-e.next < epochsOfGroup {
		return 0, 0, false
	}
	first = e.next
	e.next += epochsOfGroup
	return first, e.next, true
}

// reserve hands out a block, reserving more if need be.
func (e *epochs) reserve(ctx context.Context) (first, end order.Epoch, err error) {
	for {
		if first, end, ok := e.take(); ok {
			return first, end, nil
		}
		from, err := e.state.ReserveEpochs(ctx, epochsReserved)
		if err != nil {
			return 0, 0, fmt.Errorf("reserve lease epochs: %w", err)
		}
		e.mu.Lock()
		if f := order.Epoch(from); f >= e.end { // of two at once the later one stays
			e.next, e.end = f, f+epochsReserved-1
		}
		e.mu.Unlock()
	}
}
