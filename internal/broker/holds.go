// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store"
)

// holds are the pulls that wait for a message, by queue. A held pull costs an
// entry here and an alarm, no goroutine. It ends once: woken by a commit whose
// tag it wants, by its time, or by the end of its connection.
type holds struct {
	max int

	mu      sync.Mutex
	count   int
	numb    bool // tests: no message wakes anybody
	closed  bool
	byQueue map[order.Queue]map[*hold]struct{}
}

// hold is one pull that waits.
type hold struct {
	group string
	queue order.Queue
	match func(tagHash int64) bool // nil: every message
	// deaf: no message ends it, only time; the queue belongs to another member.
	deaf bool
	// offset is the first one that it waits for.
	offset int64
	late   bool // the last look found that it is there
	// end carries on with the pull; expired says that its time is up.
	end  func(expired bool)
	bell *alarm
	conn *conn
}

// holdSet are the holds of a connection; guarded by holds.mu.
type holdSet map[*hold]struct{}

var errTooManyHolds = errors.New("too many pulls are waiting on this broker: pull less often")

// add lets h wait, unless too many do or the broker is closing.
func (s *holds) add(h *hold) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errClosing
	case s.count >= s.max:
		return errTooManyHolds
	}
	s.count++
	q := s.byQueue[h.queue]
	if q == nil {
		q = map[*hold]struct{}{}
		s.byQueue[h.queue] = q
	}
	q[h] = struct{}{}
	if h.conn.holds == nil {
		h.conn.holds = holdSet{}
	}
	h.conn.holds[h] = struct{}{}
	return nil
}

// take removes h and reports whether it was still waiting.
func (s *holds) take(h *hold) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(h)
}

func (s *holds) remove(h *hold) bool {
	q := s.byQueue[h.queue]
	if _, ok := q[h]; !ok {
		return false
	}
	delete(q, h)
	if len(q) == 0 {
		delete(s.byQueue, h.queue)
	}
	delete(h.conn.holds, h)
	s.count--
	return true
}

// arrived returns the holds that the committed messages end.
func (s *holds) arrived(messages []store.Committed) []*hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == 0 || s.numb {
		return nil
	}
	var woken []*hold
	for i := range messages {
		m := &messages[i]
		for h := range s.byQueue[order.Queue{Topic: m.Topic, ID: m.Queue}] {
			if !h.deaf && (h.match == nil || h.match(m.TagHash)) {
				s.remove(h)
				woken = append(woken, h)
			}
		}
	}
	return woken
}

// ofQueue removes and returns the holds of a group's pulls of a queue.
func (s *holds) ofQueue(group string, q order.Queue) []*hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*hold
	for h := range s.byQueue[q] {
		if h.group == group {
			all = append(all, h)
		}
	}
	for _, h := range all {
		s.remove(h)
	}
	return all
}

// waitedFor lists the queues that pulls wait for.
func (s *holds) waitedFor() []order.Queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.byQueue))
}

// overdue removes and returns the holds that take every message and whose message
// was there at this look and at the one before. ends are the queues' ends.
func (s *holds) overdue(ends map[order.Queue]int64) []*hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*hold
	for q, end := range ends {
		for h := range s.byQueue[q] {
			was := h.late
			h.late = !h.deaf && h.match == nil && h.offset < end
			if was && h.late {
				all = append(all, h)
			}
		}
	}
	for _, h := range all {
		s.remove(h)
	}
	return all
}

// dropConn removes and returns the holds of a connection.
func (s *holds) dropConn(c *conn) []*hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeAll(c.holds)
}

// awake removes and returns all holds that a message may end.
func (s *holds) awake() []*hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*hold
	for _, q := range s.byQueue {
		for h := range q {
			if !h.deaf {
				all = append(all, h)
			}
		}
	}
	for _, h := range all {
		s.remove(h)
	}
	return all
}

// close removes and returns all holds, and takes no more.
func (s *holds) close() []*hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var all []*hold
	for _, q := range s.byQueue {
		for h := range q {
			all = append(all, h)
		}
	}
	for _, h := range all {
		s.remove(h)
	}
	return all
}

func (s *holds) takeAll(set holdSet) []*hold {
	var all []*hold
	for h := range set {
		all = append(all, h)
	}
	for _, h := range all {
		s.remove(h)
	}
	return all
}

// size returns how many pulls wait.
func (s *holds) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}
