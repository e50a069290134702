// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"
)

var errTooManyStopped = errors.New("too many keys are stopped: resume some, or raise MaxStoppedKeys")

// link names what a message is kept in order with: an ordering key of a topic,
// or, for a message that a selector placed without a key, its queue.
type link struct {
	topic string
	key   string
	queue Queue
}

func (l link) keyed() bool { return l.key != "" }

// turn is one waiting or running send of a producer.
type turn struct {
	links []link // without repeats
	ahead int    // chains in which another turn stands before this one
	start func() // runs when the turn has come; must not block
}

// chains lets turns that share a link run one after the other, in the order
// in which they were added; others run as they come. A turn with several links
// (a batch) waits for the head of each, which cannot lock up because every
// turn is added to all its chains at one moment.
//
// It also holds the stopped keys: a turn that meets one fails in its place.
type chains struct {
	mu      sync.Mutex
	waiting map[link][]*turn
	stopped map[link]StoppedKey
	limit   int // of stopped
}

func newChains(limit int) *chains {
	return &chains{waiting: map[link][]*turn{}, stopped: map[link]StoppedKey{}, limit: limit}
}

// add appends t to its chains and starts it if nothing stands before it.
func (c *chains) add(t *turn) {
	c.mu.Lock()
	for _, l := range t.links {
		if len(c.waiting[l]) > 0 {
			t.ahead++
		}
		c.waiting[l] = append(c.waiting[l], t)
	}
	ready := t.ahead == 0
	c.mu.Unlock()
	if ready {
		t.start()
	}
}

// finish takes t, which has run, off its chains and starts the turns whose way
// is free now. What t's failure stops must be halted before.
func (c *chains) finish(t *turn) {
	var ready []*turn
	c.mu.Lock()
	for _, l := range t.links {
		rest := c.waiting[l][1:]
		if len(rest) == 0 {
			delete(c.waiting, l)
			continue
		}
		c.waiting[l] = rest
		if next := rest[0]; next.ahead > 0 {
			if next.ahead--; next.ahead == 0 {
				ready = append(ready, next)
			}
		}
	}
	c.mu.Unlock()
	for _, next := range ready {
		next.start()
	}
}

// halt stops a key. The first failure is the one worth knowing. What has no
// key has nothing to stop.
func (c *chains) halt(l link, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, is := c.stopped[l]; !is && l.keyed() {
		c.stopped[l] = StoppedKey{Topic: l.topic, OrderingKey: l.key, Since: time.Now(), Cause: cause}
	}
}

// check returns why l may not be sent to: it is stopped, or so many keys are
// stopped that one more could not be remembered.
func (c *chains) check(l link) error {
	if !l.keyed() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, is := c.stopped[l]; is {
		return &KeyStoppedError{Topic: s.Topic, OrderingKey: s.OrderingKey, Cause: s.Cause}
	}
	if len(c.stopped) >= c.limit {
		return &KeyStoppedError{Topic: l.topic, OrderingKey: l.key, Cause: errTooManyStopped}
	}
	return nil
}

// resume lets l go on and reports whether it was stopped.
func (c *chains) resume(l link) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, was := c.stopped[l]
	delete(c.stopped, l)
	return was
}

// list returns the stopped keys, oldest first.
func (c *chains) list() []StoppedKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := make([]StoppedKey, 0, len(c.stopped))
	for _, s := range c.stopped {
		keys = append(keys, s)
	}
	slices.SortFunc(keys, func(a, b StoppedKey) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.OrderingKey, b.OrderingKey))
	})
	return keys
}
