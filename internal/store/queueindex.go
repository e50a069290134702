// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/orderlymq/orderly/internal/vfs"
)

// The queue index keeps, per log segment, a file of runs. A run covers a range
// of the log: a directory of extents (queue, first offset, count) and their
// units. Runs follow each other without a gap; the first that is not intact
// ends the file. Byte layout: docs/format/queueindex.md.
const (
	runMagic  = 0x4f515831 // "OQX1"
	runHeader = 96
	dirFixed  = 2 + 4 + 8 + 4 // without the topic
)

// runHead is the header of a run.
type runHead struct {
	length   int64 // of the whole run
	from, to int64 // log range covered
	last     frameRef
	entries  uint32
	dirLen   int64
	units    int64
	oldest   int64 // store times, ms; 0 without units
	newest   int64
	dirCRC   uint32
	unitCRC  uint32
}

// frameRef names the last frame of a range, so that an index that belongs to
// another log is told from one that is behind.
type frameRef struct {
	pos int64 // behind the segment
	crc uint32
}

func (h *runHead) encode(b []byte) {
	be := binary.BigEndian
	clear(b[:runHeader])
	be.PutUint32(b, runMagic)
	be.PutUint32(b[4:], runHeader)
	be.PutUint64(b[8:], uint64(h.length))
	be.PutUint64(b[16:], uint64(h.from))
	be.PutUint64(b[24:], uint64(h.to))
	be.PutUint32(b[32:], h.last.crc)
	be.PutUint32(b[36:], h.entries)
	be.PutUint64(b[40:], uint64(h.dirLen))
	be.PutUint64(b[48:], uint64(h.units))
	be.PutUint64(b[56:], uint64(h.oldest))
	be.PutUint64(b[64:], uint64(h.newest))
	be.PutUint64(b[72:], uint64(h.last.pos))
	be.PutUint32(b[80:], h.dirCRC)
	be.PutUint32(b[84:], h.unitCRC)
	be.PutUint32(b[runHeader-4:], crcOf(b[:runHeader-4]))
}

func decodeRunHead(b []byte) (h runHead, ok bool) {
	be := binary.BigEndian
	if len(b) < runHeader || be.Uint32(b) != runMagic || be.Uint32(b[4:]) != runHeader ||
		be.Uint32(b[runHeader-4:]) != crcOf(b[:runHeader-4]) {
		return h, false
	}
	h = runHead{
		length:  int64(be.Uint64(b[8:])),
		from:    int64(be.Uint64(b[16:])),
		to:      int64(be.Uint64(b[24:])),
		last:    frameRef{crc: be.Uint32(b[32:]), pos: int64(be.Uint64(b[72:]))},
		entries: be.Uint32(b[36:]),
		dirLen:  int64(be.Uint64(b[40:])),
		units:   int64(be.Uint64(b[48:])),
		oldest:  int64(be.Uint64(b[56:])),
		newest:  int64(be.Uint64(b[64:])),
		dirCRC:  be.Uint32(b[80:]),
		unitCRC: be.Uint32(b[84:]),
	}
	ok = h.from >= 0 && h.from < h.to && h.dirLen >= 0 && h.units >= 0 && h.last.pos >= 0 &&
		h.dirLen <= maxRun && h.units <= maxRun/unitSize &&
		h.length == runHeader+h.dirLen+h.units*unitSize
	return h, ok
}

// maxRun bounds what a damaged length can make us read.
const maxRun = 8 << 30

// dirEntry is one extent of a run's directory.
type dirEntry struct {
	topic []byte
	id    int32
	base  int64
	count uint32
}

func appendDirEntry(b []byte, topic string, id int32, base int64, count uint32) []byte {
	be := binary.BigEndian
	b = be.AppendUint16(b, uint16(len(topic)))
	b = append(b, topic...)
	b = be.AppendUint32(b, uint32(id))
	b = be.AppendUint64(b, uint64(base))
	return be.AppendUint32(b, count)
}

var errRunDir = errors.New("directory of an index run is malformed")

// decodeDir calls fn for every entry of a directory, with the position of its
// first unit relative to the units.
func decodeDir(b []byte, h *runHead, fn func(e dirEntry, at int64) error) error {
	be := binary.BigEndian
	at := int64(0)
	for range h.entries {
		if len(b) < dirFixed || len(b) < dirFixed+int(be.Uint16(b)) {
			return errRunDir
		}
		n := int(be.Uint16(b))
		r := b[2+n:]
		e := dirEntry{topic: b[2 : 2+n], id: int32(be.Uint32(r)), base: int64(be.Uint64(r[4:])), count: be.Uint32(r[12:])}
		if e.base < 0 || e.count == 0 || at+int64(e.count) > h.units {
			return errRunDir
		}
		if err := fn(e, at*unitSize); err != nil {
			return err
		}
		at += int64(e.count)
		b = r[16:]
	}
	if len(b) != 0 || at != h.units {
		return errRunDir
	}
	return nil
}

// indexFile is one file of the queue index. A file with the same base and a
// higher gen replaces it.
type indexFile struct {
	base int64
	gen  int
	path string
	end  int64 // where the next run goes
	upTo int64 // log position the runs reach
	runs int
}

// runBuilder collects what goes into one run. It can be used again, which keeps
// its memory.
type runBuilder struct {
	head  runHead
	dir   []byte
	units []byte
	seen  []placed
	whole []byte
}

// placed is an extent of a run, for the queue it belongs to.
type placed struct {
	q    *queue
	base int64
	n    int64
}

func (r *runBuilder) reset(from, to int64, last frameRef) {
	clear(r.seen)
	*r = runBuilder{
		head: runHead{from: from, to: to, last: last},
		dir:  r.dir[:0], units: r.units[:0], seen: r.seen[:0], whole: r.whole[:0],
	}
}

// add appends an extent; extents of a queue come one after the other.
func (r *runBuilder) add(q *queue, e memExtent) {
	if n := len(r.seen); n > 0 && r.seen[n-1].q == q && r.seen[n-1].base+r.seen[n-1].n == e.base {
		r.seen[n-1].n += int64(len(e.units))
	} else {
		r.seen = append(r.seen, placed{q: q, base: e.base, n: int64(len(e.units))})
	}
	at := len(r.units)
	r.units = slices.Grow(r.units, len(e.units)*unitSize)[:at+len(e.units)*unitSize]
	for i := range e.units {
		u := &e.units[i]
		if r.head.oldest == 0 || u.stamp < r.head.oldest {
			r.head.oldest = u.stamp
		}
		r.head.newest = max(r.head.newest, u.stamp)
		u.encode(r.units[at+i*unitSize:], e.base+int64(i))
	}
}

// bytes returns the finished run, valid until the builder is used again.
func (r *runBuilder) bytes() []byte {
	for _, p := range r.seen {
		r.dir = appendDirEntry(r.dir, p.q.topic, p.q.id, p.base, uint32(p.n))
	}
	h := &r.head
	h.entries = uint32(len(r.seen))
	h.dirLen, h.units = int64(len(r.dir)), int64(len(r.units))/unitSize
	h.length = runHeader + h.dirLen + int64(len(r.units))
	h.dirCRC, h.unitCRC = crcOf(r.dir), crcOf(r.units)
	r.whole = slices.Grow(r.whole, int(h.length))[:runHeader]
	h.encode(r.whole)
	r.whole = append(append(r.whole, r.dir...), r.units...)
	return r.whole
}

// extents returns where a run written at pos of the file has put its units.
func (r *runBuilder) extents(file *indexFile, pos int64) map[*queue][]extent {
	out := make(map[*queue][]extent, len(r.seen))
	at := pos + runHeader + int64(len(r.dir))
	for _, p := range r.seen {
		out[p.q] = append(out[p.q], extent{base: p.base, pos: at, count: p.n, file: file})
		at += p.n * unitSize
	}
	return out
}

// readRun reads the header and directory at pos. ok is false if there is no
// intact run.
func readRun(f io.ReaderAt, pos int64) (h runHead, dir []byte, ok bool, err error) {
	b := make([]byte, runHeader)
	if n, err := f.ReadAt(b, pos); n < runHeader {
		if err == nil || errors.Is(err, io.EOF) {
			return h, nil, false, nil
		}
		return h, nil, false, fmt.Errorf("read index: %w", err)
	}
	if h, ok = decodeRunHead(b); !ok {
		return h, nil, false, nil
	}
	dir, ok, err = readPart(f, pos+runHeader, h.dirLen)
	return h, dir, ok && crcOf(dir) == h.dirCRC, err
}

// readPart reads n bytes; ok is false if the file has fewer. It does not trust
// n with memory before it has seen that the file is that long.
func readPart(f io.ReaderAt, pos, n int64) (b []byte, ok bool, err error) {
	if n == 0 {
		return nil, true, nil
	}
	var one [1]byte
	if _, err := f.ReadAt(one[:], pos+n-1); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("read index: %w", err)
	}
	b = make([]byte, n)
	if got, err := f.ReadAt(b, pos); int64(got) < n {
		return nil, false, fmt.Errorf("read index: %w", err)
	}
	return b, true, nil
}

// writeRun appends a finished run to the file and syncs it.
func writeRun(fsys vfs.FS, file *indexFile, run []byte) error {
	f, err := fsys.OpenRW(file.path)
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	defer f.Close()
	if _, err := f.WriteAt(run, file.end); err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	if err := f.SyncData(); err != nil {
		return fmt.Errorf("sync index: %w", err)
	}
	return nil
}
