// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/orderlymq/orderly/internal/vfs"
)

// piece is an extent of a file that is being merged.
type piece struct {
	topic string
	id    int32
	base  int64
	count int64
	pos   int64 // of the first unit in the old file
}

func comparePieces(a, b piece) int {
	return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.id, b.id), cmp.Compare(a.base, b.base))
}

// merge makes one run of all runs of a full segment, so that a queue needs one
// extent a segment, however slowly it fills.
func (x *indexer) merge(g *segment) error {
	si := x.of(g.base)
	old := si.queue
	if old == nil || old.runs < 2 {
		return nil
	}
	h, err := x.c.files.get(old.path)
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	defer x.c.files.put(h)
	head, pieces, err := collectPieces(h.f, old)
	if err != nil {
		return err
	}
	slices.SortFunc(pieces, comparePieces)
	f := &indexFile{base: g.base, gen: old.gen + 1, upTo: g.end(), runs: 1}
	f.path = indexPath(x.c.segs.dir, queueDir, g.base, f.gen)
	on, err := x.writeMerged(f, head, pieces, h.f)
	if err != nil {
		return err
	}
	x.install(si, f, on)
	return nil
}

// collectPieces reads the directories of all runs.
func collectPieces(f io.ReaderAt, file *indexFile) (runHead, []piece, error) {
	var all runHead
	var pieces []piece
	for pos := int64(0); pos < file.end; {
		h, dir, ok, err := readRun(f, pos)
		if err != nil || !ok {
			return all, nil, fmt.Errorf("run at %d of %s cannot be read: %w", pos, file.path, cmp.Or(err, errRunDir))
		}
		if pos == 0 {
			all.from, all.oldest = h.from, h.oldest
		}
		if all.oldest == 0 {
			all.oldest = h.oldest
		}
		all.to, all.last, all.newest = h.to, h.last, max(all.newest, h.newest)
		units := pos + runHeader + h.dirLen
		err = decodeDir(dir, &h, func(e dirEntry, at int64) error {
			pieces = append(pieces, piece{string(e.topic), e.id, e.base, int64(e.count), units + at})
			return nil
		})
		if err != nil {
			return all, nil, err
		}
		pos += h.length
	}
	return all, pieces, nil
}

// writeMerged writes the new file under a passing name, makes it durable and
// gives it its own.
func (x *indexer) writeMerged(file *indexFile, head runHead, pieces []piece, old io.ReaderAt) (map[*queue][]extent, error) {
	fsys := x.c.o.FS
	tmp := file.path + tmpSuffix
	f, err := fsys.Create(tmp)
	if err != nil {
		return nil, fmt.Errorf("create index: %w", err)
	}
	on, err := x.copyPieces(f, file, head, pieces, old)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = fsys.Rename(tmp, file.path)
	}
	if err == nil {
		err = fsys.SyncDir(x.c.segs.dir + "/" + queueDir)
	}
	if err != nil {
		return nil, fmt.Errorf("merge index: %w", err)
	}
	return on, nil
}

const tmpSuffix = ".tmp"

// copyPieces writes the merged run. Units are copied as they are: their check
// sums hold for the queue offset, not for the place in a file.
func (x *indexer) copyPieces(f vfs.File, file *indexFile, head runHead, pieces []piece, old io.ReaderAt) (map[*queue][]extent, error) {
	var dir []byte
	on := map[*queue][]extent{}
	for i, p := range pieces {
		q := x.c.queues.make(p.topic, p.id)
		e := extent{base: p.base, count: p.count, file: file, pos: head.units * unitSize}
		if l := on[q]; len(l) > 0 && l[len(l)-1].end() == p.base {
			l[len(l)-1].count += p.count
		} else {
			on[q] = append(l, e)
		}
		head.units += p.count
		if i+1 == len(pieces) || x.c.queues.make(pieces[i+1].topic, pieces[i+1].id) != q {
			for _, e := range on[q] {
				dir = appendDirEntry(dir, p.topic, p.id, e.base, uint32(e.count))
				head.entries++
			}
		}
	}
	at := int64(runHeader + len(dir))
	for _, l := range on {
		for i := range l {
			l[i].pos += at
		}
	}
	w := &crcWriter{f: f, at: at}
	for _, p := range pieces {
		if _, err := io.Copy(w, io.NewSectionReader(old, p.pos, p.count*unitSize)); err != nil {
			return nil, err
		}
	}
	if w.at != at+head.units*unitSize {
		return nil, io.ErrUnexpectedEOF
	}
	head.dirLen, head.dirCRC, head.unitCRC = int64(len(dir)), crcOf(dir), w.sum
	head.length = w.at
	file.end = w.at
	b := make([]byte, runHeader)
	head.encode(b)
	_, err := f.WriteAt(bytes.Join([][]byte{b, dir}, nil), 0)
	return on, err
}

// crcWriter writes to a file from a place on, with the check sum of what it wrote.
type crcWriter struct {
	f   vfs.File
	at  int64
	sum uint32
}

func (w *crcWriter) Write(b []byte) (int, error) {
	n, err := w.f.WriteAt(b, w.at)
	w.at += int64(n)
	w.sum = crcUpdate(w.sum, b[:n])
	return n, err
}
