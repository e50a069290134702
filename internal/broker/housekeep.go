// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"sync"
	"time"
)

// housekeep does what is due every few seconds until ctx ends.
func (b *Broker) housekeep(ctx context.Context) {
	tick := time.NewTicker(samplePeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			b.stats.sample()
			b.expireClients()
		}
	}
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
