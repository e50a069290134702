// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"github.com/orderlymq/orderly/internal/msg"
)

// Store is an open store. Its methods are safe for concurrent use.
type Store struct {
	o    Options
	lock io.Closer
	core atomic.Pointer[core]

	mu     sync.Mutex // one of Reopen and Close at a time; no other method takes it
	closed bool
}

// Open opens the store in o.Dir, making it if there is none, and recovers it.
// ctx bounds the opening only.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{o: o.withDefaults()}
	if err := s.o.check(); err != nil {
		return nil, err
	}
	if err := makeDirs(s.o.FS, s.o.Dir); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	lock, err := s.o.FS.Lock(s.o.Dir + "/" + lockName)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s.lock = lock
	c, err := openCore(ctx, &s.o, 0, false)
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("open store %s: %w", s.o.Dir, err)
	}
	s.core.Store(c)
	return s, nil
}

const lockName = "lock"

func (o *Options) check() error {
	switch {
	case o.Dir == "":
		return errors.New("open store: no directory given")
	case o.SegmentSize < minSegment || o.SegmentSize > math.MaxInt32:
		return fmt.Errorf("open store: segment size %d, want %d to %d", o.SegmentSize, minSegment, math.MaxInt32)
	case o.Mode != Synced && o.Mode != Async:
		return fmt.Errorf("open store: unknown sync mode %d", o.Mode)
	case o.MaxQueued < 0 || o.MaxBatch < 0 || o.MaxAppend < 0 || o.TailCache < 0 || o.FillAhead < 0 ||
		o.IndexEvery < 0 || o.OpenFiles < 0 || o.Upkeep < 0 || o.SyncEvery < 0:
		return errors.New("open store: negative limit")
	}
	return nil
}

// Close completes what was appended, syncs and closes. It returns why the log
// was fenced, if it was.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(s.core.Load().close(), s.lock.Close())
}

// Reopen lifts the fence of a fenced store by reading back what is on disk.
// What cannot be read back it drops as a restart would, or refuses with an error
// and stays fenced. Reads go on meanwhile.
func (s *Store) Reopen(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.core.Load()
	if s.closed {
		return ErrClosed
	}
	if old.fenceErr(false) == nil {
		return nil
	}
	old.halt()
	c, err := openCore(ctx, &s.o, old.pos.synced.Load(), true)
	if err != nil {
		return fmt.Errorf("reopen store: %w", err)
	}
	for _, q := range old.queues.all() {
		if q.raised > 0 {
			c.queues.make(q.topic, q.id).raise(q.raised)
		}
	}
	s.core.Store(c)
	old.release()
	return nil
}

// Append enqueues a; appends are written in the order of the calls. It waits
// only while Options.MaxQueued bytes are under way. After an error a was not
// taken and Done is not called.
func (s *Store) Append(ctx context.Context, a *Append) error { return s.core.Load().append(ctx, a) }

// AppendWait stores msgs and waits until they are stored. It returns them with
// their offsets. If ctx ends first, they may or may not be stored.
func (s *Store) AppendWait(ctx context.Context, msgs ...msg.Message) ([]msg.Message, error) {
	done := make(chan error, 1)
	a := &Append{Msgs: msgs, Done: func(_ *Append, err error) { done <- err }}
	if err := s.Append(ctx, a); err != nil {
		return nil, err
	}
	select {
	case err := <-done:
		return msgs, err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnknown, ctx.Err())
	}
}

// Read returns messages of a queue from the offset on. match, if not nil, takes
// messages by the hash of their tag.
func (s *Store) Read(topic string, queue int32, from int64, lim ReadLimit, match func(tagHash int64) bool) (ReadResult, error) {
	return s.core.Load().read(topic, queue, from, lim, match)
}

// Bounds returns the offsets [min, max) of a queue; 0, 0 for an unknown one.
func (s *Store) Bounds(topic string, queue int32) (min, max int64) {
	q := s.core.Load().queues.get(topic, queue)
	if q == nil {
		return 0, 0
	}
	return q.bounds()
}

// OffsetAtTime returns the first offset whose message was stored at or after
// ms; with upper the last one stored at or before ms. Beyond the newest message
// that is max, with upper the last message; before the oldest it is min, with
// upper 0.
func (s *Store) OffsetAtTime(topic string, queue int32, ms int64, upper bool) (int64, error) {
	c := s.core.Load()
	q := c.queues.get(topic, queue)
	if q == nil {
		return 0, nil
	}
	return c.offsetAtTime(q, ms, upper)
}

// StoreTime returns when the message was stored, in ms.
func (s *Store) StoreTime(topic string, queue int32, offset int64) (int64, error) {
	c := s.core.Load()
	return c.storeTime(c.queues.get(topic, queue), offset)
}

// Record returns the record at a physical offset.
func (s *Store) Record(physical int64) ([]byte, error) { return s.core.Load().record(physical) }

// QueryKey returns up to max records of the topic that carry the key (one of
// the words of KEYS, UNIQ_KEY, or a tag as TagKey gives it), stored in
// [beginMs, endMs], newest first. It waits until the key index has reached the
// log's end as of the call.
func (s *Store) QueryKey(ctx context.Context, topic, key string, max int, beginMs, endMs int64) ([][]byte, error) {
	return s.core.Load().queryKey(ctx, topic, key, max, beginMs, endMs)
}

// Topics lists the topics that have queues here, sorted.
func (s *Store) Topics() []string { return s.core.Load().queues.names() }

// Queues lists the queues of a topic, sorted.
func (s *Store) Queues(topic string) []int32 {
	var ids []int32
	for _, q := range s.core.Load().queues.of(topic) {
		if q.isLive() {
			ids = append(ids, q.id)
		}
	}
	return ids
}

// DropTopic makes all messages of a topic unreadable, for good. Offsets of its
// queues go on where they were if messages are appended again.
func (s *Store) DropTopic(topic string) error { return s.core.Load().dropTopic(topic) }

// RaiseFloor makes the next offset of a queue at least next. The broker calls
// it with committed offsets after Open, before it serves: an offset that was
// committed once is not given to another message.
func (s *Store) RaiseFloor(topic string, queue int32, next int64) {
	s.core.Load().queues.make(topic, queue).raise(next)
}

// Positions returns how far each stage has come.
func (s *Store) Positions() Positions { return s.core.Load().positions() }

// Repairs tells what Open has set aside.
func (s *Store) Repairs() []Repair { return s.core.Load().repairs }

// Health describes the condition of the store.
func (s *Store) Health() Health { return s.core.Load().health() }

// Sync makes everything dispatched so far durable, whatever the mode.
func (s *Store) Sync(ctx context.Context) error { return s.core.Load().sync(ctx) }

// Upkeep does the regular work now instead of at its time: a look at the disk,
// retention, a checkpoint.
func (s *Store) Upkeep(ctx context.Context) error { return s.core.Load().keeper.round(ctx) }
