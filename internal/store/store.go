// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"

	"github.com/orderlymq/orderly/internal/msg"
)

// Store is an open store. Its methods are safe for concurrent use.
type Store struct{}

type queue struct{}

// Open opens the store in o.Dir, making it if there is none, and recovers it.
// ctx bounds the opening only.
func Open(ctx context.Context, o Options) (*Store, error) { return nil, errors.ErrUnsupported }

// Close completes what was appended, syncs and closes.
func (s *Store) Close() error { return errors.ErrUnsupported }

// Append enqueues a; appends are written in the order of the calls. It waits
// only while Options.MaxQueued bytes are under way. After an error a was not
// taken and Done is not called.
func (s *Store) Append(ctx context.Context, a *Append) error { return errors.ErrUnsupported }

// AppendWait stores msgs and waits until they are stored.
func (s *Store) AppendWait(ctx context.Context, msgs ...msg.Message) ([]msg.Message, error) {
	return nil, errors.ErrUnsupported
}

// Read returns messages of a queue from the offset on. match, if not nil, takes
// messages by the hash of their tag.
func (s *Store) Read(topic string, queue int32, from int64, lim ReadLimit, match func(tagHash int64) bool) (ReadResult, error) {
	return ReadResult{}, errors.ErrUnsupported
}

// Bounds returns the offsets [min, max) of a queue; 0, 0 for an unknown one.
func (s *Store) Bounds(topic string, queue int32) (min, max int64) { return 0, 0 }

// OffsetAtTime returns the first offset whose message was stored at or after
// ms; with upper the last one stored at or before ms. Beyond the newest message
// that is max, with upper the last message; before the oldest it is min, with
// upper 0.
func (s *Store) OffsetAtTime(topic string, queue int32, ms int64, upper bool) (int64, error) {
	return 0, errors.ErrUnsupported
}

// StoreTime returns when the message was stored, in ms.
func (s *Store) StoreTime(topic string, queue int32, offset int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

// Record returns the record at a physical offset.
func (s *Store) Record(physical int64) ([]byte, error) { return nil, errors.ErrUnsupported }

// QueryKey returns up to max records of the topic that carry the key (one of
// the words of KEYS, or UNIQ_KEY), stored in [beginMs, endMs], newest first. It
// waits until the key index has reached the log's end as of the call.
func (s *Store) QueryKey(ctx context.Context, topic, key string, max int, beginMs, endMs int64) ([][]byte, error) {
	return nil, errors.ErrUnsupported
}

// Topics lists the topics that have queues here, sorted.
func (s *Store) Topics() []string { return nil }

// Queues lists the queues of a topic, sorted.
func (s *Store) Queues(topic string) []int32 { return nil }

// DropTopic makes all messages of a topic unreadable, for good. Offsets of its
// queues go on where they were if messages are appended again.
func (s *Store) DropTopic(topic string) error { return errors.ErrUnsupported }

// RaiseFloor makes the next offset of a queue at least next. The broker calls
// it with committed offsets after Open, before it serves: an offset that was
// committed once is not given to another message.
func (s *Store) RaiseFloor(topic string, queue int32, next int64) {}

// Positions returns how far each stage has come.
func (s *Store) Positions() Positions { return Positions{} }

// Health describes the condition of the store.
func (s *Store) Health() Health { return Health{} }

// Reopen lifts the fence of a fenced store by reading back what is on disk.
func (s *Store) Reopen(ctx context.Context) error { return errors.ErrUnsupported }

// Sync makes everything dispatched so far durable, whatever the mode.
func (s *Store) Sync(ctx context.Context) error { return errors.ErrUnsupported }
