// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"fmt"
	"sync/atomic"

	"github.com/orderlymq/orderly/internal/store/changelog"
)

// machine is the state as the change log drives it. Everything but published
// belongs to the change log's writer.
type machine struct {
	published atomic.Pointer[View] // what readers see: all of it is written
	pending   *View                // with what is prepared
	previous  *View                // without what was prepared last
}

// Reset makes the state empty.
func (m *machine) Reset() { m.set(newView()) }

func (m *machine) set(v *View) {
	m.pending, m.previous = v, v
	m.published.Store(v)
}

// Load takes one item of a snapshot.
func (m *machine) Load(item []byte) error { return m.replay(m.pending.seq, item) }

// Replay takes one record of the log.
func (m *machine) Replay(seq uint64, payload []byte) error { return m.replay(seq, payload) }

func (m *machine) replay(seq uint64, payload []byte) error {
	next := *m.pending
	next.seq = seq
	err := decodeChanges(payload, func(c Change) error {
		c.apply(&next)
		return nil
	})
	if err != nil {
		return err
	}
	m.set(&next)
	return nil
}

// prepare has a request decided and appends its changes.
func (m *machine) prepare(dst []byte, seq uint64, decide Decision) ([]byte, error) {
	changes, err := decide(m.pending)
	if err != nil {
		return dst, err
	}
	if len(changes) == 0 {
		return dst, nil
	}
	next := *m.pending
	next.seq = seq
	at := len(dst)
	for _, c := range changes {
		if err := c.check(); err != nil {
			return dst, err
		}
		c.apply(&next)
		if err := next.bounded(c); err != nil {
			return dst, err
		}
		dst = appendChange(dst, c)
	}
	if len(dst)-at > changelog.MaxRecord {
		return dst, changelog.ErrTooLarge
	}
	m.previous, m.pending = m.pending, &next
	return dst, nil
}

// bounded refuses a state that a change has let grow too far.
func (v *View) bounded(c Change) error {
	commit, ok := c.(Commit)
	if !ok {
		return nil
	}
	q, _ := v.Queue(commit.QueueKey)
	if len(q.Ranges) > MaxRanges || len(q.Attempts) > MaxAttempts || windowBytes(q) > MaxWindowBytes {
		return &WindowError{Key: commit.QueueKey, Ranges: len(q.Ranges), Attempts: len(q.Attempts)}
	}
	return nil
}

// windowBytes is how much room ranges and attempts take on disk; 0 if that is
// surely within the bound.
func windowBytes(q *Queue) int {
	if len(q.Ranges)*20+len(q.Attempts)*15 <= MaxWindowBytes { // numbers of at most ten and five bytes
		return 0
	}
	x := coder{}
	x.ranges(&q.Ranges)
	x.attempts(&q.Attempts)
	return len(x.buf)
}

// WindowError refuses a commit that would leave too much above the committed
// offset.
type WindowError struct {
	Key              QueueKey
	Ranges, Attempts int
}

func (e *WindowError) Error() string {
	return fmt.Sprintf("window of group %s on %s queue %d is full: %d settled ranges, %d attempts: finish the oldest message first",
		e.Key.Group, e.Key.Topic, e.Key.Queue, e.Ranges, e.Attempts)
}

// Written publishes the state up to a record.
func (m *machine) Written(seq uint64) {
	if m.pending.seq == seq {
		m.published.Store(m.pending)
		return
	}
	m.published.Store(m.previous)
}

// Discard forgets the record prepared last.
func (m *machine) Discard() { m.pending = m.previous }

// Freeze answers the emitter of a snapshot.
func (m *machine) Freeze() func(emit func(item []byte) error) error {
	return m.published.Load().emit
}
