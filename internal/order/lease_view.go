// SPDX-License-Identifier: Apache-2.0

package order

import "sort"

// Member is a client session that is a member of the group.
type Member struct {
	Client  string
	Session Token // 0: stock
	Name    string
	Links   int
}

// Members appends the live members, sorted by client id. A session of ours
// stays a member while its grace runs, so that a broken link moves nothing.
func (t *Leases) Members(dst []Member) []Member {
	from := len(dst)
	for _, m := range t.stock {
		if len(m.links) > 0 {
			dst = append(dst, m.view())
		}
	}
	for _, m := range t.ours {
		if !m.lapsed && !m.left {
			dst = append(dst, m.view())
		}
	}
	added := dst[from:]
	sort.Slice(added, func(i, j int) bool {
		if added[i].Client != added[j].Client {
			return added[i].Client < added[j].Client
		}
		return added[i].Session < added[j].Session
	})
	return dst
}

func (m *member) view() Member {
	return Member{Client: m.client, Session: m.session, Name: m.name, Links: len(m.links)}
}

// maxWaiters bounds the waiting members that a view of a queue names.
const maxWaiters = 8

// Holder is the state of one queue.
type Holder struct {
	Queue   Queue
	Offset  int64
	Epoch   Epoch  // the last one given
	Client  string // empty: free
	Session Token
	Since   Time // when the lease was granted
	Until   Time // when it ends unless refreshed
	Why     Why  // WhyHeld, WhyGrace, WhyRestart, WhyLeaving, WhyOperator; WhyNone when free
	Reset   bool // stock commits other than Offset are ignored until the holder takes the reset up
	Waiting int  // members that asked for it and were refused

	Waiters []string // the first of them, by client id
}

// Holders appends the state of all queues that the table knows, sorted.
func (t *Leases) Holders(dst []Holder) []Holder {
	for _, le := range t.sorted {
		h := Holder{Queue: le.queue, Offset: le.offset, Epoch: le.epoch, Why: le.why(), Reset: le.reset, Waiting: len(le.waiting)}
		for _, m := range le.waiting[:min(len(le.waiting), maxWaiters)] {
			h.Waiters = append(h.Waiters, m.client)
		}
		if m := le.holder; m != nil {
			h.Client, h.Session, h.Since, h.Until = m.client, m.session, le.since, t.until(le)
		}
		dst = append(dst, h)
	}
	return dst
}

// LeaseStats counts what a lease table refused or noticed.
type LeaseStats struct {
	Foreign   uint64 // commits by others than the holder
	Lower     uint64 // commits below the position
	Fenced    uint64 // pulls and commits under an old epoch
	Ignored   uint64 // commits that are negative, past the end, or not the reset value
	Unknown   uint64 // commits whose link was not known in time
	Resets    uint64 // resets by operators and tools
	Parked    uint64 // pulls of queues that another member holds
	Twins     uint64 // client ids used twice
	Overruns  uint64 // queues released while a handler ran
	Pauses    uint64 // pauses of the broker that were noticed
	Takeovers uint64 // leases ended by time
}

// Holds reports whether q is leased to that session under that epoch.
func (t *Leases) Holds(q Queue, s Token, e Epoch) bool { return t.queues[q].heldBy(s, e) }

// Held reports whether anybody holds q.
func (t *Leases) Held(q Queue) bool {
	le := t.queues[q]
	return le != nil && le.holder != nil
}
