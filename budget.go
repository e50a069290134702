// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"sync"
)

// budget bounds the messages a producer has accepted and not settled. Takers
// are served in the order in which they asked, so that callers keep theirs.
type budget struct {
	mu          sync.Mutex
	count, size int // free
	most        ask // the whole of it
	queue       []*ask
	closed      error
}

type ask struct {
	count, size int
	granted     chan error // buffered; one value
}

func newBudget(count, size int) *budget {
	return &budget{count: count, size: size, most: ask{count: count, size: size}}
}

// take waits for room for count messages of size bytes in all. What is larger
// than the whole budget counts as the whole budget, so that it can pass.
func (b *budget) take(ctx context.Context, count, size int) error {
	b.mu.Lock()
	if b.closed != nil {
		defer b.mu.Unlock()
		return b.closed
	}
	a := &ask{count: min(count, b.most.count), size: min(size, b.most.size)}
	if len(b.queue) == 0 && b.fits(a) {
		b.use(a)
		b.mu.Unlock()
		return nil
	}
	a.granted = make(chan error, 1)
	b.queue = append(b.queue, a)
	b.mu.Unlock()
	select {
	case err := <-a.granted:
		return err
	case <-ctx.Done():
		return b.leave(a, context.Cause(ctx))
	}
}

// try is take for those who do not wait.
func (b *budget) try(count, size int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := &ask{count: min(count, b.most.count), size: min(size, b.most.size)}
	if len(b.queue) > 0 || !b.fits(a) {
		return false
	}
	b.use(a)
	return true
}

// leave takes a off the queue, or gives back what it was granted meanwhile.
func (b *budget) leave(a *ask, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.queue {
		if other == a {
			b.queue = append(b.queue[:i], b.queue[i+1:]...)
			b.serve()
			return err
		}
	}
	if granted := <-a.granted; granted != nil {
		return granted
	}
	b.free(a.count, a.size)
	return err
}

// give returns what a take of the same count and size took.
func (b *budget) give(count, size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free(min(count, b.most.count), min(size, b.most.size))
}

// close fails all takers, waiting and to come, with err.
func (b *budget) close(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = err
	for _, a := range b.queue {
		a.granted <- err
	}
	b.queue = nil
}

func (b *budget) fits(a *ask) bool { return a.count <= b.count && a.size <= b.size }

func (b *budget) use(a *ask) {
	b.count -= a.count
	b.size -= a.size
}

func (b *budget) free(count, size int) {
	b.count += count
	b.size += size
	b.serve()
}

func (b *budget) serve() {
	for len(b.queue) > 0 && b.fits(b.queue[0]) {
		a := b.queue[0]
		b.queue = b.queue[1:]
		b.use(a)
		a.granted <- nil
	}
}
