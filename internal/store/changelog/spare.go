// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"errors"
	"fmt"
	"path"
	"syscall"
	"time"

	"github.com/orderlymq/orderly/internal/vfs"
)

// The next segment is made ahead, with all its space: a new segment costs the
// writer a rename, and a disk that is full is noticed one segment early.
const spareName = "next" + temporaryExt

// retrySpare is the pause after there was no space for a segment.
const retrySpare = time.Second

type spares struct {
	ready  chan spare // holds at most one
	making bool       // one is in ready, or will be
	failed time.Time  // when there was no space
}

type spare struct {
	file vfs.File
	err  error
}

// startSpare begins to make the next segment, if that has not begun.
func (l *Log) startSpare() {
	if l.w.spares.making {
		return
	}
	l.w.spares.making = true
	l.helpers.Go(func() { l.w.spares.ready <- l.makeSpare() })
}

func (l *Log) makeSpare() spare {
	name := path.Join(l.o.Dir, spareName)
	f, err := l.o.FS.Create(name)
	if err != nil {
		return spare{err: fmt.Errorf("create: %w", err)}
	}
	_, err = f.WriteAt(appendFileHeader(nil, segmentMagic, l.id, 0), 0)
	if err == nil {
		err = reserve(f, l.o.SegmentSize)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return spare{err: errors.Join(err, f.Close(), l.o.FS.Remove(name))}
	}
	return spare{file: f}
}

// reserve gives a new file its space, as zeros behind the header.
func reserve(f vfs.File, size int64) error {
	if size <= fileHeader {
		return nil
	}
	err := f.Allocate(0, size)
	if errors.Is(err, vfs.ErrUnsupported) {
		err = writeZeros(f, fileHeader, size-fileHeader)
	}
	if err != nil {
		return fmt.Errorf("reserve %d bytes: %w", size, err)
	}
	return nil
}

func writeZeros(f vfs.File, at, n int64) error {
	zeros := make([]byte, min(n, 64<<10))
	for n > 0 {
		m, err := f.WriteAt(zeros[:min(n, int64(len(zeros)))], at)
		if err != nil {
			return err
		}
		at, n = at+int64(m), n-int64(m)
	}
	return nil
}

// beginSegment retires the present segment and makes the spare the next one.
// Without space nothing changes, and ErrNoSpace says so.
func (l *Log) beginSegment(first uint64) error {
	s := &l.w.spares
	if !s.failed.IsZero() && time.Since(s.failed) < retrySpare {
		return ErrNoSpace
	}
	l.startSpare()
	next := <-s.ready
	s.making = false
	name := fileName(first, segmentExt)
	switch {
	case noSpace(next.err):
		s.failed = time.Now()
		l.o.Logger.Error("change log: no space for the next segment", "err", next.err)
		return fmt.Errorf("%w: %w", ErrNoSpace, next.err)
	case next.err != nil:
		return l.fail("create", name, next.err)
	}
	s.failed = time.Time{}
	if err := l.switchTo(next.file, name); err != nil {
		return errors.Join(err, next.file.Close())
	}
	l.startSpare()
	return nil
}

// switchTo makes a prepared file the segment that is written.
func (l *Log) switchTo(file vfs.File, name string) error {
	if err := l.retireSegment(); err != nil {
		return err
	}
	if err := l.o.FS.Rename(path.Join(l.o.Dir, spareName), path.Join(l.o.Dir, name)); err != nil {
		return l.fail("rename", name, err)
	}
	if err := l.o.FS.SyncDir(l.o.Dir); err != nil {
		return l.fail("sync directory", name, err)
	}
	l.mu.Lock()
	l.file, l.name = file, name
	l.mu.Unlock()
	l.w.pos = fileHeader
	return nil
}

// retireSegment has the syncer end the present segment; before the goroutines
// run there is none.
func (l *Log) retireSegment() error {
	if l.w.pos == 0 {
		return nil
	}
	done := make(chan error, 1)
	l.retire <- done
	return <-done
}

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// abandonSpare waits for the spare and removes it.
func (l *Log) abandonSpare() error {
	l.helpers.Wait()
	select {
	case s := <-l.w.spares.ready:
		if s.file == nil {
			return nil
		}
		return errors.Join(s.file.Close(), l.o.FS.Remove(path.Join(l.o.Dir, spareName)))
	default:
		return nil
	}
}
