// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/orderlymq/orderly/internal/vfs"
)

// The floors file keeps what the log cannot tell: offsets that a queue must not
// give out again although no message shows it. It is a journal of groups; a
// group is durable before what it stands for is done. Byte layout:
// docs/format/floors.md.
type floorsFile struct {
	fs  vfs.FS
	dir string

	mu  sync.Mutex // serialises writers; guards the rest
	f   vfs.File
	end int64
}

type floorKind uint8

const (
	// floorNext: the queue's next offset is at least value, always.
	floorNext floorKind = 1
	// floorMark: the same, if unsynced messages may have been lost.
	floorMark floorKind = 2
	// floorDrop: messages below value were dropped; next is at least value.
	floorDrop floorKind = 3
)

type floorEntry struct {
	kind  floorKind
	topic string
	id    int32
	value int64
}

const (
	floorsName  = "floors"
	floorsMagic = 0x4f464c31 // "OFL1"
	floorsHead  = 16
	floorsAlign = 16
	maxFloors   = 64 * mib
)

func appendFloorGroup(b []byte, entries []floorEntry) []byte {
	be := binary.BigEndian
	at := len(b)
	b = append(b, make([]byte, floorsHead)...)
	for _, e := range entries {
		b = append(b, byte(e.kind))
		b = be.AppendUint16(b, uint16(len(e.topic)))
		b = append(b, e.topic...)
		b = be.AppendUint32(b, uint32(e.id))
		b = be.AppendUint64(b, uint64(e.value))
	}
	for (len(b)-at)%floorsAlign != 0 {
		b = append(b, 0)
	}
	g := b[at:]
	be.PutUint32(g, floorsMagic)
	be.PutUint32(g[4:], uint32(len(g)))
	be.PutUint32(g[8:], uint32(len(entries)))
	be.PutUint32(g[12:], crcUpdate(crcOf(g[:12]), g[floorsHead:]))
	return b
}

// decodeFloorGroup reads the group at the start of b; n is its length, 0 if
// there is no intact one.
func decodeFloorGroup(b []byte) (entries []floorEntry, n int) {
	be := binary.BigEndian
	if len(b) < floorsHead || be.Uint32(b) != floorsMagic {
		return nil, 0
	}
	n = int(be.Uint32(b[4:]))
	if n < floorsHead || n > len(b) || be.Uint32(b[12:]) != crcUpdate(crcOf(b[:12]), b[floorsHead:n]) {
		return nil, 0
	}
	r := b[floorsHead:n]
	for range be.Uint32(b[8:]) {
		if len(r) < 3 {
			return nil, 0
		}
		t := int(be.Uint16(r[1:]))
		if len(r) < 3+t+12 {
			return nil, 0
		}
		e := floorEntry{kind: floorKind(r[0]), topic: string(r[3 : 3+t])}
		e.id = int32(be.Uint32(r[3+t:]))
		e.value = int64(be.Uint64(r[7+t:]))
		r = r[15+t:]
		if e.value < 0 || e.id < 0 {
			return nil, 0
		}
		entries = append(entries, e)
	}
	return entries, n
}

// readFloors returns all entries in order and where the intact part ends. Below
// synced, which the checkpoint vouches for, everything must be intact.
func readFloors(fsys vfs.FS, dir string, synced int64) (entries []floorEntry, end int64, err error) {
	path := dir + "/" + floorsName
	f, err := fsys.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if synced > 0 {
			return nil, 0, &DamagedError{File: path, Reason: "the file is missing"}
		}
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open floors: %w", err)
	}
	defer f.Close()
	b, err := readAll(f, maxFloors)
	if err != nil {
		return nil, 0, fmt.Errorf("read floors: %w", err)
	}
	for {
		e, n := decodeFloorGroup(b[end:])
		if n == 0 {
			break
		}
		entries = append(entries, e...)
		end += int64(n)
	}
	if end < synced {
		return entries, end, &DamagedError{File: path, Reason: fmt.Sprintf("bytes from %d on cannot be read", end)}
	}
	return entries, end, nil
}

// readAll reads a file that must not be longer than limit.
func readAll(f vfs.File, limit int64) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than %d: not a file of this store", f.Name(), size, limit)
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b[:n], nil
}

// openFloors writes the file anew with the given entries, durable, and opens it
// for more.
func openFloors(fsys vfs.FS, dir string, entries []floorEntry) (*floorsFile, error) {
	path := dir + "/" + floorsName
	var b []byte
	if len(entries) > 0 {
		b = appendFloorGroup(nil, entries)
	}
	f, err := fsys.Create(path + tmpSuffix)
	if err != nil {
		return nil, fmt.Errorf("create floors: %w", err)
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = fsys.Rename(path+tmpSuffix, path)
	}
	if err == nil {
		err = fsys.SyncDir(dir)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("write floors: %w", err)
	}
	return &floorsFile{fs: fsys, dir: dir, f: f, end: int64(len(b))}, nil
}

// add makes entries durable.
func (l *floorsFile) add(entries []floorEntry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := appendFloorGroup(nil, entries)
	if _, err := l.f.WriteAt(b, l.end); err != nil {
		return fmt.Errorf("write floors: %w", err)
	}
	if err := l.f.SyncData(); err != nil {
		return fmt.Errorf("sync floors: %w", err)
	}
	l.end += int64(len(b))
	return nil
}

// length is how much of the file is durable.
func (l *floorsFile) length() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

func (l *floorsFile) close() error { return l.f.Close() }

const (
	firstMark = 1 << 10
	maxMark   = 1 << 20
)

// reserveMarks makes sure, in Async mode, that a power cut cannot make the
// offsets of this batch be given to other messages: before offsets beyond a
// queue's mark are used, a further mark is made durable.
func (w *writer) reserveMarks(b *batch) error {
	if w.c.o.Mode != Async {
		return nil
	}
	w.marks = w.marks[:0]
	total := int64(0)
	for _, a := range b.appends {
		total += int64(len(a.prep))
	}
	for _, a := range b.appends {
		for i := range a.prep {
			if v := a.prep[i].q.wantMark(total); v > 0 {
				w.marks = append(w.marks, floorEntry{floorMark, a.prep[i].q.topic, a.prep[i].q.id, v})
			}
		}
	}
	if len(w.marks) == 0 {
		return nil
	}
	if err := w.c.floors.add(w.marks); err != nil {
		if diskFull(err) {
			w.undoMarks(b)
			return fmt.Errorf("%w (%w)", ErrDiskFull, err)
		}
		w.c.fence(err)
		return w.c.fenceErr(false)
	}
	return nil
}

// wantMark returns a new mark if the batch may need offsets beyond the old one.
// No queue can need more than the total of the batch, so nothing is counted.
func (q *queue) wantMark(total int64) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	need := q.next + total
	if need <= q.mark {
		return 0
	}
	step := min(max(q.next-q.min, firstMark), maxMark)
	q.mark = need + step
	return q.mark
}

// undoMarks takes back marks that were not made durable.
func (w *writer) undoMarks(b *batch) {
	for _, a := range b.appends {
		for i := range a.prep {
			q := a.prep[i].q
			q.mu.Lock()
			q.mark = 0
			q.mu.Unlock()
		}
	}
}

// rewrite replaces the file by one with what entries returns, which is asked
// while nobody can add.
func (l *floorsFile) rewrite(entries func() []floorEntry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := openFloors(l.fs, l.dir, entries())
	if err != nil {
		return err
	}
	l.f.Close()
	l.f, l.end = n.f, n.end
	return nil
}
