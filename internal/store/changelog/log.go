// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/vfs"
)

// Log is an open change log. All methods are safe for concurrent use.
type Log struct {
	o    Options
	m    Machine
	sum  checksum
	id   uint64
	lock io.Closer
	was  Recovery

	queue   queue
	w       writer
	watch   watch // the syncer's
	answers answers

	urgent  chan struct{}    // the syncer is to sync now
	dirty   chan struct{}    // the syncer is to sync within SyncEvery
	retire  chan chan error  // the syncer is to sync and close the segment
	mark    chan struct{}    // the writer may write a mark
	force   chan func(error) // the writer is to begin a snapshot
	stop    chan struct{}    // closed when the writer has ended
	running sync.WaitGroup   // writer, syncer
	helpers sync.WaitGroup   // snapshotter, maker of spare segments
	giving  sync.WaitGroup   // giver of answers

	mu sync.Mutex // guards shared; held for moments
	shared
}

// shared is what several goroutines of the log look at.
type shared struct {
	file     vfs.File // the segment being written, nil after its retirement
	name     string
	written  uint64
	synced   uint64
	waiters  []answer // to be given once synced
	fence    *FencedError
	broken   bool // a sync failed: a later one says nothing
	closed   bool
	tail     int64
	snapshot uint64
	snapErr  error
	snapSize int64
}

// Options' defaults.
const (
	DefaultSegmentSize   = 4 << 20
	DefaultSnapshotAfter = 16 << 20
	DefaultSyncEvery     = 500 * time.Millisecond
)

func (o Options) withDefaults() Options {
	if o.SegmentSize <= 0 {
		o.SegmentSize = DefaultSegmentSize
	}
	if o.SnapshotAfter <= 0 {
		o.SnapshotAfter = DefaultSnapshotAfter
	}
	if o.SyncEvery <= 0 {
		o.SyncEvery = DefaultSyncEvery
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Open recovers the log in o.Dir into m, creating it if there is none.
func Open(ctx context.Context, o Options, m Machine) (*Log, error) {
	o = o.withDefaults()
	lock, err := prepareDir(o)
	if err != nil {
		return nil, err
	}
	l, err := open(ctx, o, m)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	l.lock = lock
	l.running.Go(l.write)
	l.running.Go(l.sync)
	l.giving.Go(l.answers.run)
	if len(l.was.Damage) > 0 {
		// A snapshot takes the place of the damaged part.
		if err := l.Snapshot(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("snapshot after repair: %w", err), l.Close())
		}
	}
	return l, nil
}

func open(ctx context.Context, o Options, m Machine) (*Log, error) {
	began := time.Now()
	found, err := recoverDir(ctx, o, m)
	if err != nil {
		return nil, err
	}
	l := &Log{
		o: o, m: m, id: found.id, sum: newChecksum(found.id), was: found.Recovery,
		queue: newQueue(), answers: newAnswers(),
		urgent: make(chan struct{}, 1),
		dirty:  make(chan struct{}, 1),
		retire: make(chan chan error),
		mark:   make(chan struct{}, 1),
		force:  make(chan func(error)),
		stop:   make(chan struct{}),
	}
	l.w = newWriter(found.last, found.pos)
	l.shared = shared{
		file: found.file, name: found.name, written: found.last, synced: found.last,
		tail: found.tail, snapshot: found.Snapshot, snapSize: found.snapSize,
	}
	if err := l.settle(found); err != nil {
		return nil, err
	}
	if err := l.writeMark(); err != nil { // what was replayed is synced: say so
		return nil, errors.Join(err, l.file.Close(), l.abandonSpare())
	}
	l.was.Took = time.Since(began)
	return l, nil
}

// Recovery says what Open found.
func (l *Log) Recovery() Recovery { return l.was }

// Submit hands a record over and returns. It waits only while too many records
// are under way; after an error Done is not called.
func (l *Log) Submit(ctx context.Context, r *Record) error { return l.queue.put(ctx, r) }

// Append appends a payload and answers its number when it is written, or, with
// sync, on disk. An error of the context leaves open whether it is appended.
func (l *Log) Append(ctx context.Context, payload []byte, sync bool) (uint64, error) {
	return l.wait(ctx, &Record{
		Prepare: func(dst []byte, _ uint64) ([]byte, error) { return append(dst, payload...), nil },
		Sync:    sync,
	})
}

// Sync answers when all records submitted before are on disk.
func (l *Log) Sync(ctx context.Context) error {
	_, err := l.wait(ctx, &Record{
		Prepare: func(dst []byte, _ uint64) ([]byte, error) { return dst, nil },
		Sync:    true,
	})
	return err
}

// wait submits a record and waits for its answer.
func (l *Log) wait(ctx context.Context, r *Record) (uint64, error) {
	type answer struct {
		seq uint64
		err error
	}
	answered := make(chan answer, 1)
	r.Done = func(seq uint64, err error) { answered <- answer{seq, err} }
	if err := l.Submit(ctx, r); err != nil {
		return 0, err
	}
	select {
	case a := <-answered:
		return a.seq, a.err
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for the change log: %w", ctx.Err())
	}
}

// Snapshot writes a snapshot of the present state and answers when it is on
// disk and older files are gone.
func (l *Log) Snapshot(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case l.force <- func(err error) { done <- err }:
	case <-l.stop:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("wait for a snapshot: %w", ctx.Err())
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for a snapshot: %w", ctx.Err())
	}
}

// Health is the present condition of the log.
func (l *Log) Health() Health {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := Health{Written: l.written, Synced: l.synced, Tail: l.tail, Snapshot: l.snapshot, SnapshotErr: l.snapErr}
	if l.fence != nil {
		h.State, h.Err = Fenced, l.fence
	}
	if l.closed {
		h.State = Closed
	}
	return h
}

// Close takes no more records, writes and syncs those it has, and waits for
// all goroutines. It answers why the log was fenced, if it was.
func (l *Log) Close() error {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	l.mu.Unlock()
	if again {
		l.running.Wait()
		return ErrClosed
	}
	l.queue.close()
	l.running.Wait()
	l.helpers.Wait()
	l.stopSnapshots()
	l.answers.close()
	l.giving.Wait()
	return errors.Join(l.closeFiles(), l.lock.Close())
}

// closeFiles writes the mark of a clean end. The goroutines have ended.
func (l *Log) closeFiles() error {
	err := l.abandonSpare()
	if l.file == nil {
		return errors.Join(err, l.fenced())
	}
	if l.fenced() == nil {
		_ = l.writeMark() // a failure fences
	}
	if l.fenced() == nil {
		if err := l.file.SyncData(); err != nil {
			l.breakSync(l.name, err)
		}
	}
	return errors.Join(err, l.fenced(), l.file.Close())
}

// fail fences the log, if it is not yet, and answers all who wait for a sync.
func (l *Log) fail(op, file string, cause error) error {
	l.mu.Lock()
	first := l.fence == nil
	if first {
		l.fence = &FencedError{Op: op, File: file, Cause: cause}
	}
	err := l.fence
	waiters := l.waiters
	l.waiters = nil
	l.mu.Unlock()
	if first {
		l.o.Logger.Error("change log is fenced", "op", op, "file", file, "err", cause)
	}
	for i := range waiters {
		waiters[i].err = err
	}
	l.answers.add(waiters...)
	return err
}

// fenced answers why the log is fenced, nil if it is not.
func (l *Log) fenced() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fence == nil {
		return nil
	}
	return l.fence
}

// poke sends a signal that need not be sent twice.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
