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

// link names an ordering key of a topic.
type link struct {
	topic string
	key   string
}

func (l link) keyed() bool { return l.key != "" }

// chains holds the stopped keys of a producer: their sends fail.
type chains struct {
	mu      sync.Mutex
	stopped map[link]StoppedKey
	limit   int // of stopped
}

func newChains(limit int) *chains {
	return &chains{stopped: map[link]StoppedKey{}, limit: limit}
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
