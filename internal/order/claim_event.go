// SPDX-License-Identifier: Apache-2.0

package order

import "time"

// ClaimConfig holds the rules of a client's claims.
type ClaimConfig struct {
	// Stock: the broker is an Apache RocketMQ one. Locks are asked for again
	// every 20 s and count for 30 s from when the request was sent.
	Stock bool
	// RetryEvery is the wait before a refused lock is asked for again; zero
	// means 500 ms. A notice from the broker ends it early.
	RetryEvery time.Duration
}

// ClaimEventKind says what happened; see the constants.
type ClaimEventKind uint8

// The events of a client's claims.
const (
	ClaimTick     ClaimEventKind = iota // time has passed; feed when Next is reached
	ClaimAssign                         // Queues is the whole assignment now (of this broker)
	ClaimLocked                         // the lock request ID was answered: Grants; what it asked for and is not in Grants is refused
	ClaimFailed                         // the lock or unlock request ID failed or got no answer
	ClaimUnlocked                       // the unlock request ID was answered
	ClaimReleased                       // the lane of Queue said LaneReleased; Lost: without a commit of the broker's (do not unlock)
	ClaimNotice                         // the broker says a queue became free
	ClaimResumed                        // the session has a new link: all leases are to be asked for again
	ClaimClose                          // give up everything; Deadline: until when handlers may run
)

// ClaimEvent is one event.
type ClaimEvent struct {
	Kind     ClaimEventKind
	ID       uint64
	Queue    Queue
	Queues   []Queue // not kept
	Grants   []Grant // not kept
	Lost     bool
	Deadline Time
}

// Grant is a granted lock.
type Grant struct {
	Queue    Queue
	Epoch    Epoch     // 0 from a stock broker
	Offset   int64     // the group's position, or Unknown
	Settled  []Range   // settled ranges above Offset
	Attempts []Attempt // attempts of unfinished messages
}

// ClaimActionKind says what the driver must do; see the constants.
type ClaimActionKind uint8

// The actions of a client's claims.
const (
	ClaimLock   ClaimActionKind = iota // send one lock request for Queues; ID comes back with the answer
	ClaimUnlock                        // send an unlock request for Queues, two-way to our broker
	ClaimStart                         // make a lane for Grant (LaneStart); Until: see LaneEvent
	ClaimExtend                        // the lane of Queue may hand out until Until
	ClaimRevoke                        // feed LaneRevoke with Deadline to the lane of Queue
	ClaimLost                          // feed LaneLost to the lane of Queue
	ClaimClosed                        // nothing is held any more
)

// ClaimAction is one thing to do.
type ClaimAction struct {
	Kind     ClaimActionKind
	ID       uint64
	Queue    Queue
	Queues   []Queue // valid until the next step
	Grant    Grant
	Until    Time
	Deadline Time
}

// Claims is the client's side of the leases of one group at one broker: which
// queues to lock, refresh, give up and unlock. It makes sure that a queue has
// at most one lane in the process.
type Claims struct{ cfg ClaimConfig }

// NewClaims returns claims on nothing.
func NewClaims(cfg ClaimConfig) *Claims { return &Claims{cfg: cfg} }

// Step applies ev at time now and appends to buf what is to be done.
func (c *Claims) Step(now Time, ev *ClaimEvent, buf []ClaimAction) []ClaimAction { return buf }

// Next returns when the next ClaimTick is due, or Never.
func (c *Claims) Next() Time { return Never }
