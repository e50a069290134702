// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"container/heap"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
)

// call is a request of this side that waits for its answer.
type call struct {
	opaque   int32
	deadline time.Time
	done     func(*wire.Command, error)
	index    int // in calls.due, -1 if it has no deadline
}

// calls is the set of open calls of a connection. Deadlines share one timer.
// Each call's done runs exactly once, by whoever takes the call out.
type calls struct {
	limit int

	mu     sync.Mutex
	next   int32
	open   map[int32]*call
	peak   int // most calls in open since it was made
	due    byDeadline
	timer  *time.Timer
	armed  time.Time // what timer is set to; zero if it is not running
	closed error
	firing sync.WaitGroup // expirations under way
}

// add opens a call and chooses its opaque.
func (t *calls) add(c *call) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil {
		return t.closed
	}
	if len(t.open) >= t.limit {
		return ErrTooManyCalls
	}
	if t.open == nil {
		t.open = map[int32]*call{}
	}
	c.opaque = t.opaque()
	t.open[c.opaque] = c
	t.peak = max(t.peak, len(t.open))
	c.index = -1
	if !c.deadline.IsZero() {
		heap.Push(&t.due, c)
		t.arm()
	}
	return nil
}

// opaque returns a number that no open call uses; t.mu is held.
func (t *calls) opaque() int32 {
	for {
		t.next = max(t.next+1, 1)
		if _, used := t.open[t.next]; !used {
			return t.next
		}
	}
}

// reserve returns an opaque for a request that gets no answer.
func (t *calls) reserve() int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.opaque()
}

// take ends the call with this opaque; nil if there is none (any more).
func (t *calls) take(opaque int32) *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.open[opaque]
	if c != nil {
		t.remove(c)
	}
	return c
}

// has reports whether a call with this opaque is open.
func (t *calls) has(opaque int32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[opaque] != nil
}

func (t *calls) remove(c *call) {
	delete(t.open, c.opaque)
	if c.index >= 0 {
		heap.Remove(&t.due, c.index)
	}
	if len(t.open) == 0 && t.peak > keepMap {
		t.open, t.due, t.peak = nil, nil, 0
	}
}

// arm sets the timer to the earliest deadline if it would fire too late. A
// timer that fires too early finds nothing due and is set again; t.mu is held.
func (t *calls) arm() {
	if len(t.due) == 0 || t.closed != nil {
		return
	}
	first := t.due[0].deadline
	if !t.armed.IsZero() && !first.Before(t.armed) {
		return
	}
	if t.timer != nil && t.timer.Stop() {
		t.firing.Done()
	}
	t.armed = first
	t.firing.Add(1)
	t.timer = time.AfterFunc(time.Until(first), t.expire)
}

// expire ends the calls whose deadline has passed.
func (t *calls) expire() {
	defer t.firing.Done()
	t.mu.Lock()
	t.armed = time.Time{}
	var late []*call
	for now := time.Now(); len(t.due) > 0 && !t.due[0].deadline.After(now); {
		late = append(late, t.due[0])
		t.remove(t.due[0])
	}
	t.arm()
	t.mu.Unlock()
	for _, c := range late {
		c.done(nil, ErrTimeout)
	}
}

// refuse makes add fail from now on.
func (t *calls) refuse(err error) {
	t.mu.Lock()
	if t.closed == nil {
		t.closed = err
	}
	t.mu.Unlock()
}

// fail ends all calls with err and waits for expirations under way.
func (t *calls) fail(err error) {
	t.refuse(err)
	t.mu.Lock()
	open := t.open
	t.open, t.due = nil, nil
	if t.timer != nil && t.timer.Stop() {
		t.firing.Done()
	}
	t.mu.Unlock()
	for _, c := range open {
		c.done(nil, err)
	}
	t.firing.Wait()
}

func (t *calls) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}

// byDeadline is a heap, earliest deadline first.
type byDeadline []*call

func (h byDeadline) Len() int           { return len(h) }
func (h byDeadline) Less(i, j int) bool { return h[i].deadline.Before(h[j].deadline) }
func (h byDeadline) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *byDeadline) Push(x any) {
	c := x.(*call)
	c.index = len(*h)
	*h = append(*h, c)
}

// Pop implements heap.Interface.
func (h *byDeadline) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	c.index = -1
	return c
}
