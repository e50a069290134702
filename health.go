// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"sync"
	"time"
)

// health remembers which brokers answered slowly or not at all, so that
// messages that may go anywhere avoid them for a while. Messages with an
// ordering key or a selector are never moved by it.
type health struct {
	mu    sync.Mutex
	until map[string]time.Time // broker name -> avoided until
}

func newHealth() *health { return &health{until: map[string]time.Time{}} }

// penalties are RocketMQ's: an answer that took at least took keeps the broker
// out of the way for avoid.
var penalties = [...]struct{ took, avoid time.Duration }{
	{15 * time.Second, 30 * time.Second},
	{5 * time.Second, 10 * time.Second},
	{3 * time.Second, 6 * time.Second},
	{1800 * time.Millisecond, 5 * time.Second},
	{550 * time.Millisecond, 2 * time.Second},
}

// isolation is how long a broker that failed is avoided.
const isolation = 10 * time.Second

func (h *health) answered(broker string, took time.Duration) {
	for _, p := range penalties {
		if took >= p.took {
			h.avoid(broker, p.avoid)
			return
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.until, broker)
}

func (h *health) failed(broker string) { h.avoid(broker, isolation) }

func (h *health) avoid(broker string, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until[broker] = time.Now().Add(d)
}

// pick goes once round queues from index at: it returns the first queue whose
// broker is well and is not last, the broker that this message has just failed
// at; else the first of another broker than last; else the first.
func (h *health) pick(queues []Queue, at uint32, last string) Queue {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, n := time.Now(), uint32(len(queues))
	best, rank := queues[at%n], 0
	for i := range n {
		q := queues[(at%n+i)%n]
		switch {
		case q.Broker == last:
		case h.until[q.Broker].Before(now):
			return q
		case rank == 0:
			best, rank = q, 1
		}
	}
	return best
}
