// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/orderlymq/orderly/internal/vfs"
)

// filler keeps space ready ahead of the writer: the active segment zero-filled,
// so that a sync has data to write and no metadata, and the next segment made.
// The writer writes below ready only, the filler above it only.
//
// A full disk is felt here, before anything is at stake: the writer refuses.
type filler struct {
	segs   *segments
	fs     vfs.FS
	ahead  int64
	step   int64 // log bytes filled at once
	frStep int64 // frame bytes filled at once
	zero   bool  // write zeros; otherwise reserve space only
	fence  func(error)
	wake   chan struct{}
	stop   chan struct{}

	ready   atomic.Int64 // log position up to which cur is filled
	frReady atomic.Int64 // frame position likewise
	want    atomic.Int64 // highest log position asked for
	frWant  atomic.Int64
	all     atomic.Bool // cur is filled to its end and next is there

	mu      sync.Mutex
	cur     *active
	next    *active
	err     error         // why the last step failed; nil after one that did not
	changed chan struct{} // closed at every change
}

func newFiller(segs *segments, o *Options, fence func(error), stop chan struct{}) *filler {
	return &filler{
		segs: segs, fs: o.FS, ahead: o.FillAhead,
		step:   min(o.FillAhead, mib),
		frStep: max(min(o.FillAhead/16, mib)/slotSize*slotSize, 8*kib),
		zero:   o.Mode == Synced,
		fence:  fence,
		wake:   make(chan struct{}, 1), stop: stop,
		changed: make(chan struct{}),
	}
}

// begin makes cur the active segment, filled as far as given. It is called
// before run, and by the writer when it rolls.
func (f *filler) begin(cur *active, ready, frReady int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cur = cur
	f.ready.Store(ready)
	f.frReady.Store(frReady)
	f.want.Store(0)
	f.frWant.Store(0)
	f.all.Store(false)
}

// prepare waits until the writer may write up to the given positions.
func (f *filler) prepare(end, frEnd int64) error {
	f.want.Store(end)
	f.frWant.Store(frEnd)
	ready, frReady := f.ready.Load(), f.frReady.Load()
	if ready-end < f.ahead/2 && !f.all.Load() || frReady-frEnd < f.frStep/2 {
		f.poke()
	}
	if end <= ready && frEnd <= frReady {
		return nil
	}
	return f.wait(func() bool { return end <= f.ready.Load() && frEnd <= f.frReady.Load() })
}

// peekNext waits for the next segment.
func (f *filler) peekNext() (*active, error) {
	f.poke()
	var a *active
	err := f.wait(func() bool { a = f.next; return a != nil })
	return a, err
}

// enter makes the next segment the active one.
func (f *filler) enter(a *active) {
	f.mu.Lock()
	f.next = nil
	f.mu.Unlock()
	f.begin(a, a.base+min(f.ahead, a.size), f.frStep)
	f.poke()
}

// wait waits until done, called with mu held, is true or filling fails.
func (f *filler) wait(done func() bool) error {
	f.mu.Lock()
	for {
		if done() {
			f.mu.Unlock()
			return nil
		}
		if f.err != nil {
			defer f.mu.Unlock()
			return f.err
		}
		ch := f.changed
		f.mu.Unlock()
		f.poke()
		select {
		case <-ch:
		case <-f.stop:
			return ErrClosed
		}
		f.mu.Lock()
	}
}

func (f *filler) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// retry clears an earlier failure: space may be free again.
func (f *filler) retry() {
	f.mu.Lock()
	had := f.err != nil
	f.mu.Unlock()
	if had {
		f.poke()
	}
}

func (f *filler) run() {
	for {
		select {
		case <-f.wake:
		case <-f.stop:
			return
		}
		for f.advance() {
			select {
			case <-f.stop:
				return
			default:
			}
		}
	}
}

// advance does one step of what is due and reports whether there may be more.
func (f *filler) advance() bool {
	f.mu.Lock()
	cur, haveNext := f.cur, f.next != nil
	f.mu.Unlock()
	ready, frReady := f.ready.Load(), f.frReady.Load()
	var err error
	switch {
	case frReady-f.frWant.Load() < f.frStep:
		if err = f.fill(cur.log, cur.size+frReady, f.frStep); err == nil {
			f.frReady.Add(f.frStep)
		}
	case ready < cur.end() && ready-f.want.Load() < f.ahead:
		n := min(f.step, cur.end()-ready)
		if err = f.fill(cur.log, ready-cur.base, n); err == nil {
			f.ready.Add(n)
		}
	case ready == cur.end() && !haveNext:
		err = f.makeNext(cur.end())
	default:
		f.all.Store(ready == cur.end())
		return false
	}
	f.note(err)
	return err == nil
}

// fill makes the range ready and durable, so that later syncs of the data carry
// no metadata.
func (f *filler) fill(file vfs.File, off, n int64) error {
	if err := f.reserve(file, off, n); err != nil {
		return fmt.Errorf("fill %s: %w", file.Name(), err)
	}
	if !f.zero {
		return nil
	}
	if err := file.SyncData(); err != nil {
		return &syncError{fmt.Errorf("sync %s: %w", file.Name(), err)}
	}
	return nil
}

func (f *filler) reserve(file vfs.File, off, n int64) error {
	if !f.zero {
		err := file.Allocate(off, n)
		if !errors.Is(err, vfs.ErrUnsupported) {
			return err
		}
	}
	return writeZeros(file, off, n)
}

func writeZeros(file vfs.File, off, n int64) error {
	for n > 0 {
		k := min(n, int64(len(zeros)))
		if _, err := file.WriteAt(zeros[:k], off); err != nil {
			return err
		}
		off += k
		n -= k
	}
	return nil
}

// syncError marks a failed sync: it fences even if the disk is only full,
// because data of the writer may have been under it.
type syncError struct{ error }

func (e *syncError) Unwrap() error { return e.error }

func (f *filler) makeNext(base int64) error {
	a, err := f.create(base)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.next = a
	f.mu.Unlock()
	return nil
}

// create makes the file of a segment: full length, filled in front of both its
// parts, and durable with its name.
func (f *filler) create(base int64) (*active, error) {
	g := newSegment(base, f.segs.size)
	file, err := f.fs.Create(f.segs.logPath(base))
	if err != nil {
		return nil, fmt.Errorf("create segment: %w", err)
	}
	err = file.Truncate(g.size)
	if err == nil {
		err = f.reserve(file, 0, min(f.ahead, g.size))
	}
	if err == nil {
		err = f.reserve(file, g.size, f.frStep)
	}
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = f.fs.SyncDir(f.segs.dir + "/" + logDir)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("make segment %s: %w", segName(base), err)
	}
	return newActive(g, file), nil
}

// note publishes the outcome of a step. A full disk is waited out; anything
// else means that the disk cannot be trusted.
func (f *filler) note(err error) {
	if err != nil {
		var se *syncError
		if diskFull(err) && !errors.As(err, &se) {
			err = fmt.Errorf("%w (%w)", ErrDiskFull, err)
		} else {
			f.fence(err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	close(f.changed)
	f.changed = make(chan struct{})
}

// diskFull reports whether the error says that no space is left.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
