// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
)

const pageSize = 4096

// page is a piece of a file. A page of an older epoch than its Mem's belongs to
// more than one state and is copied before it is changed.
type page struct {
	epoch int
	data  [pageSize]byte
}

// memNode is a file: its content now, its durable content, and the changes in
// between, oldest first.
type memNode struct {
	ino      uint64
	unlinked bool
	size     int64
	pages    []*page // nil: a hole
	dsize    int64
	dpages   []*page
	dirty    map[int]struct{} // pages that differ from dpages
	pending  []fileChange
}

// fileChange is a write, or a new length if data is nil.
type fileChange struct {
	off  int64
	data []byte
}

func (n *memNode) info() Info {
	return Info{Size: n.size, ID: FileID{Dev: 1, Ino: n.ino}}
}

func (n *memNode) pageCount() int64 {
	c := int64(0)
	for _, p := range n.pages {
		if p != nil {
			c++
		}
	}
	return c
}

// write applies as much of b as the capacity lets it. m.mu is held.
func (n *memNode) write(m *Mem, b []byte, off int64) (int, error) {
	done := 0
	for done < len(b) {
		i := int((off + int64(done)) / pageSize)
		at := int((off + int64(done)) % pageSize)
		p := n.own(m, i)
		if p == nil {
			break
		}
		done += copy(p.data[at:], b[done:])
	}
	if done > 0 {
		n.size = max(n.size, off+int64(done))
		n.pending = append(n.pending, fileChange{off: off, data: append([]byte(nil), b[:done]...)})
	}
	if done < len(b) {
		return done, syscall.ENOSPC
	}
	return done, nil
}

// own returns a page that may be changed, nil if there is no room for it.
func (n *memNode) own(m *Mem, i int) *page {
	for len(n.pages) <= i {
		n.pages = append(n.pages, nil)
	}
	if n.dirty == nil {
		n.dirty = map[int]struct{}{}
	}
	p := n.pages[i]
	switch {
	case p == nil:
		if !n.unlinked {
			if m.capacity > 0 && m.used+pageSize > m.capacity {
				return nil
			}
			m.used += pageSize
		}
		p = &page{epoch: m.epoch}
	case p.epoch != m.epoch:
		p = &page{epoch: m.epoch, data: p.data}
	}
	n.pages[i] = p
	n.dirty[i] = struct{}{}
	return p
}

func (n *memNode) truncate(m *Mem, size int64) {
	n.pending = append(n.pending, fileChange{off: size})
	keep := int((size + pageSize - 1) / pageSize)
	for i := keep; i < len(n.pages); i++ {
		if n.pages[i] != nil && !n.unlinked {
			m.used -= pageSize
		}
		if n.dirty == nil {
			n.dirty = map[int]struct{}{}
		}
		n.dirty[i] = struct{}{}
	}
	n.pages = n.pages[:min(keep, len(n.pages))]
	if at := size % pageSize; at != 0 && size < n.size && keep <= len(n.pages) && n.pages[keep-1] != nil {
		clear(n.own(m, keep-1).data[at:])
	}
	n.size = size
}

// sync makes the content durable. Pages become shared, because the durable
// state holds them now.
func (n *memNode) sync(m *Mem) {
	for len(n.dpages) < len(n.pages) {
		n.dpages = append(n.dpages, nil)
	}
	for i := range n.dirty {
		if i < len(n.pages) {
			n.dpages[i] = n.pages[i]
		} else if i < len(n.dpages) {
			n.dpages[i] = nil
		}
	}
	n.dpages = n.dpages[:len(n.pages)]
	n.dsize = n.size
	n.dirty, n.pending = nil, nil
	m.epoch++
}

func (n *memNode) readAt(b []byte, off int64) (int, error) {
	if off >= n.size {
		return 0, io.EOF
	}
	want := int(min(int64(len(b)), n.size-off))
	for done := 0; done < want; {
		i := int((off + int64(done)) / pageSize)
		at := int((off + int64(done)) % pageSize)
		k := min(pageSize-at, want-done)
		if i < len(n.pages) && n.pages[i] != nil {
			copy(b[done:done+k], n.pages[i].data[at:])
		} else {
			clear(b[done : done+k])
		}
		done += k
	}
	if want < len(b) {
		return want, io.EOF
	}
	return want, nil
}

// memFile is an open file.
type memFile struct {
	m      *Mem
	n      *memNode
	name   string
	write  bool
	closed atomic.Bool
}

func (f *memFile) check(op string, write bool) error {
	if f.closed.Load() {
		return memErr(op, f.name, os.ErrClosed)
	}
	if write && !f.write {
		return memErr(op, f.name, syscall.EBADF)
	}
	return nil
}

func (f *memFile) Name() string { return f.name }

func (f *memFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.check("read", false); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, memErr("read", f.name, fs.ErrInvalid)
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return f.n.readAt(b, off)
}

func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.check("write", true); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, memErr("write", f.name, fs.ErrInvalid)
	}
	if !f.m.hooked() || len(b) < 2 {
		f.m.before(OpWrite, f.name, false)
		return f.put(b, off)
	}
	f.m.before(OpWrite, f.name, false)
	half := len(b) / 2
	n, err := f.put(b[:half], off)
	if err != nil {
		return n, err
	}
	f.m.before(OpWrite, f.name, true)
	k, err := f.put(b[half:], off+int64(half))
	return n + k, err
}

func (f *memFile) put(b []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	n, err := f.n.write(f.m, b, off)
	if err != nil {
		err = memErr("write", f.name, err)
	}
	return n, err
}

func (f *memFile) Truncate(size int64) error {
	if err := f.check("truncate", true); err != nil {
		return err
	}
	if size < 0 {
		return memErr("truncate", f.name, fs.ErrInvalid)
	}
	f.m.before(OpTruncate, f.name, false)
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.n.truncate(f.m, size)
	return nil
}

// Allocate takes the room by writing what is there.
func (f *memFile) Allocate(off, n int64) error {
	if err := f.check("allocate", true); err != nil {
		return err
	}
	f.m.before(OpAllocate, f.name, false)
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	for i := off / pageSize; i*pageSize < off+n; i++ {
		if f.n.own(f.m, int(i)) == nil {
			return memErr("allocate", f.name, syscall.ENOSPC)
		}
	}
	if off+n > f.n.size {
		f.n.pending = append(f.n.pending, fileChange{off: off + n})
		f.n.size = off + n
	}
	return nil
}

func (f *memFile) SyncData() error { return f.Sync() }

func (f *memFile) Sync() error {
	if err := f.check("sync", false); err != nil {
		return err
	}
	f.m.before(OpSync, f.name, false)
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.n.sync(f.m)
	return nil
}

func (f *memFile) Size() (int64, error) {
	in, err := f.Stat()
	return in.Size, err
}

func (f *memFile) Stat() (Info, error) {
	if err := f.check("stat", false); err != nil {
		return Info{}, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return f.n.info(), nil
}

func (f *memFile) Close() error {
	if f.closed.Swap(true) {
		return memErr("close", f.name, fmt.Errorf("twice: %w", os.ErrClosed))
	}
	return nil
}
