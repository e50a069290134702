// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"context"
	"fmt"
	"sync"
)

// maxQueued bounds the records that wait for the writer.
const maxQueued = 4096

// queue holds submitted records until the writer takes them, in order.
type queue struct {
	slots chan struct{} // one token per record in the queue
	wake  chan struct{}

	mu      sync.Mutex
	records []*Record
	closed  bool
}

func newQueue() queue {
	return queue{slots: make(chan struct{}, maxQueued), wake: make(chan struct{}, 1)}
}

// put appends a record, waiting for room.
func (q *queue) put(ctx context.Context, r *Record) error {
	select {
	case q.slots <- struct{}{}:
	default:
		select {
		case q.slots <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("wait for room in the change log's queue: %w", ctx.Err())
		}
	}
	q.mu.Lock()
	closed := q.closed
	if !closed {
		q.records = append(q.records, r)
	}
	q.mu.Unlock()
	if closed {
		<-q.slots
		return ErrClosed
	}
	poke(q.wake)
	return nil
}

// take moves all records into buf, and says whether more can come.
func (q *queue) take(buf []*Record) (records []*Record, open bool) {
	q.mu.Lock()
	records, q.records = q.records, buf[:0]
	open = !q.closed
	q.mu.Unlock()
	for range records {
		<-q.slots
	}
	return records, open
}

// close refuses further records; those in the queue stay.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	poke(q.wake)
}
