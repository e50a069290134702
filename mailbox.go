// SPDX-License-Identifier: Apache-2.0

package orderly

import "sync"

// mailbox brings events to the one goroutine that owns a state machine, in the
// order in which they were posted. What may stand in it is bounded by what the
// machine asked for: each event but a handful answers an action of it.
type mailbox[E any] struct {
	mu     sync.Mutex
	events []E
	spare  []E
	closed bool
	numb   bool // tests: nobody is woken
	wake   chan struct{}
}

func newMailbox[E any]() *mailbox[E] { return &mailbox[E]{wake: make(chan struct{}, 1)} }

// post never blocks. It reports false if nobody will ever take e.
func (b *mailbox[E]) post(e E) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.events = append(b.events, e)
	if b.numb {
		return true
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return true
}

// forgotten reports whether events lie there that nobody will be woken for. It
// never is so.
func (b *mailbox[E]) forgotten() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.events) > 0 && len(b.wake) == 0
}

// close is the last take.
func (b *mailbox[E]) close() []E {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.events
}

// take returns what was posted; the slice is good until the next take. Wait on
// wake before it.
func (b *mailbox[E]) take() []E {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.spare)
	b.spare, b.events = b.events, b.spare[:0]
	return b.spare
}
