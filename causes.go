// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"sync"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// maxCauses bounds the messages of a queue whose last error is remembered.
const maxCauses = 4096

// causes are the last errors of the failing messages of a queue, for their dead
// letters and for operators. They are not handed over when the queue moves.
type causes struct {
	mu   sync.Mutex
	last map[int64]string // offset -> error
}

// settle notes what a hand-out came to.
func (c *causes) settle(entries []order.Entry, o outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range entries {
		switch {
		case i < o.done || o.err == nil:
			delete(c.last, e.Offset)
		case i == o.done && (len(c.last) < maxCauses || c.last[e.Offset] != ""):
			if c.last == nil {
				c.last = map[int64]string{}
			}
			text := o.err.Error()
			c.last[e.Offset] = text[:min(len(text), header.MaxCause)]
		}
	}
}

func (c *causes) of(offset int64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[offset]
}

func (c *causes) forget(offset int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.last, offset)
}
