// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/order"
)

// alarms runs functions at moments of the broker's monotonic time, one after
// the other on one goroutine: a held pull or a lease costs an entry, not a
// goroutine. The functions must not block.
type alarms struct {
	now func() order.Time

	mu   sync.Mutex
	heap alarmHeap
	wake chan struct{}
}

// alarm is one entry. Its owner keeps the pointer to cancel or move it.
type alarm struct {
	at   order.Time
	ring func()
	pos  int // in the heap, -1: not set
}

func newAlarms(now func() order.Time) *alarms {
	return &alarms{now: now, wake: make(chan struct{}, 1)}
}

// newAlarm makes an alarm that is not set.
func newAlarm(ring func()) *alarm { return &alarm{ring: ring, pos: -1} }

// set arranges for a to ring at the given moment, once; order.Never unsets it.
func (s *alarms) set(a *alarm, at order.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case a.pos >= 0 && at == order.Never:
		heap.Remove(&s.heap, a.pos)
	case a.pos >= 0:
		a.at = at
		heap.Fix(&s.heap, a.pos)
	case at != order.Never:
		a.at = at
		heap.Push(&s.heap, a)
	}
	if a.pos == 0 {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// stop unsets a. A ring that is under way may still go on.
func (s *alarms) stop(a *alarm) { s.set(a, order.Never) }

// run serves until ctx ends.
func (s *alarms) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		due, next := s.due()
		for _, a := range due {
			a.ring()
		}
		if len(due) > 0 {
			continue
		}
		timer.Reset(next)
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
	}
}

// due takes out what is to ring now, or says how long there is nothing to do.
func (s *alarms) due() ([]*alarm, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var due []*alarm
	for len(s.heap) > 0 && s.heap[0].at <= now {
		due = append(due, heap.Pop(&s.heap).(*alarm))
	}
	if len(s.heap) == 0 {
		return due, time.Hour
	}
	return due, s.heap[0].at.Sub(now)
}

type alarmHeap []*alarm

func (h alarmHeap) Len() int           { return len(h) }
func (h alarmHeap) Less(i, j int) bool { return h[i].at < h[j].at }

func (h alarmHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i, j
}

func (h *alarmHeap) Push(x any) {
	a := x.(*alarm)
	a.pos = len(*h)
	*h = append(*h, a)
}

func (h *alarmHeap) Pop() any {
	old := *h
	a := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	a.pos = -1
	return a
}
