// SPDX-License-Identifier: Apache-2.0

package order

// ClaimWait is a queue that is wanted and has no lane, and why.
type ClaimWait struct {
	Queue Queue
	Why   ClaimWhy
	Next  Time // when the broker is asked; Never: a request is under way, or the lane's end is waited for
}

// ClaimWhy is why a wanted queue has no lane.
type ClaimWhy uint8

// Reasons.
const (
	ClaimAsking     ClaimWhy = iota // the broker is being asked for the lease
	ClaimNotGranted                 // the broker has not granted the lease: another member has it, or may still have it
	ClaimEnding                     // its former lane in this process has not ended yet
	ClaimGivingUp                   // its former lease is being given back first
	ClaimUnmet                      // the broker has not been reached yet
)

// Waits appends the queues that are wanted and have no lane that may run,
// sorted.
func (c *Claims) Waits(dst []ClaimWait) []ClaimWait {
	for _, cl := range c.sorted {
		if !cl.wanted || cl.state == claimHeld {
			continue
		}
		w := ClaimWait{Queue: cl.queue, Next: Never}
		switch cl.state {
		case claimIdle:
			if w.Why = ClaimAsking; !cl.inLock {
				w.Why, w.Next = ClaimNotGranted, cl.tryAt
			}
		case claimUnlocking:
			w.Why = ClaimGivingUp
			if !cl.inFree {
				w.Next = cl.tryAt
			}
		default:
			w.Why = ClaimEnding
		}
		dst = append(dst, w)
	}
	return dst
}
