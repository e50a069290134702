// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/vfs"
)

// loader brings the indexes back at a start: from their files as far as those
// are intact and belong to this log, from the log otherwise.
type loader struct {
	c    *core
	r    *recovery
	seen []floorEntry // from indexes that are void
}

func (l *loader) load(ctx context.Context) error {
	x := l.c.index
	queueFiles, err := l.list(queueDir)
	if err != nil {
		return err
	}
	keyFiles, err := l.list(keyDir)
	if err != nil {
		return err
	}
	end := l.r.end.pos
	x.indexed.Store(end)
	x.keysOn.Store(end)
	x.upTo, x.from = end, end
	for i, g := range l.c.segs.list {
		last := i+1 == len(l.c.segs.list)
		if err := l.queueSegment(ctx, g, queueFiles[g.base], last); err != nil {
			return fmt.Errorf("load queue index: %w", err)
		}
		if err := l.keySegment(g, keyFiles[g.base], last); err != nil {
			return fmt.Errorf("load key index: %w", err)
		}
	}
	l.afterRepair()
	return nil
}

// list finds the index files by segment, newest first, and removes those that
// belong to none.
func (l *loader) list(dir string) (map[int64][]*indexFile, error) {
	names, err := l.c.o.FS.List(l.c.segs.dir + "/" + dir)
	if err != nil {
		return nil, fmt.Errorf("list index: %w", err)
	}
	out := map[int64][]*indexFile{}
	for _, n := range names {
		path := l.c.segs.dir + "/" + dir + "/" + n
		base, gen, ok := parseIndexName(n)
		g := l.c.segs.at(base)
		if g != nil && l.r.redo[base] && dir == queueDir {
			if err := l.remember(path); err != nil {
				return nil, err
			}
		}
		if !ok || g == nil || g.base != base || l.r.redo[base] {
			l.c.index.remove(path)
			continue
		}
		out[base] = append(out[base], &indexFile{base: base, gen: gen, path: path, upTo: base})
	}
	for _, f := range out {
		slices.SortFunc(f, func(a, b *indexFile) int { return b.gen - a.gen })
	}
	return out, nil
}

// remember keeps, of an index that a repair has made void, where its queues
// went on: numbers of messages that were lost are not given out again.
func (l *loader) remember(path string) error {
	f, err := l.c.o.FS.Open(path)
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	defer f.Close()
	for pos := int64(0); ; {
		h, dir, ok, err := readRun(f, pos)
		if err != nil || !ok {
			return err
		}
		err = decodeDir(dir, &h, func(e dirEntry, _ int64) error {
			l.seen = append(l.seen, floorEntry{floorNext, string(e.topic), e.id, e.base + int64(e.count)})
			return nil
		})
		if err != nil {
			return nil //nolint:nilerr // the rest of a damaged index says nothing
		}
		pos += h.length
	}
}

// afterRepair lifts queues over what repair has taken out of the log.
func (l *loader) afterRepair() {
	l.c.applyFloors(l.seen, false)
	for _, r := range l.r.repairs {
		for _, e := range r.next {
			q := l.c.queues.get(e.topic, e.id)
			// Damaged bytes may say anything: no more than fits the range.
			if q != nil && e.value-q.nextOffset() <= (r.To-r.From)/msg.MinRecordSize {
				q.raise(e.value)
			}
		}
	}
}

func parseIndexName(name string) (base int64, gen int, ok bool) {
	head, tail, found := strings.Cut(name, ".")
	if !found {
		return 0, 0, false
	}
	base, ok = parseSegName(head)
	gen, err := strconv.Atoi(tail)
	return base, gen, ok && err == nil && gen >= 0
}

// loaded is an extent found in a run.
type loaded struct {
	q *queue
	e extent
}

// queueSegment loads the queue index of one segment.
func (l *loader) queueSegment(ctx context.Context, g *segment, files []*indexFile, last bool) error {
	x := l.c.index
	best, on, err := l.best(g, files)
	if err != nil {
		return err
	}
	end := min(g.end(), l.r.end.pos)
	have := g.base
	if best != nil {
		have = best.upTo
	}
	if have < end && !last {
		l.c.o.Logger.Info("store: rebuilding queue index", "segment", segName(g.base))
		return l.rebuild(ctx, g, best)
	}
	if best != nil {
		x.files[g.base] = &segmentIndex{queue: best}
		for _, f := range on {
			f.q.load(f.e)
		}
	}
	if have < end {
		return l.replay(ctx, g, have, end)
	}
	return nil
}

// rebuild makes the queue index of a full segment from the log.
func (l *loader) rebuild(ctx context.Context, g *segment, old *indexFile) error {
	x := l.c.index
	f, on, err := x.scanQueues(ctx, g, g.end(), old)
	if err != nil {
		return err
	}
	x.files[g.base] = &segmentIndex{queue: f}
	for q, l := range on {
		for _, e := range l {
			q.load(e)
		}
	}
	if old != nil {
		x.remove(old.path)
	}
	return nil
}

// best loads the file that reaches farthest and removes the others.
func (l *loader) best(g *segment, files []*indexFile) (best *indexFile, on []loaded, err error) {
	for _, f := range files {
		got, err := l.runs(g, f)
		if err != nil {
			return nil, nil, err
		}
		if f.upTo > g.base && (best == nil || f.upTo > best.upTo) {
			best, on = f, got
		}
	}
	for _, f := range files {
		if f != best {
			l.c.index.remove(f.path)
		}
	}
	return best, on, nil
}

// runs reads the intact runs of a file; what follows them is cut off, so that
// it cannot be taken for a run later.
func (l *loader) runs(g *segment, file *indexFile) ([]loaded, error) {
	f, err := l.c.o.FS.OpenRW(file.path)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	defer f.Close()
	var on []loaded
	for {
		h, dir, ok, err := readRun(f, file.end)
		if err != nil {
			return nil, err
		}
		if !ok || !l.fits(g, file, h.from, h.to, h.last) || !l.unitsIntact(f, file.end, &h) {
			break
		}
		at := file.end + runHeader + h.dirLen
		n := len(on)
		err = decodeDir(dir, &h, func(e dirEntry, pos int64) error {
			q := l.c.queues.make(string(e.topic), e.id)
			on = append(on, loaded{q, extent{base: e.base, count: int64(e.count), pos: at + pos, file: file}})
			return nil
		})
		if err != nil {
			on = on[:n]
			break
		}
		g.newest.Store(max(g.newest.Load(), h.newest))
		file.end += h.length
		file.upTo = h.to
		file.runs++
	}
	if size, err := f.Size(); err == nil && size > file.end {
		if err := f.Truncate(file.end); err != nil {
			return nil, fmt.Errorf("cut index: %w", err)
		}
	}
	return on, nil
}

// fits reports whether a run continues the file and belongs to this log.
func (l *loader) fits(g *segment, file *indexFile, from, to int64, last frameRef) bool {
	return from == file.upTo && to <= g.end() && to <= l.r.end.pos && l.sameFrame(g, to, last)
}

// sameFrame compares the frame that ends at a place with the one the index saw.
func (l *loader) sameFrame(g *segment, end int64, ref frameRef) bool {
	var slot [slotSize]byte
	if _, err := l.c.files.readAt(l.c.segs.logPath(g.base), slot[:], g.size+ref.pos); err != nil {
		return false
	}
	f, ok := decodeFrame(slot[:])
	return ok && f.end() == end && f.dataCRC == ref.crc
}

// unitsIntact checks the units of a run that no checkpoint vouches for. The
// others are checked one by one when they are read.
func (l *loader) unitsIntact(f io.ReaderAt, pos int64, h *runHead) bool {
	if l.r.hasCk && h.to <= l.r.ck.indexed {
		_, ok, err := readPart(f, pos+h.length-1, 1)
		return err == nil && ok
	}
	units := io.NewSectionReader(f, pos+runHeader+h.dirLen, h.units*unitSize)
	w := &crcSum{}
	n, err := io.Copy(w, units)
	return err == nil && n == h.units*unitSize && w.sum == h.unitCRC
}

type crcSum struct{ sum uint32 }

func (w *crcSum) Write(b []byte) (int, error) {
	w.sum = crcUpdate(w.sum, b)
	return len(b), nil
}

// load adds an extent from a file to a queue that is being opened.
func (q *queue) load(e extent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.disk) == 0 && len(q.mem) == 0 {
		q.min = e.base
	}
	q.disk = append(q.disk, e)
	q.max = max(q.max, e.end())
	q.next = max(q.next, q.max)
}

// replay reads what no run holds from the log, and writes runs of what is more
// than one run's worth.
func (l *loader) replay(ctx context.Context, g *segment, from, to int64) error {
	x := l.c.index
	x.from = from
	x.indexed.Store(from)
	rd := logReader{segs: l.c.segs, files: l.c.files}
	return rd.segment(ctx, g, from, to, func(s step) error {
		if s.bad != nil {
			return s.bad
		}
		if s.frame.kind == frameBatch {
			if err := eachRecord(s.data, s.frame.start, l.push); err != nil {
				return err
			}
		}
		x.tip = cut{seg: g, to: s.frame.end(), last: s.ref}
		if end := s.frame.end(); end-x.from >= l.c.o.IndexEvery || end == g.end() {
			ct := cut{seg: g, from: x.from, to: end, last: s.ref}
			if err := x.flushQueues(ct); err != nil {
				return err
			}
			x.from = end
			x.indexed.Store(end)
		}
		return nil
	})
}

func (l *loader) push(v msg.View, phys int64) error {
	if !isIndexed(v.SysFlag()) {
		return nil
	}
	q := l.c.queues.get(string(v.Topic()), v.QueueID())
	if q == nil {
		q = l.c.queues.make(string(v.Topic()), v.QueueID())
	}
	if q.push(v.QueueOffset(), unitOf(v, phys)) {
		l.c.index.touch(q)
	}
	return nil
}

// keySegment loads the key index of one segment. What is missing is done by
// the indexer later.
func (l *loader) keySegment(g *segment, files []*indexFile, last bool) error {
	x := l.c.index
	var best *keyFile
	for _, f := range files {
		k, err := l.keyRuns(g, f)
		if err != nil {
			return err
		}
		if k.upTo > g.base && (best == nil || k.upTo > best.upTo) {
			best = k
		}
	}
	for _, f := range files {
		if best == nil || f.path != best.path {
			x.remove(f.path)
		}
	}
	have := g.base
	if best != nil {
		have = best.upTo
		si := x.files[g.base]
		if si == nil {
			si = &segmentIndex{}
			x.files[g.base] = si
		}
		si.key = best
	}
	end := min(g.end(), l.r.end.pos)
	if have >= end {
		return nil
	}
	if !last || end == g.end() {
		x.redo = append(x.redo, g)
		return nil
	}
	x.upTo = have
	x.keysOn.Store(have)
	return nil
}

func (l *loader) keyRuns(g *segment, file *indexFile) (*keyFile, error) {
	k := &keyFile{base: file.base, gen: file.gen, path: file.path, upTo: file.base}
	f, err := l.c.o.FS.OpenRW(file.path)
	if err != nil {
		return nil, fmt.Errorf("open key index: %w", err)
	}
	defer f.Close()
	for {
		var b [keyHeader]byte
		if _, err := f.ReadAt(b[:], k.end); err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, fmt.Errorf("read key index: %w", err)
		}
		h, ok := decodeKeyHead(b[:])
		if !ok || !l.fits(g, file, h.from, h.to, h.last) || !l.blocksIntact(f, k.end, &h) {
			break
		}
		k.runs = append(k.runs, keyRun{pos: k.end, head: h})
		k.end += h.length
		k.upTo, file.upTo = h.to, h.to
	}
	return k, cutFile(f, k.end)
}

func cutFile(f vfs.File, end int64) error {
	if size, err := f.Size(); err == nil && size > end {
		if err := f.Truncate(end); err != nil {
			return fmt.Errorf("cut index: %w", err)
		}
	}
	return nil
}

// blocksIntact checks the blocks of a run that no checkpoint vouches for.
func (l *loader) blocksIntact(f io.ReaderAt, pos int64, h *keyHead) bool {
	if l.r.hasCk && h.to <= l.r.ck.keyed {
		return true
	}
	b := make([]byte, keyBlock)
	var keys []keyRef
	for at := pos + keyHeader; at < pos+h.length; at += keyBlock {
		if _, err := f.ReadAt(b, at); err != nil {
			return false
		}
		var ok bool
		if keys, ok = decodeKeyBlock(keys[:0], b); !ok {
			return false
		}
	}
	return true
}
