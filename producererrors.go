// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"fmt"
)

// UnderWayError is what Send returns when its context ends first. The send goes
// on in its place; it has not failed and stops no key. Wait tells how it ends.
type UnderWayError struct {
	Topic       string
	OrderingKey string
	Cause       error // of the context's end

	done    chan struct{}
	receipt Receipt // good once done is closed
	err     error
}

// Error says that the send goes on.
func (e *UnderWayError) Error() string {
	return fmt.Sprintf("orderly: send to %s: the send goes on without its caller: %v", e.Topic, e.Cause)
}

// Unwrap is why the caller went.
func (e *UnderWayError) Unwrap() error { return e.Cause }

// Wait returns what Send would have returned. If ctx ends first the
// error wraps this one and ctx's cause. It may be called from several
// goroutines.
func (e *UnderWayError) Wait(ctx context.Context) (Receipt, error) {
	select {
	case <-e.done:
		return e.receipt, e.err
	default:
	}
	select {
	case <-e.done:
		return e.receipt, e.err
	case <-ctx.Done():
		return Receipt{}, fmt.Errorf("%w: %w", e, context.Cause(ctx))
	}
}

// TailLostError says that a broker has lost acknowledged messages of a producer
// in a queue.
type TailLostError struct {
	Queue    Queue
	Messages int // how many
}

// Error names the queue and the number of messages.
func (e *TailLostError) Error() string {
	return fmt.Sprintf("orderly: %v: the broker has lost %d acknowledged messages", e.Queue, e.Messages)
}
