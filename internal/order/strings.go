// SPDX-License-Identifier: Apache-2.0

package order

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown"
}

// String returns the reason in words.
func (w Why) String() string { return nameOf(whyNames, int(w)) }

var whyNames = []string{
	"none", "held", "grace", "restart", "leaving", "twin", "unproven", "no epoch", "stranger", "fenced",
	"foreign", "lower", "negative", "past the end", "reset under way", "unknown link", "crowded", "unlocked",
	"link closed", "silent", "operator", "deleted", "name taken", "expired",
}

// String returns the reason in words.
func (w LaneWhy) String() string { return nameOf(laneWhyNames, int(w)) }

var laneWhyNames = []string{
	"handling", "handler ignores its context", "back-off", "parked", "dead-lettering", "reporting the attempt",
	"reading again", "barrier", "window full", "cache full", "held until commit", "broker silent",
	"lease being proven", "position past the end", "paused", "draining", "ready",
}

// String returns the cause in words.
func (c Cause) String() string { return nameOf(causeNames, int(c)) }

var causeNames = []string{"none", "time-out", "broker silent", "lease lost", "queue given up"}

// String returns the reason in words.
func (w ClaimWhy) String() string { return nameOf(claimWhyNames, int(w)) }

var claimWhyNames = []string{
	"the lease is being asked for", "lease not granted: another member has the queue, or may still have it",
	"its former lane in this member has not ended yet", "its former lease is being given back first", "its broker has not been reached",
}
