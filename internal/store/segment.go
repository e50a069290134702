// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/orderlymq/orderly/internal/vfs"
)

// Directories of a store. Nothing but log files lives in logDir, because
// RocketMQ refuses a directory that holds anything else.
const (
	logDir     = "commitlog"
	queueDir   = "queueindex"
	keyDir     = "keyindex"
	damagedDir = "damaged"
)

// segName is RocketMQ's name of the file that starts at base.
func segName(base int64) string { return fmt.Sprintf("%020d", base) }

// parseSegName reads a file name made by segName.
func parseSegName(name string) (int64, bool) {
	if len(name) != 20 {
		return 0, false
	}
	n, err := strconv.ParseInt(name, 10, 64)
	return n, err == nil && n >= 0
}

// segment is one file of the log: a part with records, which is a file of
// RocketMQ's, and behind it the frames.
type segment struct {
	base, size int64
	newest     atomic.Int64    // newest store time, ms; 0 if not known
	verified   []atomic.Uint64 // a bit per block whose frames were checked since the start
	checked    atomic.Int64    // of the block being written, what was checked
}

func newSegment(base, size int64) *segment {
	blocks := (size + blockSize - 1) / blockSize
	return &segment{base: base, size: size, verified: make([]atomic.Uint64, (blocks+63)/64)}
}

func (g *segment) end() int64 { return g.base + g.size }

// segments is the ordered list of what the log consists of.
type segments struct {
	dir  string
	size int64

	mu   sync.RWMutex
	list []*segment
}

func (l *segments) logPath(base int64) string { return l.dir + "/" + logDir + "/" + segName(base) }

// at returns the segment that holds the position, or nil.
func (l *segments) at(pos int64) *segment {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.list) == 0 || pos < l.list[0].base {
		return nil
	}
	i := (pos - l.list[0].base) / l.size
	if i >= int64(len(l.list)) {
		return nil
	}
	return l.list[i]
}

func (l *segments) snapshot() []*segment {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return append([]*segment(nil), l.list...)
}

func (l *segments) add(g *segment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, g)
}

// dropFirst takes the oldest segment out of the list.
func (l *segments) dropFirst() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append([]*segment(nil), l.list[1:]...)
}

func (l *segments) count() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.list)
}

// active is the segment that is being written, with its open file. The filler
// makes it and the next one; the writer alone writes batches to it.
type active struct {
	*segment
	log    vfs.File
	frames frameArea // of the same file
}

func newActive(g *segment, f vfs.File) *active {
	return &active{segment: g, log: f, frames: g.frames(f)}
}

func (a *active) close() error { return a.log.Close() }

// frameArea is the part of a log file behind the segment's bytes, which holds
// the frames. Being in one file with what they cover, they need no sync of their
// own.
type frameArea struct {
	f  vfs.File
	at int64
}

func (g *segment) frames(f vfs.File) frameArea { return frameArea{f, g.size} }

func (a frameArea) ReadAt(b []byte, off int64) (int, error)  { return a.f.ReadAt(b, a.at+off) }
func (a frameArea) WriteAt(b []byte, off int64) (int, error) { return a.f.WriteAt(b, a.at+off) }

// Size is how far the area reaches; a file cut short has none.
func (a frameArea) Size() (int64, error) {
	n, err := a.f.Size()
	return max(n-a.at, 0), err
}

// segmentUnit divides the size of every segment, so that the place of the first
// frame can be found without knowing it.
const segmentUnit = 4 * kib

// findSize finds the segment size by the first frame behind the records; 0 if
// there is none.
func findSize(fsys vfs.FS, path string, base int64) (int64, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return 0, fmt.Errorf("open log file: %w", err)
	}
	defer f.Close()
	end, err := f.Size()
	if err != nil {
		return 0, fmt.Errorf("size of log file: %w", err)
	}
	var slot [slotSize]byte
	for at := int64(segmentUnit); at+slotSize <= end; at += segmentUnit {
		if _, err := f.ReadAt(slot[:], at); err != nil {
			return 0, fmt.Errorf("read log file: %w", err)
		}
		if fr, ok := decodeFrame(slot[:]); ok && fr.start == base {
			return at, nil
		}
	}
	return 0, nil
}
