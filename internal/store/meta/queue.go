// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"cmp"
	"strings"
)

// Time is a moment of the broker's time in nanoseconds since the Unix epoch.
// It comes with a change; this package has no clock.
type Time int64

// Millis is the moment in milliseconds.
func (t Time) Millis() int64 { return int64(t) / 1e6 }

// QueueKey names one queue of a topic as one group sees it.
type QueueKey struct {
	Group, Topic string
	Queue        int32
}

func compareQueues(a, b QueueKey) int {
	if c := strings.Compare(a.Group, b.Group); c != 0 {
		return c
	}
	if c := strings.Compare(a.Topic, b.Topic); c != 0 {
		return c
	}
	return cmp.Compare(a.Queue, b.Queue)
}

// None stands for an offset that is not known.
const None int64 = -1

// Queue is what is kept of one queue for one group. A Queue in a View is
// read-only, its slices too.
type Queue struct {
	// Committed is the lowest unfinished offset as last committed, or None.
	Committed   int64
	CommittedAt Time
	// Epoch is the highest lease epoch that was ever granted or used here. It
	// outlives the lease; only the deletion of the queue's state ends it.
	Epoch uint64
	// Ranges above Committed are settled: sorted, apart, none empty.
	Ranges []Range
	// Attempts of messages at or above Committed that were started more than
	// once, or delivered and not settled; sorted by offset.
	Attempts []Attempt
	// Start is the position fixed when the group first met the queue, or None.
	Start int64
	Reset Reset
	Lease Lease
}

// Range is a half-open range of offsets.
type Range struct{ From, To int64 }

// Attempt says how often handling of one message was started.
type Attempt struct {
	Offset int64
	Count  int32
}

// Reset marks an explicit reset of a position.
type Reset struct {
	// Pending until the holder commits or pulls To; other commits of stock
	// clients are ignored so long.
	Pending  bool
	From, To int64
	Epoch    uint64
	At       Time
}

// LeaseKind says by whose rules a lease ends.
type LeaseKind uint8

// The kinds of leases.
const (
	LeaseStock LeaseKind = iota // a RocketMQ client
	LeaseOurs                   // a session of our client
)

func (k LeaseKind) String() string {
	if k == LeaseOurs {
		return "ours"
	}
	return "stock"
}

// Lease is the right of one client session to consume a queue. The zero Lease
// means that nobody holds the queue.
type Lease struct {
	Holder    string // client id
	Session   uint64 // session token; 0 for stock clients
	Member    string // member name, if it has one
	Kind      LeaseKind
	Epoch     uint64
	GrantedAt Time // when it was last granted, not refreshed
	// Host is the holder's address without port: after a restart a stock client
	// is known by it until it has sent a heartbeat or a lock.
	Host string
}

// Held says whether anybody holds the queue.
func (l Lease) Held() bool { return l.Holder != "" }

// Bounds of what is kept for one queue of one group.
const (
	MaxRanges      = 4096
	MaxAttempts    = 4096
	MaxWindowBytes = 64 << 10 // of both, as they are stored
)
