// SPDX-License-Identifier: Apache-2.0

package order

import "time"

// ClaimConfig holds the rules of a client's claims.
type ClaimConfig struct {
	// Stock: the broker is an Apache RocketMQ one. Locks are asked for again
	// every 20 s and count for 30 s from when the request was sent.
	Stock bool
	// RetryEvery is the wait before a refused or failed request is sent again;
	// zero means 500 ms. A notice from the broker ends it early.
	RetryEvery time.Duration
}

// ClaimEventKind says what happened; see the constants.
type ClaimEventKind uint8

// The events of a client's claims.
const (
	ClaimTick     ClaimEventKind = iota // time has passed; feed when Next is reached
	ClaimAssign                         // Queues is the whole assignment now (at this broker)
	ClaimLocked                         // lock request ID was answered: Grants; what it asked for and is not in Grants is refused
	ClaimFailed                         // lock or unlock request ID failed or got no answer; feed it for each one under way when the link is lost
	ClaimUnlocked                       // unlock request ID was answered
	ClaimReleased                       // the lane of Queue said LaneReleased; Overrun: handlers still run
	ClaimNotice                         // the broker says a queue became free
	ClaimResumed                        // the session has a proven new link: all leases are asked for again
	ClaimClose                          // give up everything; Deadline: until when handlers may run
)

// ClaimEvent is one event.
type ClaimEvent struct {
	Kind     ClaimEventKind
	ID       uint64
	Queue    Queue
	Queues   []Queue // not kept
	Grants   []Grant // not kept
	Overrun  bool
	Deadline Time
}

// Grant is a granted lock.
type Grant struct {
	Queue    Queue
	Epoch    Epoch     // 0 from a stock broker
	Offset   int64     // the group's position; from a stock broker the driver finds it out before LaneStart
	Settled  []Range   // settled ranges above Offset
	Attempts []Attempt // attempts of unfinished messages
}

// ClaimActionKind says what the driver must do; see the constants.
type ClaimActionKind uint8

// The actions of a client's claims.
const (
	ClaimLock   ClaimActionKind = iota // send one lock request for Queues; ID comes back with the answer
	ClaimUnlock                        // send one unlock request for Queues (two-way), with Overrun if set; ID comes back
	ClaimStart                         // make a lane for Grant.Queue and feed it LaneStart
	ClaimHold                          // feed LaneHold to the lane of Queue: it may be lost
	ClaimGo                            // feed LaneGo to the lane of Queue, which may hand out until Until
	ClaimRevoke                        // feed LaneRevoke with Deadline to the lane of Queue
	ClaimLost                          // feed LaneLost to the lane of Queue
	ClaimClosed                        // nothing is held any more (after ClaimClose, once)
)

// ClaimAction is one thing to do.
type ClaimAction struct {
	Kind     ClaimActionKind
	ID       uint64
	Queue    Queue
	Queues   []Queue // valid until the next step
	Grant    Grant
	Until    Time // of ClaimStart and ClaimGo: see LaneEvent.Until; Never from our broker
	Deadline Time
	Overrun  bool
}
