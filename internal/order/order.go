// SPDX-License-Identifier: Apache-2.0

package order

import (
	"math"
	"time"
)

// Time is a moment on the caller's monotonic scale, in nanoseconds. Where the
// scale starts is the caller's business; it must never run backwards.
type Time int64

// Never is a moment that does not come. A Next method returns it when there is
// nothing to wait for.
const Never Time = math.MaxInt64

// Add returns t+d; it never passes Never.
func (t Time) Add(d time.Duration) Time {
	if d > 0 && t > Never-Time(d) {
		return Never
	}
	return t + Time(d)
}

// Sub returns how long u lies before t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Epoch numbers the leases of a group. Each new lease has a larger epoch than
// any lease before it; it is the fence number that handlers see.
type Epoch uint64

// Token names a client session. The broker mints it, at random; a stock client
// has none (0).
type Token uint64

// LinkID names a connection. The caller never uses one twice.
type LinkID uint64

// Queue names a message queue of one broker.
type Queue struct {
	Topic string
	ID    int32
}

// Unknown is the position of a group in a queue that it has never met.
const Unknown int64 = -1

// Range is a half-open range of queue offsets.
type Range struct{ From, To int64 }

// Attempt says how often a message has been tried: Ended attempts have come
// back without success; Running says that one more was started and has not
// been reported as ended.
type Attempt struct {
	Offset  int64
	Ended   int32
	Running bool
}
