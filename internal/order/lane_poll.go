// SPDX-License-Identifier: Apache-2.0

package order

// pollState is the position of a lane whose reader commits by itself. What a
// hand-out was settled with has been polled; what is committed is the reader's
// word, and never lies above that.
//
// Invariant: mark never goes back, and never passes a message that was not
// polled.
type pollState struct {
	upTo   int64 // the reader has committed what lies below
	polled int64 // everything that was handed over lies below
	known  int64 // the broker has answered a commit of it
	asked  bool  // the reader waits for the next commit
}

// mark is the position to commit: the lowest unfinished message, or where the
// reader commits by itself, what it has committed. Once that is all it has
// polled, what the filter left out behind it counts too.
func (l *Lane) mark() int64 {
	if !l.cfg.Poll || l.poll.upTo >= l.poll.polled {
		return l.low()
	}
	return l.poll.upTo
}

// polledTo notes that the messages up to and with offset were handed over.
func (l *Lane) polledTo(offset int64) {
	if l.poll.upTo >= l.poll.polled {
		l.poll.upTo = l.low()
	}
	l.poll.polled = offset + 1
}

// commitTo is the reader's word that it is done with what lies below offset.
func (l *Lane) commitTo(offset int64) {
	l.poll.upTo = max(l.poll.upTo, min(offset, l.poll.polled))
	l.poll.asked = true
}

// Uncommitted reports whether something was polled that the reader has not
// committed.
func (l *Lane) Uncommitted() bool { return l.cfg.Poll && l.poll.upTo < l.poll.polled }

// Committed returns the position that the broker is known to have.
func (l *Lane) Committed() int64 { return l.poll.known }
