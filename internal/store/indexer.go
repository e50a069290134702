// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/orderlymq/orderly/internal/msg"
)

// indexer follows the completer. It finds the keys of what was dispatched, and
// writes both indexes to disk, a run at a time. All files of the indexes are
// written by its goroutine alone.
type indexer struct {
	c      *core
	reader logReader
	// Memory of the indexer's goroutine that is used again.
	builder runBuilder
	scratch []keyRef
	wake    chan struct{}

	stuck atomic.Bool // too many cuts are waiting: refuse appends

	mu    sync.RWMutex
	dirty []*queue // queues with units in memory
	cuts  []cut    // runs that are due, oldest first
	from  int64    // where the run that is being collected starts
	units int      // collected for it
	files map[int64]*segmentIndex
	keys  []keyRef // found and not yet in a run, in log order
	upTo  int64    // keys below are found
	ready chan struct{}
	tip   cut        // the newest frame, as the end of a cut
	redo  []*segment // segments whose key index is to be made anew
	asked []request
	gaps  map[int64]error // segments whose keys could not be read from the log
	err   error           // why a run cannot be written at the moment

	indexed, keysOn atomic.Int64 // durable in both indexes, for the checkpoint
}

// cut is a range of the log that makes a run: it lies in one segment and ends
// with a frame.
type cut struct {
	seg      *segment
	from, to int64
	last     frameRef
}

// segmentIndex is what the indexes keep of one segment.
type segmentIndex struct {
	queue *indexFile // nil before the first run
	key   *keyFile
}

const (
	maxCuts     = 6
	maxRunUnits = 128 << 10
)

func newIndexer(c *core) *indexer {
	return &indexer{
		c: c, reader: logReader{segs: c.segs, files: c.files},
		wake:  make(chan struct{}, 1),
		files: map[int64]*segmentIndex{}, gaps: map[int64]error{}, ready: make(chan struct{}),
	}
}

// touch notes that a queue has units in memory.
func (x *indexer) touch(q *queue) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.dirty = append(x.dirty, q)
}

// advance is told of each dispatched batch by the completer.
func (x *indexer) advance(b *batch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if b.retire != nil {
		x.cut(b.retire.segment, b.retire.end(), b.rolled)
	}
	x.units += len(b.units)
	if len(b.segs) == 0 || b.end.pos == x.from {
		poke(x.wake)
		return
	}
	x.tip = cut{seg: b.segs[len(b.segs)-1].segment, to: b.end.pos, last: b.last}
	if b.end.pos-x.from >= x.c.o.IndexEvery || x.units >= maxRunUnits {
		x.cut(x.tip.seg, x.tip.to, x.tip.last)
	}
	poke(x.wake)
}

// cut ends the run that is being collected. mu is held.
func (x *indexer) cut(g *segment, to int64, last frameRef) {
	if to > x.from {
		x.cuts = append(x.cuts, cut{seg: g, from: x.from, to: to, last: last})
	}
	x.from, x.units = to, 0
	x.stuck.Store(len(x.cuts) > maxCuts && x.err != nil)
}

func (x *indexer) run() {
	for {
		select {
		case <-x.wake:
			x.work()
		case <-x.c.stop:
			return
		}
	}
}

// work does all that is due.
func (x *indexer) work() {
	x.answer()
	for x.step() {
		x.answer()
	}
	x.redoKeys()
}

// finish writes what is left, when nothing else runs any more.
func (x *indexer) finish() {
	x.mu.Lock()
	if x.tip.to > x.from {
		x.cut(x.tip.seg, x.tip.to, x.tip.last)
	}
	x.mu.Unlock()
	x.work()
}

// step finds keys up to what is dispatched, and writes the runs of the next cut
// once its part of the log is durable.
func (x *indexer) step() bool {
	x.mu.RLock()
	due := len(x.cuts) > 0
	var ct cut
	if due {
		ct = x.cuts[0]
	}
	x.mu.RUnlock()
	// A cut is made after its messages are dispatched, so this reaches its end.
	if err := x.find(x.c.pos.dispatched.Load()); err != nil {
		x.fail(err)
		return false
	}
	if !due || x.c.pos.synced.Load() < ct.to {
		return false
	}
	if err := x.flush(ct); err != nil {
		x.fail(err)
		return false
	}
	x.mu.Lock()
	x.cuts = slices.Delete(x.cuts, 0, 1)
	x.err = nil
	x.stuck.Store(false)
	x.mu.Unlock()
	return true
}

func (x *indexer) fail(err error) {
	x.mu.Lock()
	first := x.err == nil
	x.err = err
	x.mu.Unlock()
	if first {
		x.c.o.Logger.Error("store: index cannot be written, trying again", "error", err)
	}
}

// find adds the keys of the log up to limit.
func (x *indexer) find(limit int64) error {
	for {
		at := x.keyed()
		if at >= limit {
			return nil
		}
		if g := x.c.segs.at(at); g == nil {
			return fmt.Errorf("index keys: no segment at %d", at)
		} else if err := x.findIn(g, at, min(limit, g.end())); err != nil {
			return err
		}
	}
}

// findIn adds the keys of a part of one segment, from memory as far as it goes.
func (x *indexer) findIn(g *segment, at, limit int64) error {
	keys := x.scratch[:0]
	defer func() { x.scratch = keys[:0] }()
	add := func(v msg.View, phys int64) error {
		keys = appendKeys(keys, v, phys)
		return nil
	}
	if c := x.c.tail.hold(at, 1); c != nil {
		end := min(c.end(), limit)
		err := eachRecord(c.mem[at-c.base:end-c.base], at, add)
		c.refs.Add(-1)
		if err == nil {
			x.found(keys, end)
		}
		return err
	}
	err := x.reader.segment(context.Background(), g, at, limit, func(s step) error { // bounded work of the indexer's own
		if s.bad != nil || s.frame.kind != frameBatch {
			return nil
		}
		return eachRecord(s.data, s.frame.start, add)
	})
	if err == nil {
		x.found(keys, limit)
	}
	return err
}

func (x *indexer) found(keys []keyRef, upTo int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.keys = append(x.keys, keys...)
	x.upTo = upTo
	close(x.ready)
	x.ready = make(chan struct{})
}

func (x *indexer) keyed() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.upTo
}

// waitKeyed waits until the keys of the log below pos are found.
func (x *indexer) waitKeyed(ctx context.Context, pos int64) error {
	for {
		x.mu.RLock()
		ok, ch, err := x.upTo >= pos && len(x.redo) == 0, x.ready, x.err
		x.mu.RUnlock()
		if ok {
			return nil
		}
		if err != nil {
			return fmt.Errorf("key index is behind: %w", err)
		}
		poke(x.wake)
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		case <-x.c.stop:
			return ErrClosed
		}
	}
}

// flush writes the runs of a cut to both indexes.
func (x *indexer) flush(ct cut) error {
	if err := x.flushQueues(ct); err != nil {
		return err
	}
	x.indexed.Store(ct.to)
	if err := x.flushKeys(ct); err != nil {
		return err
	}
	x.keysOn.Store(ct.to)
	if ct.to == ct.seg.end() {
		if err := x.merge(ct.seg); err != nil {
			x.c.o.Logger.Warn("store: index runs stay apart", "segment", segName(ct.seg.base), "error", err)
		}
	}
	return nil
}

// flushQueues moves the units below the cut from memory to a run.
func (x *indexer) flushQueues(ct cut) error {
	si := x.of(ct.seg.base)
	if si.queue != nil && si.queue.upTo >= ct.to {
		return nil // done before the keys failed
	}
	x.mu.RLock()
	queues := slices.Clone(x.dirty)
	x.mu.RUnlock()
	slices.SortFunc(queues, compareQueues)
	r := &x.builder
	r.reset(ct.from, ct.to, ct.last)
	for _, q := range queues {
		for _, e := range q.below(ct.to) {
			r.add(q, e)
		}
	}
	file, at, err := x.appendQueueRun(si, ct, r.bytes())
	if err != nil {
		return err
	}
	x.swap(len(queues), r.extents(file, at), ct.to)
	return nil
}

// swap makes queues read from the run what they had in memory. The n first of
// dirty took part; later ones have come since.
func (x *indexer) swap(n int, on map[*queue][]extent, below int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var still []*queue
	for _, q := range x.dirty[:n] {
		if q.written(on[q], below) {
			still = append(still, q)
		}
	}
	x.dirty = append(still, x.dirty[n:]...)
}

// appendQueueRun adds a run to the segment's file, which it makes if need be.
func (x *indexer) appendQueueRun(si *segmentIndex, ct cut, run []byte) (*indexFile, int64, error) {
	if si.queue == nil {
		path, err := x.create(queueDir, ct.seg.base, 0)
		if err != nil {
			return nil, 0, err
		}
		x.mu.Lock()
		si.queue = &indexFile{base: ct.seg.base, path: path, upTo: ct.seg.base}
		x.mu.Unlock()
	}
	f := si.queue
	if f.upTo != ct.from {
		return nil, 0, fmt.Errorf("index of segment %s ends at %d, run starts at %d", segName(f.base), f.upTo, ct.from)
	}
	err := writeRun(x.c.o.FS, f, run)
	if errors.Is(err, fs.ErrNotExist) {
		err = x.lost(si, ct)
		if err == nil {
			err = writeRun(x.c.o.FS, si.queue, run)
		}
		f = si.queue
	}
	if err != nil {
		return nil, 0, err
	}
	at := f.end
	x.mu.Lock()
	f.end += int64(len(run))
	f.upTo = ct.to
	f.runs++
	x.mu.Unlock()
	return f, at, nil
}

// lost makes a file anew that somebody has removed, up to the cut.
func (x *indexer) lost(si *segmentIndex, ct cut) error {
	x.c.o.Logger.Warn("store: queue index file is gone, rebuilding", "file", si.queue.path)
	return x.rebuildQueues(context.Background(), ct.seg, ct.from) // bounded work of the indexer's own
}

// of returns the files of a segment.
func (x *indexer) of(base int64) *segmentIndex {
	x.mu.Lock()
	defer x.mu.Unlock()
	si := x.files[base]
	if si == nil {
		si = &segmentIndex{}
		x.files[base] = si
	}
	return si
}

// create makes an empty index file with a durable name.
func (x *indexer) create(dir string, base int64, gen int) (string, error) {
	path := indexPath(x.c.segs.dir, dir, base, gen)
	f, err := x.c.o.FS.Create(path)
	if err != nil {
		return "", fmt.Errorf("create index: %w", err)
	}
	if err := f.Close(); err != nil {
		return "", fmt.Errorf("create index: %w", err)
	}
	if err := x.c.o.FS.SyncDir(x.c.segs.dir + "/" + dir); err != nil {
		return "", fmt.Errorf("sync index directory: %w", err)
	}
	return path, nil
}

func indexPath(root, dir string, base int64, gen int) string {
	return fmt.Sprintf("%s/%s/%s.%d", root, dir, segName(base), gen)
}
