// SPDX-License-Identifier: Apache-2.0

package store

import (
	"container/list"
	"sync"

	"github.com/orderlymq/orderly/internal/vfs"
)

// fileCache keeps a bounded number of files open for reading.
type fileCache struct {
	fs  vfs.FS
	max int

	mu   sync.Mutex
	open map[string]*handle
	idle list.List // of *handle without users, oldest first
}

// handle is a file in the cache. It is closed when it is out of the cache and
// nobody uses it.
type handle struct {
	path string
	once sync.Once
	f    vfs.File
	err  error

	refs int           // guarded by fileCache.mu
	elem *list.Element // in idle, if refs is 0
	gone bool          // no longer in the map
}

func newFileCache(fsys vfs.FS, max int) *fileCache {
	return &fileCache{fs: fsys, max: max, open: map[string]*handle{}}
}

// get opens path or finds it open; put must follow unless there is an error.
func (c *fileCache) get(path string) (*handle, error) {
	h, stale := c.take(path)
	for _, s := range stale {
		s.close()
	}
	h.once.Do(func() { h.f, h.err = c.fs.Open(path) })
	if h.err != nil {
		c.drop(path)
		c.put(h)
		return nil, h.err
	}
	return h, nil
}

func (c *fileCache) take(path string) (h *handle, stale []*handle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h = c.open[path]
	if h == nil {
		h = &handle{path: path}
		c.open[path] = h
	}
	if h.elem != nil {
		c.idle.Remove(h.elem)
		h.elem = nil
	}
	h.refs++
	for len(c.open) > c.max && c.idle.Len() > 0 {
		stale = append(stale, c.remove(c.idle.Front().Value.(*handle)))
	}
	return h, stale
}

// remove takes an idle handle out of the cache.
func (c *fileCache) remove(h *handle) *handle {
	if h.elem != nil {
		c.idle.Remove(h.elem)
		h.elem = nil
	}
	delete(c.open, h.path)
	h.gone = true
	return h
}

func (c *fileCache) put(h *handle) {
	c.mu.Lock()
	h.refs--
	last := h.refs == 0
	if last && !h.gone {
		h.elem = c.idle.PushBack(h)
	}
	closing := last && h.gone
	c.mu.Unlock()
	if closing {
		h.close()
	}
}

// drop forgets path, so that the next get opens it anew.
func (c *fileCache) drop(path string) {
	c.mu.Lock()
	h := c.open[path]
	closing := h != nil && h.refs == 0
	if h != nil {
		c.remove(h)
	}
	c.mu.Unlock()
	if closing {
		h.close()
	}
}

// closeAll drops every file.
func (c *fileCache) closeAll() {
	c.mu.Lock()
	paths := make([]string, 0, len(c.open))
	for p := range c.open {
		paths = append(paths, p)
	}
	c.mu.Unlock()
	for _, p := range paths {
		c.drop(p)
	}
}

func (h *handle) close() {
	if h.f != nil {
		h.f.Close()
	}
}

// readAt reads len(b) bytes of a file.
func (c *fileCache) readAt(path string, b []byte, off int64) (int, error) {
	h, err := c.get(path)
	if err != nil {
		return 0, err
	}
	defer c.put(h)
	return h.f.ReadAt(b, off)
}
