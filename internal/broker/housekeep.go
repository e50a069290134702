// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store"
)

// housekeep does what is due every few seconds until ctx ends.
func (b *Broker) housekeep(ctx context.Context) {
	tick := time.NewTicker(samplePeriod)
	defer tick.Stop()
	keep := time.NewTicker(numbersPeriod)
	defer keep.Stop()
	rescue := time.NewTicker(rescuePeriod)
	defer rescue.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			b.stats.sample()
			b.expireClients()
			b.reopenStore(ctx)
		case <-keep.C:
			b.keepNumbers(ctx)
		case <-rescue.C:
			b.rescueHolds()
		}
	}
}

// reopenStore tries to lift the fence that a failed write or sync put on the
// message store. Until it is lifted, sends are refused and reads go on.
func (b *Broker) reopenStore(ctx context.Context) {
	health := b.store.Health()
	if health.State != store.StateFenced {
		return
	}
	b.log.Warn("the message log is fenced after a failed write: reading it back", "cause", health.Err)
	if err := b.store.Reopen(ctx); err != nil {
		if ctx.Err() == nil {
			b.log.Error("the message log stays fenced: check the disk; trying again", "err", err)
		}
		return
	}
	b.log.Info("the message log takes writes again")
	b.wake(b.holds.awake()) // what was read back may be what they wait for
}

// rescuePeriod is the time between two looks for forgotten pulls.
const rescuePeriod = 2 * time.Second

// rescueHolds wakes pulls that wait for a message that is there: a wake-up was
// lost. In a sound broker there are none. One that was overtaken by its message
// just now is not counted: only what two looks in a row find is.
func (b *Broker) rescueHolds() {
	ends := map[order.Queue]int64{}
	for _, q := range b.holds.waitedFor() {
		_, ends[q] = b.store.Bounds(q.Topic, q.ID)
	}
	found := b.holds.overdue(ends)
	if len(found) == 0 {
		return
	}
	b.stats.rescued.Add(int64(len(found)))
	b.log.Error("pulls waited for messages that are there, and are answered now: please report this", "pulls", len(found), "group", found[0].group, "topic", found[0].queue.Topic, "queue", found[0].queue.ID)
	b.wake(found)
}

// quietCodes keeps complaints about a request code to one line per code.
type quietCodes struct {
	mu   sync.Mutex
	seen map[int32]bool
}

// first reports whether the code is new. It forgets nothing and remembers a
// bounded number.
func (q *quietCodes) first(code int32) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.seen[code] || len(q.seen) >= 1000 {
		return false
	}
	if q.seen == nil {
		q.seen = map[int32]bool{}
	}
	q.seen[code] = true
	return true
}
