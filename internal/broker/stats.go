// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
)

// stats counts what the broker does, since its start.
type stats struct {
	messagesIn, bytesIn   counter
	sendsFailed           atomic.Int64
	messagesOut, bytesOut counter
	pullsEmpty            counter
	commits, refusals     atomic.Int64

	keyless   atomic.Int64 // messages without ordering key for ordered topics
	misplaced atomic.Int64 // keyed messages on another queue than their lane's
	unlocked  atomic.Int64 // pulls of ordered topics by members without a lock
	rescued   atomic.Int64 // pulls that the watchdog had to wake
	unknown   atomic.Int64 // requests with a code that nobody serves
}

func (s *stats) stored(msgs []msg.Message) {
	bytes := int64(0)
	for i := range msgs {
		bytes += int64(msgs[i].StoreSize)
	}
	s.messagesIn.add(int64(len(msgs)))
	s.bytesIn.add(bytes)
}

// sample notes the counters' values; it is called every samplePeriod.
func (s *stats) sample() {
	for _, c := range []*counter{&s.messagesIn, &s.bytesIn, &s.messagesOut, &s.bytesOut, &s.pullsEmpty} {
		c.sample()
	}
}

const (
	samplePeriod = 10 * time.Second
	samplesKept  = 61 // ten minutes
)

// counter counts events and knows how many there were lately.
type counter struct {
	total atomic.Int64

	mu      sync.Mutex
	samples []int64 // values of total, one per samplePeriod, newest last
}

func (c *counter) add(n int64) { c.total.Add(n) }

func (c *counter) sample() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.samples) == samplesKept {
		c.samples = append(c.samples[:0], c.samples[1:]...)
	}
	c.samples = append(c.samples, c.total.Load())
}

// perSecond is the rate over the last whole sample periods, as many as d holds.
func (c *counter) perSecond(d time.Duration) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.samples) - 1
	n := min(int(d/samplePeriod), last)
	if n <= 0 {
		return 0
	}
	return float64(c.samples[last]-c.samples[last-n]) / (float64(n) * samplePeriod.Seconds())
}

// quiet keeps a complaint that would come with every message to one line a
// minute.
type quiet struct {
	mu   sync.Mutex
	next order.Time
}

// due reports whether the complaint may be made now.
func (q *quiet) due(b *Broker) bool {
	now := b.clock.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if now < q.next {
		return false
	}
	q.next = now.Add(time.Minute)
	return true
}
