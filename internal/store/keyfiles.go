// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sort"

	"github.com/orderlymq/orderly/internal/msg"
)

// keyFile is one file of the key index.
type keyFile struct {
	base int64
	gen  int
	path string
	end  int64
	upTo int64
	runs []keyRun
}

// flushKeys moves the keys below the cut from memory to a run.
func (x *indexer) flushKeys(ct cut) error {
	si := x.of(ct.seg.base)
	if si.key != nil && si.key.upTo >= ct.to {
		x.dropKeys(ct.to)
		return nil
	}
	x.mu.RLock()
	if si.key != nil {
		ct.from = si.key.upTo // the key index may be behind the other
	} else {
		ct.from = ct.seg.base
	}
	n := sort.Search(len(x.keys), func(i int) bool { return x.keys[i].phys >= ct.to })
	keys := append(x.scratch[:0], x.keys[:n]...)
	x.mu.RUnlock()
	run := encodeKeyRun(ct.from, ct.to, ct.last, keys)
	x.scratch = keys[:0]
	err := x.appendKeyRun(si, ct, run)
	if errors.Is(err, fs.ErrNotExist) {
		x.c.o.Logger.Warn("store: key index file is gone, rebuilding", "file", si.key.path)
		err = x.rebuildKeys(context.Background(), ct.seg, ct.from) // bounded work of the indexer's own
		if err == nil {
			err = x.appendKeyRun(si, ct, run)
		}
	}
	if err == nil {
		x.dropKeys(ct.to)
	}
	return err
}

// dropKeys forgets the keys in memory that are in runs.
func (x *indexer) dropKeys(to int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := sort.Search(len(x.keys), func(i int) bool { return x.keys[i].phys >= to })
	left := copy(x.keys, x.keys[n:])
	x.keys = x.keys[:left]
}

func (x *indexer) appendKeyRun(si *segmentIndex, ct cut, run []byte) error {
	if si.key == nil {
		path, err := x.create(keyDir, ct.seg.base, 0)
		if err != nil {
			return err
		}
		x.mu.Lock()
		si.key = &keyFile{base: ct.seg.base, path: path, upTo: ct.seg.base}
		x.mu.Unlock()
	}
	f := si.key
	if f.upTo != ct.from {
		return fmt.Errorf("key index of segment %s ends at %d, run starts at %d", segName(f.base), f.upTo, ct.from)
	}
	if err := writeRun(x.c.o.FS, &indexFile{path: f.path, end: f.end}, run); err != nil {
		return err
	}
	head, _ := decodeKeyHead(run)
	x.mu.Lock()
	defer x.mu.Unlock()
	f.runs = append(f.runs, keyRun{pos: f.end, head: head})
	f.end += int64(len(run))
	f.upTo = ct.to
	return nil
}

// search returns the places of a hash, newest first, from memory and all files.
func (x *indexer) search(hash uint64, from int64) ([]int64, error) {
	type source struct {
		f    *keyFile
		runs []keyRun
		path string
	}
	var found []int64
	var from2 []source
	x.mu.RLock()
	for base, err := range x.gaps {
		x.mu.RUnlock()
		return nil, fmt.Errorf("keys of segment %s are not known: %w", segName(base), err)
	}
	for _, k := range x.keys {
		if k.hash == hash {
			found = append(found, k.phys)
		}
	}
	for _, si := range x.files {
		if si.key != nil {
			from2 = append(from2, source{si.key, si.key.runs, si.key.path})
		}
	}
	x.mu.RUnlock()
	for _, s := range from2 {
		h, err := x.c.files.get(s.path)
		if err != nil {
			return nil, &keyFileError{s.f, fmt.Errorf("open key index: %w", err)}
		}
		for i := range s.runs {
			if found, err = s.runs[i].search(h.f, hash, found); err != nil {
				break
			}
		}
		x.c.files.put(h)
		if err != nil {
			return nil, &keyFileError{s.f, err}
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i] > found[j] })
	n := 0
	for i, p := range found {
		if p >= from && (i == 0 || p != found[i-1]) {
			found[n] = p
			n++
		}
	}
	return found[:n], nil
}

// keyFileError says that a file of the key index cannot be used.
type keyFileError struct {
	f   *keyFile
	err error
}

func (e *keyFileError) Error() string { return fmt.Sprintf("key index %s: %v", e.f.path, e.err) }
func (e *keyFileError) Unwrap() error { return e.err }

// rebuildKeys makes the segment's key file anew from the log, up to a frame
// boundary.
func (x *indexer) rebuildKeys(ctx context.Context, g *segment, to int64) error {
	si := x.of(g.base)
	f := &keyFile{base: g.base, upTo: g.base}
	if si.key != nil {
		f.gen = si.key.gen + 1
	}
	path, err := x.create(keyDir, g.base, f.gen)
	if err != nil {
		return err
	}
	f.path = path
	var keys []keyRef
	next := &segmentIndex{key: f}
	flush := func(upTo int64, last frameRef) error {
		run := encodeKeyRun(f.upTo, upTo, last, keys)
		keys = keys[:0]
		return x.appendKeyRun(next, cut{seg: g, from: f.upTo, to: upTo, last: last}, run)
	}
	err = x.eachFrame(ctx, g, to, x.c.o.IndexEvery, flush, func(v msg.View, phys int64) error {
		keys = appendKeys(keys, v, phys)
		return nil
	})
	if err != nil {
		return fmt.Errorf("rebuild key index: %w", err)
	}
	x.mu.Lock()
	old := si.key
	si.key = f
	x.mu.Unlock()
	if old != nil {
		x.remove(old.path)
	}
	return nil
}

// eachFrame reads a segment up to a place in the log and calls fn for each
// record and flush at least each `every` bytes and at the end, at frame
// boundaries.
func (x *indexer) eachFrame(ctx context.Context, g *segment, to, every int64,
	flush func(upTo int64, last frameRef) error, fn func(v msg.View, phys int64) error,
) error {
	r := logReader{segs: x.c.segs, files: x.c.files}
	from, end := g.base, g.base
	var last frameRef
	err := r.segment(ctx, g, g.base, to, func(s step) error {
		if s.bad != nil {
			return s.bad
		}
		if s.frame.kind == frameBatch {
			if err := eachRecord(s.data, s.frame.start, fn); err != nil {
				return err
			}
		}
		end, last = s.frame.end(), s.ref
		if end-from < every {
			return nil
		}
		from = end
		return flush(end, last)
	})
	if err == nil && end > from {
		err = flush(end, last)
	}
	return err
}

// remove deletes an index file that is no longer used. What stays is found and
// removed at the next start.
func (x *indexer) remove(path string) {
	x.c.files.drop(path)
	if err := x.c.o.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.c.o.Logger.Warn("store: old index file stays", "file", path, "error", err)
	}
}
