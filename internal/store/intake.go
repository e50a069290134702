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

	mu      sync.Mutex
	items   []*Append
	spare   []*Append // the slice the writer gave back
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
	return &intake{limit: limit, wake: make(chan struct{}, 1)}
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
	return in.wait(ctx, w)
}

// fits lets one append over the limit, so that one of any size gets through.
func (in *intake) fits() bool { return in.bytes.Load() < in.limit }

func (in *intake) admit(a *Append) {
	in.bytes.Add(int64(a.size))
	in.items = append(in.items, a)
	if len(in.items) == 1 {
		in.poke()
	}
}

func (in *intake) poke() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

func (in *intake) wait(ctx context.Context, w *waiter) error {
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

// take returns what is there, or nil once the intake is closed and empty. The
// slice is valid until the next take.
func (in *intake) take() []*Append {
	for {
		in.mu.Lock()
		if len(in.items) > 0 {
			got := in.items
			clear(in.spare[:cap(in.spare)])
			in.items, in.spare = in.spare[:0], got
			in.mu.Unlock()
			return got
		}
		closed := in.closed != nil
		in.mu.Unlock()
		if closed {
			return nil
		}
		<-in.wake
	}
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
	in.poke()
}
