// SPDX-License-Identifier: Apache-2.0

package order

import (
	"sort"
	"time"
)

// What a stock client does, and a stock broker counts on.
const (
	stockRefresh  = 20 * time.Second // between lock requests for what is held
	stockValid    = 30 * time.Second // a lock counts from when its request was sent
	unlockRetries = 3                // a stock broker ends the lease by itself; ours keeps it as long as the session lives
)

// Claims is the client's side of the leases of one group at one broker: which
// queues to lock, to lock again, to give up and to unlock.
//
// A queue has at most one lane in the process: it is locked again only after
// its lane was released, and after an unlock under way was answered, so that a
// late unlock can never undo a new lock.
type Claims struct {
	cfg     ClaimConfig
	byQueue map[Queue]*claim
	sorted  []*claim
	id      uint64
	lock    uint64 // the lock request under way, or 0
	lockAt  Time   // when it was sent
	noticed bool   // a queue became free since then: what is refused is asked for at once
	unlock  uint64 // the unlock request under way, or 0
	closing bool
	closed  bool
	locks   []Queue // of the request in the last actions
	unlocks []Queue
}

// claim is what the client knows about one queue.
type claim struct {
	queue   Queue
	state   claimState
	wanted  bool
	mayHold bool // the broker may think that the client has the lease: until an unlock was answered, whatever a lock was
	inLock  bool // in the lock request under way
	stale   bool // ... which says nothing any more: the lane ended after it was sent
	inFree  bool // in the unlock request under way
	overrun bool
	epoch   Epoch
	tryAt   Time // idle, unlocking: when to ask; held, leaving: when to lock again
	fails   int
}

// claimState is where a claim stands.
type claimState uint8

const (
	claimIdle      claimState = iota // no lease, no lane
	claimHeld                        // a lane runs
	claimLeaving                     // the lane was told to give up
	claimLost                        // the lane was told that the lease is lost
	claimUnlocking                   // no lane; to be unlocked
)

// NewClaims returns claims on nothing.
func NewClaims(cfg ClaimConfig) *Claims {
	if cfg.RetryEvery <= 0 {
		cfg.RetryEvery = 500 * time.Millisecond
	}
	return &Claims{cfg: cfg, byQueue: map[Queue]*claim{}}
}

// Step applies ev at time now and appends to buf what is to be done.
func (c *Claims) Step(now Time, ev *ClaimEvent, buf []ClaimAction) []ClaimAction {
	switch ev.Kind {
	case ClaimAssign:
		c.assign(now, ev.Queues, &buf)
	case ClaimLocked:
		c.locked(now, ev, &buf)
	case ClaimFailed:
		c.failed(now, ev.ID)
	case ClaimUnlocked:
		c.unlocked(now, ev.ID)
	case ClaimReleased:
		c.released(now, ev)
	case ClaimNotice:
		c.hurry(now)
	case ClaimResumed:
		c.resumed(now, &buf)
	case ClaimClose:
		c.close(now, ev.Deadline, &buf)
	}
	return c.drive(now, buf)
}

// assign takes the new assignment: what is missing is locked, what is too much
// is given up by way of its lane.
func (c *Claims) assign(now Time, queues []Queue, buf *[]ClaimAction) {
	if c.closing {
		return
	}
	for _, cl := range c.sorted {
		cl.wanted = false
	}
	for _, q := range queues {
		cl := c.claim(now, q)
		cl.wanted = true
	}
	for _, cl := range c.sorted {
		if !cl.wanted {
			c.giveUp(cl, Never, buf)
		}
	}
	c.sweep(now)
}

func (c *Claims) claim(now Time, q Queue) *claim {
	if cl := c.byQueue[q]; cl != nil {
		return cl
	}
	cl := &claim{queue: q, tryAt: now}
	c.byQueue[q] = cl
	i := sort.Search(len(c.sorted), func(i int) bool { return q.less(c.sorted[i].queue) })
	c.sorted = append(c.sorted, nil)
	copy(c.sorted[i+1:], c.sorted[i:])
	c.sorted[i] = cl
	return cl
}

// giveUp revokes the lane of a held queue.
func (c *Claims) giveUp(cl *claim, deadline Time, buf *[]ClaimAction) {
	bounded := deadline != Never && (cl.state == claimLeaving || cl.state == claimLost)
	if cl.state == claimHeld {
		cl.state = claimLeaving
		bounded = true
	}
	if bounded {
		*buf = append(*buf, ClaimAction{Kind: ClaimRevoke, Queue: cl.queue, Deadline: deadline})
	}
}

// hurry asks at once for what was refused.
func (c *Claims) hurry(now Time) {
	c.noticed = c.lock != 0
	for _, cl := range c.sorted {
		if cl.state == claimIdle {
			cl.tryAt = min(cl.tryAt, now)
		}
	}
}

// resumed holds every lane until the broker has said again that it is leased
// under the same epoch.
func (c *Claims) resumed(now Time, buf *[]ClaimAction) {
	c.failed(now, c.lock) // asked on the old link
	c.failed(now, c.unlock)
	for _, cl := range c.sorted {
		if cl.state == claimHeld || cl.state == claimLeaving {
			*buf = append(*buf, ClaimAction{Kind: ClaimHold, Queue: cl.queue})
		}
		cl.tryAt = now
	}
}

func (c *Claims) close(now, deadline Time, buf *[]ClaimAction) {
	c.closing = true
	for _, cl := range c.sorted {
		cl.wanted = false
		c.giveUp(cl, deadline, buf)
	}
	c.sweep(now)
}

// sweep deals with the queues that nobody wants and that have no lane: what the
// broker may think is held is unlocked, the rest forgotten.
func (c *Claims) sweep(now Time) {
	kept := c.sorted[:0]
	for _, cl := range c.sorted {
		if cl.state == claimIdle && !cl.wanted && !cl.inLock {
			if !cl.mayHold {
				delete(c.byQueue, cl.queue)
				continue
			}
			cl.state, cl.fails, cl.tryAt = claimUnlocking, 0, now
		}
		kept = append(kept, cl)
	}
	clear(c.sorted[len(kept):])
	c.sorted = kept
}

// drive sends what is due, one lock and one unlock request at a time.
func (c *Claims) drive(now Time, buf []ClaimAction) []ClaimAction {
	if overrun, ok := c.collectUnlocks(now); ok {
		c.id++
		c.unlock = c.id
		buf = append(buf, ClaimAction{Kind: ClaimUnlock, ID: c.id, Queues: c.unlocks, Overrun: overrun})
	}
	if c.collectLocks(now) {
		c.id++
		c.lock, c.lockAt = c.id, now
		buf = append(buf, ClaimAction{Kind: ClaimLock, ID: c.id, Queues: c.locks})
	}
	if c.closing && !c.closed && len(c.sorted) == 0 {
		c.closed = true
		buf = append(buf, ClaimAction{Kind: ClaimClosed})
	}
	return buf
}

// lockDue reports whether the queue is to be locked, or locked again.
func (cl *claim) lockDue() bool {
	return !cl.inLock && (cl.state == claimIdle && cl.wanted || cl.state == claimHeld || cl.state == claimLeaving)
}

// unlockDue reports whether the queue is to be unlocked. A lock under way is
// waited for: it could be applied after the unlock.
func (cl *claim) unlockDue() bool {
	return cl.state == claimUnlocking && !cl.inFree && !cl.inLock
}

func (c *Claims) collectLocks(now Time) bool {
	if c.lock != 0 {
		return false
	}
	c.locks = c.locks[:0]
	for _, cl := range c.sorted {
		if cl.lockDue() && now >= cl.tryAt {
			cl.inLock = true
			c.locks = append(c.locks, cl.queue)
		}
	}
	return len(c.locks) > 0
}

func (c *Claims) collectUnlocks(now Time) (overrun, ok bool) {
	if c.unlock != 0 {
		return false, false
	}
	c.unlocks = c.unlocks[:0]
	for _, cl := range c.sorted {
		if cl.unlockDue() && now >= cl.tryAt {
			cl.inFree = true
			overrun = overrun || cl.overrun
			c.unlocks = append(c.unlocks, cl.queue)
		}
	}
	return overrun, len(c.unlocks) > 0
}

// Next returns when the next ClaimTick is due, or Never.
func (c *Claims) Next() Time {
	next := Never
	for _, cl := range c.sorted {
		if c.lock == 0 && cl.lockDue() || c.unlock == 0 && cl.unlockDue() {
			next = min(next, cl.tryAt)
		}
	}
	return next
}
