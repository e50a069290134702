// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/orderlymq/orderly/internal/order"
)

// outcome is what a handler call came to, in the words of the lane.
type outcome struct {
	verdict order.Verdict
	done    int           // messages from the front that succeeded
	delay   time.Duration // asked for by the handler; 0: the back-off's
	err     error         // for the log
}

// count is how many of n messages succeeded, and failed.
func (o *outcome) count(n int) (ok, failed int) {
	switch o.verdict {
	case order.Success, order.Commit:
		return n, 0
	case order.Rollback:
		return 0, 0
	}
	return o.done, 1
}

// failed makes the outcome of an error, with the directives it may carry.
func failed(done int, err error) outcome {
	o := outcome{verdict: order.Retry, done: done, err: err}
	if after, ok := errors.AsType[*retryAfter](err); ok {
		o.delay = min(max(after.after, minBackoff), maxBackoff)
	}
	if _, ok := errors.AsType[*deadLetter](err); ok {
		o.verdict = order.Letter
	}
	return o
}

// The bounds of waits before a retry, as RocketMQ has them.
const (
	minBackoff = 10 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// callback is any of the three kinds of handler.
type callback func(ctx context.Context, ms []*Message) outcome

// callback calls h for each message; it is used with one message per hand-out.
func (h Handler) callback() callback {
	if h == nil {
		return nil
	}
	return func(ctx context.Context, ms []*Message) outcome {
		for i, m := range ms {
			if err := h(ctx, m); err != nil {
				return failed(i, err)
			}
		}
		return outcome{verdict: order.Success}
	}
}

func (h BatchHandler) callback() callback {
	if h == nil {
		return nil
	}
	return func(ctx context.Context, ms []*Message) outcome {
		done, err := h(ctx, ms)
		switch {
		case err == nil && done == len(ms):
			return outcome{verdict: order.Success}
		case err == nil:
			err = fmt.Errorf("handler says %d of %d messages are done, and no error", done, len(ms))
		}
		if done < 0 || done >= len(ms) {
			done = 0
		}
		return failed(done, err)
	}
}

func (h ManualHandler) callback() callback {
	if h == nil {
		return nil
	}
	return func(ctx context.Context, ms []*Message) outcome {
		decision, err := h(ctx, ms)
		if err != nil {
			return failed(0, err)
		}
		switch decision {
		case Hold:
			return outcome{verdict: order.Success}
		case Commit:
			return outcome{verdict: order.Commit}
		case Rollback:
			return outcome{verdict: order.Rollback}
		}
		return failed(0, fmt.Errorf("handler returned decision %d, which is none of Hold, Commit, Rollback", decision))
	}
}

var errGoexit = errors.New("handler ended its goroutine (runtime.Goexit)")

// guard calls f and tells settle the outcome, exactly once, whatever f does. A
// call that ends the goroutine cannot be stopped from doing so: settle runs on
// the way out.
func guard(ctx context.Context, f callback, ms []*Message, settle func(outcome)) {
	out := failed(0, errGoexit)
	defer func() {
		if r := recover(); r != nil {
			out = failed(0, fmt.Errorf("handler panicked: %v\n%s", r, debug.Stack()))
		}
		settle(out)
	}()
	out = f(ctx, ms)
}
