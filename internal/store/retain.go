// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io/fs"
)

// retain removes segments whose time has come, oldest first.
func (k *keeper) retain() error {
	for {
		l := k.c.segs.snapshot()
		if len(l) < 2 || !k.expired(l[0]) {
			return nil
		}
		if err := k.removeFirst(l[0], l[1].base); err != nil {
			return err
		}
	}
}

// expired reports whether the oldest segment may go. It must be synced and in
// both indexes; a segment with messages that are needed goes only by policy.
func (k *keeper) expired(g *segment) bool {
	c := k.c
	if c.pos.synced.Load() < g.end() || c.index.keysOn.Load() < g.end() || c.fenceErr(false) != nil {
		return false
	}
	newest := g.newest.Load()
	old := c.o.Retention > 0 && newest > 0 && c.o.Clock().UnixMilli()-newest > c.o.Retention.Milliseconds()
	d := c.usage.Load()
	full := d != nil && (d.Used() > c.o.DiskHigh || d.low)
	if !old && !full {
		return false
	}
	if c.o.KeepFrom == nil || c.o.KeepFrom() >= g.end() {
		return true
	}
	if !full || !c.o.DeleteUnfinished {
		return false
	}
	c.o.Logger.Error("store: removing messages that a group has not finished", "from", g.base, "to", g.end())
	if c.o.OnLost != nil {
		c.o.OnLost(g.base, g.end())
	}
	return true
}

// removeFirst removes the oldest segment. Before any file goes it is made
// durable that the log starts later, and where queues go on that have no
// message left.
func (k *keeper) removeFirst(g *segment, start int64) error {
	c := k.c
	if err := k.saveFloors(g); err != nil {
		return err
	}
	p := k.claims()
	p.start = start
	if err := c.ckpt.commit(p); err != nil {
		return err
	}
	k.last = p
	c.segs.dropFirst()
	si := c.index.forget(g.base)
	if si.queue != nil {
		for _, q := range c.queues.all() {
			q.forget(si.queue)
		}
	}
	c.o.Logger.Info("store: removed segment", "segment", segName(g.base), "newest_ms", g.newest.Load())
	err := k.unlink(c.segs.logPath(g.base))
	if si.queue != nil {
		err = errors.Join(err, k.unlink(si.queue.path))
	}
	if si.key != nil {
		err = errors.Join(err, k.unlink(si.key.path))
	}
	return errors.Join(err, c.o.FS.SyncDir(c.segs.dir+"/"+logDir))
}

func (k *keeper) unlink(paths ...string) error {
	for _, p := range paths {
		k.c.files.drop(p)
		if err := k.c.o.FS.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", p, err)
		}
	}
	return nil
}

// saveFloors makes the next offset durable of each queue whose last message is
// in the segment.
func (k *keeper) saveFloors(g *segment) error {
	var entries []floorEntry
	si := k.c.index.of(g.base)
	if si.queue == nil {
		return nil
	}
	for _, q := range k.c.queues.all() {
		if v := q.onlyIn(si.queue); v > 0 {
			entries = append(entries, floorEntry{floorNext, q.topic, q.id, v})
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return k.c.floors.add(entries)
}

// onlyIn returns the queue's next offset if it has no message outside the file,
// and 0 otherwise.
func (q *queue) onlyIn(f *indexFile) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.mem) > 0 || len(q.disk) == 0 || q.disk[len(q.disk)-1].file != f {
		return 0
	}
	return q.next
}

// forget takes the segment's files out of the indexes.
func (x *indexer) forget(base int64) segmentIndex {
	x.mu.Lock()
	defer x.mu.Unlock()
	si := x.files[base]
	delete(x.files, base)
	delete(x.gaps, base)
	if si == nil {
		return segmentIndex{}
	}
	return *si
}

// compactFloors writes the floors file anew when it has grown. Marks of queues
// are kept as they are.
func (k *keeper) compactFloors() error {
	const limit = 8 * mib
	if k.c.floors.length() < limit {
		return nil
	}
	p := k.claims()
	p.floors = 0 // the length that was vouched for is about to shrink
	if err := k.c.ckpt.commit(p); err != nil {
		return err
	}
	k.last = p
	return k.c.floors.rewrite(func() []floorEntry { return floorsOf(k.c.queues) })
}

// shown returns the next offset as the log shows it. mu is held.
func (q *queue) shown() int64 {
	if n := len(q.mem); n > 0 {
		return q.mem[n-1].end()
	}
	if n := len(q.disk); n > 0 {
		return q.disk[n-1].end()
	}
	return 0
}

// floorsOf returns the entries that say all that is known of the queues.
func floorsOf(t *table) []floorEntry {
	var out []floorEntry
	for _, q := range t.all() {
		q.mu.Lock()
		if q.floor > 0 {
			out = append(out, floorEntry{floorDrop, q.topic, q.id, q.floor})
		}
		if q.max > q.shown() {
			out = append(out, floorEntry{floorNext, q.topic, q.id, q.max})
		}
		if q.mark > 0 {
			out = append(out, floorEntry{floorMark, q.topic, q.id, q.mark})
		}
		q.mu.Unlock()
	}
	return out
}
