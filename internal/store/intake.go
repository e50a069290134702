// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"sync"
	"sync/atomic"
)

// intake is the bounded queue in front of the writer. Bytes count from the
// append's arrival to its completion.
type intake struct {
	limit int64
	wake  chan struct{} // tells the writer that items are there or the intake is closed
	big   chan struct{} // tells it that enough is there not to wait for more

	mu      sync.Mutex
	items   []*Append
	spare   []*Append // the slice the writer gave back
	queued  int       // bytes of items
	waiters []*waiter
	closed  error

	bytes atomic.Int64 // changed under mu
}

// waiter is a caller that waits for room.
type waiter struct {
	ready chan struct{}
	a     *Append
	state waitState // guarded by intake.mu
}

type waitState int

const (
	waiting waitState = iota
	admitted
	refused
)

func newIntake(limit int64) *intake {
	return &intake{limit: limit, wake: make(chan struct{}, 1), big: make(chan struct{}, 1)}
}

// put enqueues a in the order of calls, waiting for room.
func (in *intake) put(ctx context.Context, a *Append) error {
	in.mu.Lock()
	if in.closed != nil {
		defer in.mu.Unlock()
		return in.closed
	}
	if len(in.waiters) == 0 && in.fits() {
		in.admit(a)
		in.mu.Unlock()
		return nil
	}
	w := &waiter{ready: make(chan struct{}), a: a}
	in.waiters = append(in.waiters, w)
	in.mu.Unlock()
	return in.await(ctx, w)
}

// fits lets one append over the limit, so that one of any size gets through.
func (in *intake) fits() bool { return in.bytes.Load() < in.limit }

func (in *intake) admit(a *Append) {
	in.bytes.Add(int64(a.size))
	in.items = append(in.items, a)
	in.queued += a.size
	if len(in.items) == 1 {
		poke(in.wake)
	}
	if in.queued >= bigBatch {
		poke(in.big)
	}
}

// bigBatch is worth writing while the batch before it is being synced; less
// waits for the sync to end, and for company.
const bigBatch = 256 * kib

// waiting returns how much is there to be taken.
func (in *intake) waiting() (items, bytes int, closed bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.items), in.queued, in.closed != nil
}

func (in *intake) await(ctx context.Context, w *waiter) error {
	select {
	case <-w.ready:
	case <-ctx.Done():
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	switch w.state {
	case admitted:
		return nil // too late to withdraw, even if ctx has ended
	case refused:
		return in.closed
	}
	for i, o := range in.waiters {
		if o == w {
			in.waiters = append(in.waiters[:i], in.waiters[i+1:]...)
			break
		}
	}
	return ctx.Err()
}

// done gives back the room of completed appends.
func (in *intake) done(n int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.bytes.Add(-n)
	for len(in.waiters) > 0 && in.fits() {
		w := in.waiters[0]
		in.waiters[0] = nil
		in.waiters = in.waiters[1:]
		w.state = admitted
		in.admit(w.a)
		close(w.ready)
	}
}

// wait waits until something is there; false once the intake is closed and empty.
func (in *intake) wait() bool {
	for {
		n, _, closed := in.waiting()
		if n > 0 || closed {
			return n > 0
		}
		<-in.wake
	}
}

// take returns what is there. The slice is valid until the next take.
func (in *intake) take() []*Append {
	in.mu.Lock()
	defer in.mu.Unlock()
	got := in.items
	clear(in.spare[:cap(in.spare)])
	in.items, in.spare = in.spare[:0], got
	in.queued = 0
	return got
}

// close refuses later and waiting appends with err; what is in goes on.
func (in *intake) close(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed != nil {
		return
	}
	in.closed = err
	for _, w := range in.waiters {
		w.state = refused
		close(w.ready)
	}
	in.waiters = nil
	poke(in.wake)
	poke(in.big)
}
