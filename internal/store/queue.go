// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"sort"
	"sync"
)

// queue is the state of one queue. Messages [min, max) are readable; next is
// what the writer gives out. The index of a message is in one of the extents:
// dense runs of offsets, in memory until the indexer has written them to a file.
// Offsets between extents hold no message.
type queue struct {
	topic string
	id    int32

	mu      sync.Mutex
	next    int64
	mark    int64 // async mode: next may grow up to this without a new mark
	raised  int64 // by RaiseFloor, for Reopen
	min     int64
	max     int64
	floor   int64 // messages below were dropped for good
	dropped bool  // by DropTopic, until a message comes
	disk    []extent
	mem     []memExtent
	dirty   bool // known to the table as having mem
}

// extent is a dense run of units in an index file.
type extent struct {
	base  int64 // queue offset of the first unit
	pos   int64 // of it in the file
	count int64
	file  *indexFile
}

func (e *extent) end() int64 { return e.base + e.count }

// memExtent is a dense run of units in memory.
type memExtent struct {
	base  int64
	units []unit
}

// memUnits bounds a memory extent.
const memUnits = 1024

func (e *memExtent) end() int64 { return e.base + int64(len(e.units)) }

// push makes a message readable. It reports whether the queue had nothing in
// memory before.
func (q *queue) push(offset int64, u unit) (first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pushLocked(offset, u)
}

func (q *queue) pushLocked(offset int64, u unit) (first bool) {
	if q.empty() {
		q.min = max(offset, q.floor)
	}
	switch n := len(q.mem); {
	case n == 0 || q.mem[n-1].end() != offset:
		q.mem = append(q.mem, memExtent{base: offset, units: []unit{u}})
	case len(q.mem[n-1].units) < memUnits:
		q.mem[n-1].units = append(q.mem[n-1].units, u)
	default: // a busy queue: no more copying to let the extent grow
		q.mem = append(q.mem, memExtent{base: offset, units: append(make([]unit, 0, memUnits), u)})
	}
	q.max = max(q.max, offset+1)
	q.next = max(q.next, q.max)
	q.dropped = q.dropped && offset < q.floor
	first = !q.dirty
	q.dirty = true
	return first
}

// empty reports that no message is there to be read. Callers hold mu.
func (q *queue) empty() bool { return len(q.disk) == 0 && len(q.mem) == 0 || q.min >= q.max }

// bounds returns the readable range. Messages that have an offset and are not
// readable yet are beyond it: who starts at an end must not pass them over.
func (q *queue) bounds() (lo, hi int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.empty() {
		return q.max, q.max
	}
	return q.min, q.max
}

// raise makes next at least to.
func (q *queue) raise(to int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.raised = max(q.raised, to)
	q.lift(to)
}

// lift makes next at least to, and what readers see of it as well unless
// messages are on their way, which they would pass over. mu is held.
func (q *queue) lift(to int64) {
	idle := q.next == q.max
	q.next = max(q.next, to)
	if !idle {
		return
	}
	if q.empty() {
		q.min = q.next
	}
	q.max = q.next
}

// find looks for the first message at or after the offset: its units from
// memory into buf, or the extent on disk that has it. base is its offset; -1 if
// there is none.
func (q *queue) find(from int64, buf []unit) (base int64, got []unit, disk extent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	from = max(from, q.min)
	if from >= q.max {
		return -1, nil, extent{}
	}
	if len(q.mem) == 0 || from < q.mem[0].base {
		if e, ok := q.findDisk(from); ok {
			return max(from, e.base), nil, e
		}
	}
	i := sort.Search(len(q.mem), func(i int) bool { return q.mem[i].end() > from })
	if i == len(q.mem) {
		return -1, nil, extent{}
	}
	e := &q.mem[i]
	base = max(from, e.base)
	n := copy(buf[:cap(buf)], e.units[base-e.base:])
	return base, buf[:n], extent{}
}

func (q *queue) findDisk(from int64) (extent, bool) {
	i := sort.Search(len(q.disk), func(i int) bool { return q.disk[i].end() > from })
	if i == len(q.disk) {
		return extent{}, false
	}
	return q.disk[i], true
}

// below returns the units in memory that lie below a place in the log, by
// extent. They are never changed any more.
func (q *queue) below(phys int64) []memExtent {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []memExtent
	for _, e := range q.mem {
		n := sort.Search(len(e.units), func(i int) bool { return e.units[i].phys >= phys })
		if n > 0 {
			out = append(out, memExtent{base: e.base, units: e.units[:n:n]})
		}
		if n < len(e.units) {
			break
		}
	}
	return out
}

// written replaces the units in memory that lie below a place in the log by
// extents on disk. It reports whether units remain in memory.
func (q *queue) written(on []extent, below int64) (more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.disk = append(q.disk, on...)
	gone := 0
	for ; gone < len(q.mem); gone++ {
		m := &q.mem[gone]
		n := sort.Search(len(m.units), func(i int) bool { return m.units[i].phys >= below })
		if n < len(m.units) {
			if n > 0 { // the rest moves, so that the written part can be freed
				m.units = append([]unit(nil), m.units[n:]...)
				m.base += int64(n)
			}
			break
		}
	}
	q.mem = slices.Clone(q.mem[gone:])
	q.trim()
	q.dirty = len(q.mem) > 0
	return q.dirty
}

// trim drops extents that lie wholly below min.
func (q *queue) trim() {
	n := 0
	for n < len(q.disk) && q.disk[n].end() <= q.min {
		n++
	}
	q.disk = q.disk[n:]
	if len(q.disk) == 0 {
		q.disk = nil
	}
}

// replace puts the extents of another file in the place of those of old.
func (q *queue) replace(old *indexFile, on []extent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	disk := make([]extent, 0, len(q.disk)+len(on))
	for _, e := range q.disk {
		if e.file != old {
			disk = append(disk, e)
		}
	}
	disk = append(disk, on...)
	slices.SortFunc(disk, func(a, b extent) int { return cmp.Compare(a.base, b.base) })
	q.disk = disk
	q.trim()
}

// forget drops the extents of a file that is going, and reports whether the
// queue had messages and has none any more.
func (q *queue) forget(file *indexFile) (emptied bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for n < len(q.disk) && q.disk[n].file == file {
		n++
	}
	if n == 0 {
		return false
	}
	q.disk = slices.Clone(q.disk[n:])
	switch {
	case len(q.disk) > 0:
		q.min = max(q.min, q.disk[0].base)
	case len(q.mem) > 0:
		q.min = max(q.min, q.mem[0].base)
	default:
		q.min = q.max
		return true
	}
	return false
}

// drop makes every message below an offset unreadable.
func (q *queue) drop(below int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.floor = max(q.floor, below)
	q.min = max(q.min, q.floor)
	q.dropped = q.min >= q.max
	q.trim()
}
