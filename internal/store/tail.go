// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sort"
	"sync"
	"sync/atomic"
)

// tail keeps the newest part of the log in memory. The writer encodes batches
// straight into it, so a body is copied once on its way to the file; readers
// copy out of it. Bytes in it may not be committed yet: readers only ask for
// places they got from the queue index, which are.
type tail struct {
	max       int64
	chunkSize int

	mu     sync.RWMutex
	chunks []*chunk // by base; the last one is the writer's
	total  int64
	free   *chunk
}

// chunk holds the log range [base, base+used). Only the writer moves used, and
// it writes only bytes that no reader was told of.
type chunk struct {
	base int64
	mem  []byte
	used atomic.Int64
	refs atomic.Int32 // readers that copy out of it
}

func (c *chunk) end() int64 { return c.base + c.used.Load() }

func (c *chunk) room() int { return len(c.mem) - int(c.used.Load()) }

func newTail(max, segment int64) *tail {
	size := min(max/8, segment, 2*mib)
	return &tail{max: max, chunkSize: int(size)}
}

// alloc returns n bytes that stand for the log from pos on, to be filled by the
// writer. Whatever it returned before is full and written by now.
func (t *tail) alloc(pos int64, n int) []byte {
	if c := t.last(); c != nil && c.end() == pos && c.room() >= n {
		return c.grow(n)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.chunk(n)
	c.base = pos
	t.chunks = append(t.chunks, c)
	t.total += int64(len(c.mem))
	for t.total > t.max && len(t.chunks) > 1 {
		t.evict()
	}
	return c.grow(n)
}

func (c *chunk) grow(n int) []byte {
	at := int(c.used.Add(int64(n))) - n
	return c.mem[at : at+n : at+n]
}

func (t *tail) last() *chunk {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.chunks) == 0 {
		return nil
	}
	return t.chunks[len(t.chunks)-1]
}

// chunk makes a chunk of at least n bytes, from the free one if it fits.
func (t *tail) chunk(n int) *chunk {
	if c := t.free; c != nil && n <= len(c.mem) {
		t.free = nil
		c.used.Store(0)
		return c
	}
	return &chunk{mem: make([]byte, max(n, t.chunkSize))}
}

// evict forgets the oldest chunk, and keeps its memory for the next one unless
// a reader is still in it.
func (t *tail) evict() {
	c := t.chunks[0]
	t.chunks[0] = nil
	t.chunks = t.chunks[1:]
	t.total -= int64(len(c.mem))
	if c.refs.Load() == 0 && len(c.mem) == t.chunkSize {
		t.free = c
	}
}

// append appends the log range [pos, pos+n) to dst, or reports that it is not
// all in memory.
func (t *tail) append(dst []byte, pos int64, n int) ([]byte, bool) {
	c := t.hold(pos, n)
	if c == nil {
		return dst, false
	}
	at := pos - c.base
	dst = append(dst, c.mem[at:at+int64(n)]...)
	c.refs.Add(-1)
	return dst, true
}

// hold finds the chunk with the range and keeps it from being reused.
func (t *tail) hold(pos int64, n int) *chunk {
	t.mu.RLock()
	defer t.mu.RUnlock()
	i := sort.Search(len(t.chunks), func(i int) bool { return t.chunks[i].base > pos }) - 1
	if i < 0 {
		return nil
	}
	c := t.chunks[i]
	if pos+int64(n) > c.end() {
		return nil
	}
	c.refs.Add(1)
	return c
}
