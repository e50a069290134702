// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"errors"
	"fmt"
	"path"

	"github.com/orderlymq/orderly/internal/vfs"
)

// snapshots is what the writer knows of snapshots.
type snapshots struct {
	running bool
	done    chan snapshotResult // holds at most one
	asked   []func(error)       // who waits for the one that runs
	next    []func(error)       // who waits for the one after it
	retryAt int64               // length of tail at which a failed one is tried again
}

type snapshotResult struct {
	seq  uint64
	size int64
	tail int64 // length of the tail when it began
	err  error
}

var errStopped = errors.New("change log is closing")

// snapshotIfDue begins a snapshot when the tail has grown past its bound. The
// bound grows with the snapshot, so that writing snapshots stays a fixed share
// of all writing.
func (l *Log) snapshotIfDue() {
	l.mu.Lock()
	due := l.fence == nil && l.tail >= max(l.o.SnapshotAfter, l.snapSize, l.w.snapshot.retryAt)
	l.mu.Unlock()
	if due && !l.w.snapshot.running {
		l.startSnapshot(nil)
	}
}

// startSnapshot begins a snapshot, or, while one runs, notes that another one
// is asked for.
func (l *Log) startSnapshot(asked func(error)) {
	s := &l.w.snapshot
	if s.running {
		if asked != nil {
			s.next = append(s.next, asked)
		}
		return
	}
	if asked != nil {
		s.asked = append(s.asked, asked)
	}
	s.running = true
	seq, emit := l.w.seq, l.m.Freeze()
	l.mu.Lock()
	tail := l.tail
	l.mu.Unlock()
	l.helpers.Go(func() {
		size, err := l.writeSnapshot(seq, emit)
		s.done <- snapshotResult{seq: seq, size: size, tail: tail, err: err}
	})
}

// endSnapshot takes note of a snapshot's end and begins the next if asked.
func (l *Log) endSnapshot(r snapshotResult) {
	s := &l.w.snapshot
	s.running = false
	l.mu.Lock()
	l.snapErr = r.err
	if r.err == nil {
		l.snapshot, l.snapSize = r.seq, r.size
		l.tail -= r.tail
		s.retryAt = 0
	} else {
		s.retryAt = l.tail + l.o.SnapshotAfter/4
	}
	l.mu.Unlock()
	if r.err != nil {
		l.o.Logger.Error("change log: snapshot failed, the tail is kept", "err", r.err)
	}
	for _, done := range s.asked {
		done(r.err)
	}
	s.asked, s.next = s.next, nil
	if len(s.asked) > 0 {
		l.startSnapshot(nil)
	}
}

// stopSnapshots answers who still waits, after the writer's end.
func (l *Log) stopSnapshots() {
	s := &l.w.snapshot
	err := ErrClosed
	select {
	case r := <-s.done:
		if r.err == nil {
			err = nil
		}
	default:
	}
	for _, done := range s.asked {
		done(err)
	}
	for _, done := range s.next {
		done(ErrClosed)
	}
}

// writeSnapshot writes the snapshot of all records up to seq, makes it valid,
// and removes what it makes superfluous.
func (l *Log) writeSnapshot(seq uint64, emit func(func([]byte) error) error) (int64, error) {
	temporary := path.Join(l.o.Dir, fileName(seq, snapshotExt)+temporaryExt)
	size, err := l.writeSnapshotFile(temporary, seq, emit)
	if err == nil {
		err = l.waitSynced(seq) // the log is never shorter than its snapshot
	}
	if err != nil {
		return 0, errors.Join(err, l.o.FS.Remove(temporary))
	}
	if err := l.o.FS.Rename(temporary, path.Join(l.o.Dir, fileName(seq, snapshotExt))); err != nil {
		return 0, fmt.Errorf("rename snapshot: %w", err)
	}
	if err := l.o.FS.SyncDir(l.o.Dir); err != nil {
		return 0, fmt.Errorf("sync directory of snapshot: %w", err)
	}
	if err := l.prune(); err != nil {
		l.o.Logger.Warn("change log: old files stay for now", "err", err)
	}
	return size, nil
}

func (l *Log) writeSnapshotFile(name string, seq uint64, emit func(func([]byte) error) error) (int64, error) {
	f, err := l.o.FS.Create(name)
	if err != nil {
		return 0, fmt.Errorf("create snapshot: %w", err)
	}
	w := snapshotWriter{file: f, sum: l.sum, stop: l.stop}
	w.buf = appendFileHeader(w.buf, snapshotMagic, l.id, seq)
	err = emit(w.item)
	if err == nil {
		err = w.end()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, fmt.Errorf("write snapshot: %w", err)
	}
	return w.at, nil
}

// snapshotWriter writes items as frames, in large pieces.
type snapshotWriter struct {
	file  vfs.File
	sum   checksum
	stop  <-chan struct{}
	buf   []byte
	at    int64
	items uint64
}

const snapshotPiece = 256 << 10

func (w *snapshotWriter) item(payload []byte) error {
	if len(payload) > MaxRecord {
		return ErrTooLarge
	}
	w.items++
	w.add(frameItem, payload)
	if len(w.buf) < snapshotPiece {
		return nil
	}
	select {
	case <-w.stop:
		return errStopped
	default:
		return w.flush()
	}
}

func (w *snapshotWriter) add(kind frameKind, payload []byte) {
	buf, at := begin(w.buf)
	w.buf = w.sum.finish(append(buf, payload...), at, kind, w.items, 0)
}

func (w *snapshotWriter) flush() error {
	n, err := w.file.WriteAt(w.buf, w.at)
	w.at += int64(n)
	w.buf = w.buf[:0]
	return err
}

func (w *snapshotWriter) end() error {
	w.add(frameEnd, nil)
	if err := w.flush(); err != nil {
		return err
	}
	return w.file.Sync()
}

// waitSynced waits until the log is synced up to seq.
func (l *Log) waitSynced(seq uint64) error {
	done := make(chan error, 1)
	l.mu.Lock()
	switch {
	case l.fence != nil:
		done <- l.fence
	case l.synced >= seq:
		done <- nil
	default:
		l.waiters = append(l.waiters, answer{seq: seq, done: func(_ uint64, err error) { done <- err }})
	}
	l.mu.Unlock()
	poke(l.urgent)
	return <-done
}

// prune removes snapshots before the one before the last, and segments whose
// records are all in that: the last snapshot but one can still stand in for
// the last.
func (l *Log) prune() error {
	have, err := list(l.o.FS, l.o.Dir)
	if err != nil || len(have.snapshots) < 2 {
		return err
	}
	keep := have.snapshots[len(have.snapshots)-2]
	for _, seq := range have.snapshots[:len(have.snapshots)-2] {
		err = errors.Join(err, l.o.FS.Remove(path.Join(l.o.Dir, fileName(seq, snapshotExt))))
	}
	for i, seq := range have.segments {
		if i+1 < len(have.segments) && have.segments[i+1] <= keep+1 {
			err = errors.Join(err, l.o.FS.Remove(path.Join(l.o.Dir, fileName(seq, segmentExt))))
		}
	}
	return err
}
