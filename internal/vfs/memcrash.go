// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"math/rand/v2"
	"path"
	"slices"
)

// Crash is a way to stop.
type Crash int

const (
	// ProcessCrash keeps everything that was written.
	ProcessCrash Crash = iota
	// PowerCut keeps what was synced and any part of the rest.
	PowerCut
)

// CrashClone returns the file system as it would be found after a crash at
// this moment; m goes on unharmed. After a power cut each file has its synced
// content and any part of what was written since: nothing, the first few writes
// and a torn one, or an arbitrary subset of pages; and each directory has any
// subset of its unsynced changes. Locks are gone.
func (m *Mem) CrashClone(rng *rand.Rand, how Crash) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epoch++ // all pages are shared from here on
	c := &Mem{
		locks: map[string]bool{}, boot: m.boot, epoch: m.epoch, nextIno: m.nextIno,
	}
	if how == PowerCut {
		c.boot++
	}
	k := &cloner{rng: rng, cut: how == PowerCut, to: c, done: map[*memNode]*memNode{}, dirs: map[*memDir]*memDir{}}
	c.root = k.dir(m.root)
	c.used, c.capacity = 0, m.capacity
	for _, n := range k.done {
		if !n.unlinked {
			c.used += n.pageCount() * pageSize
		}
	}
	return c
}

type cloner struct {
	rng  *rand.Rand
	cut  bool
	to   *Mem
	done map[*memNode]*memNode
	dirs map[*memDir]*memDir
}

func (k *cloner) dir(d *memDir) *memDir {
	if c := k.dirs[d]; c != nil {
		return c
	}
	c := newMemDir()
	k.dirs[d] = c
	if !k.cut {
		k.names(c.names, d.names)
		k.names(c.durable, d.durable)
		for _, p := range d.pending {
			p.node, p.other = k.node(p.node), k.node(p.other)
			c.pending = append(c.pending, p)
		}
		return c
	}
	left := map[string]any{}
	for n, v := range d.durable {
		left[n] = v
	}
	for _, p := range k.some(len(d.pending)) {
		setName(left, d.pending[p])
	}
	k.names(c.names, left)
	k.names(c.durable, left)
	return c
}

// some picks which of n changes survive: none, all, the first few or any.
func (k *cloner) some(n int) []int {
	keep := 0.0
	switch k.rng.IntN(4) {
	case 0:
		return nil
	case 1:
		keep = 1
	case 2:
		n = k.rng.IntN(n + 1)
		keep = 1
	default:
		keep = k.rng.Float64()
	}
	var out []int
	for i := range n {
		if keep == 1 || k.rng.Float64() < keep {
			out = append(out, i)
		}
	}
	return out
}

// names clones entries, in a fixed order so that a seed gives one outcome.
func (k *cloner) names(to, from map[string]any) {
	sorted := make([]string, 0, len(from))
	for n := range from {
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	for _, n := range sorted {
		to[n] = k.node(from[n])
	}
}

func (k *cloner) node(v any) any {
	switch n := v.(type) {
	case *memDir:
		return k.dir(n)
	case *memNode:
		return k.file(n)
	}
	return nil
}

func (k *cloner) file(n *memNode) *memNode {
	if c := k.done[n]; c != nil {
		return c
	}
	c := &memNode{ino: n.ino, dsize: n.dsize, dpages: slices.Clone(n.dpages), unlinked: n.unlinked && !k.cut}
	k.done[n] = c
	if !k.cut {
		c.size, c.pages, c.pending = n.size, slices.Clone(n.pages), slices.Clone(n.pending)
		if n.dirty != nil {
			c.dirty = make(map[int]struct{}, len(n.dirty))
			for i := range n.dirty {
				c.dirty[i] = struct{}{}
			}
		}
		return c
	}
	c.size, c.pages = n.dsize, slices.Clone(n.dpages)
	k.survive(c, n.pending)
	c.pending, c.dirty = nil, nil
	c.dsize, c.dpages = c.size, slices.Clone(c.pages)
	return c
}

// survive applies a part of the unsynced changes to the durable content.
func (k *cloner) survive(c *memNode, pending []fileChange) {
	if len(pending) == 0 {
		return
	}
	mode := k.rng.IntN(4)
	switch mode {
	case 0: // nothing
	case 1: // everything
		k.prefix(c, pending, len(pending))
	case 2: // the first few and a piece of the next
		n := k.rng.IntN(len(pending))
		k.prefix(c, pending, n)
		k.torn(c, pending[n])
	default: // any pages
		p := k.rng.Float64()
		for _, ch := range pending {
			k.pieces(c, ch, p)
		}
	}
}

func (k *cloner) prefix(c *memNode, pending []fileChange, n int) {
	for _, ch := range pending[:n] {
		k.apply(c, ch)
	}
}

func (k *cloner) apply(c *memNode, ch fileChange) {
	if ch.data == nil {
		c.truncate(k.to, ch.off)
		return
	}
	c.write(k.to, ch.data, ch.off) //nolint:errcheck // a clone takes what its source had room for
}

// torn applies some sectors of a write.
func (k *cloner) torn(c *memNode, ch fileChange) {
	const sector = 512
	for len(ch.data) > 0 {
		n := min(len(ch.data), sector-int(ch.off%sector))
		if k.rng.IntN(2) == 0 {
			k.apply(c, fileChange{ch.off, ch.data[:n]})
		}
		ch.off += int64(n)
		ch.data = ch.data[n:]
	}
}

// pieces applies each page of a change, or the new length, with probability p.
func (k *cloner) pieces(c *memNode, ch fileChange, p float64) {
	if ch.data == nil {
		if k.rng.Float64() < p {
			k.apply(c, ch)
		}
		return
	}
	for len(ch.data) > 0 {
		n := min(len(ch.data), pageSize-int(ch.off%pageSize))
		if k.rng.Float64() < p {
			k.apply(c, fileChange{ch.off, ch.data[:n]})
		}
		ch.off += int64(n)
		ch.data = ch.data[n:]
	}
}

// Files returns the names of all files, sorted.
func (m *Mem) Files() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	var walk func(d *memDir, at string)
	walk = func(d *memDir, at string) {
		for name, n := range d.names {
			if sub, ok := n.(*memDir); ok {
				walk(sub, path.Join(at, name))
			} else {
				out = append(out, path.Join(at, name))
			}
		}
	}
	walk(m.root, "/")
	slices.Sort(out)
	return out
}

// Corrupt lets fn change the bytes of a file from off on behind everybody's
// back, as a failing disk does: no hook, and durable at once.
func (m *Mem) Corrupt(name string, off int64, n int, fn func(b []byte)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.walk(name)
	if err != nil {
		return memErr("corrupt", name, err)
	}
	f, ok := at.(*memNode)
	if !ok {
		return memErr("corrupt", name, ErrUnsupported)
	}
	b := make([]byte, n)
	got, err := f.readAt(b, off)
	if got < n {
		return memErr("corrupt", name, err)
	}
	fn(b)
	keep := f.pending
	if _, err := f.write(m, b, off); err != nil {
		return memErr("corrupt", name, err)
	}
	f.sync(m)
	f.pending = keep
	return nil
}
