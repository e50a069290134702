// SPDX-License-Identifier: Apache-2.0

package order

// Leases is the broker's lease table of one group: who may consume which queue.
type Leases struct{ cfg LeaseConfig }

// NewLeases returns an empty table. Feed it LeaseRestore events first.
func NewLeases(cfg LeaseConfig) *Leases { return &Leases{cfg: cfg} }

// Step applies ev at time now and appends to buf what is to be done.
func (t *Leases) Step(now Time, ev *LeaseEvent, buf []LeaseAction) []LeaseAction { return buf }

// Next returns when the next LeaseTick is due, or Never.
func (t *Leases) Next() Time { return Never }

// Position returns the group's committed offset in q, or Unknown.
func (t *Leases) Position(q Queue) int64 { return Unknown }

// Leased reports whether any queue is leased.
func (t *Leases) Leased() bool { return false }

// Configure changes the rules of the group.
func (t *Leases) Configure(cfg LeaseConfig) {}

// Members appends the live members, sorted by client id.
func (t *Leases) Members(dst []Member) []Member { return dst }

// Holders appends all queues the table knows, sorted.
func (t *Leases) Holders(dst []Holder) []Holder { return dst }

// Stats returns the counters.
func (t *Leases) Stats() LeaseStats { return LeaseStats{} }

// Member is a client session that is a member of the group.
type Member struct {
	Client  string
	Session Token // 0: stock
	Name    string
	Links   int
}

// Holder is the state of one queue.
type Holder struct {
	Queue   Queue
	Offset  int64
	Epoch   Epoch  // the last one given
	Client  string // empty: free
	Session Token
	Since   Time // when the lease was granted
	Until   Time // when it ends unless refreshed
	Why     Why  // WhyHeld, WhyGrace, WhyRestart, WhyLeaving; WhyNone when free
	Reset   bool // stock commits other than Offset are ignored until the holder takes the reset up
	Waiting int  // members that asked for it and were refused
}

// LeaseStats counts what a lease table refused or noticed.
type LeaseStats struct {
	Foreign   uint64 // commits by others than the holder
	Lower     uint64 // commits below the position
	Fenced    uint64 // pulls and commits under an old epoch
	Ignored   uint64 // negative, past the end, or not the reset value
	Unknown   uint64 // commits whose link was not known in time
	Resets    uint64 // resets by operators and tools
	Parked    uint64 // pulls of queues that another member holds
	Twins     uint64 // client ids used twice
	Overruns  uint64 // queues released while a handler ran
	Pauses    uint64 // pauses of the broker that were noticed
	Takeovers uint64 // leases ended by time
}
