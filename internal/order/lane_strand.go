// SPDX-License-Identifier: Apache-2.0

package order

// strand is a sequence of messages that are handled one after the other: all
// messages of a key, or of the queue. In by-key mode the messages without key
// form a strand too; each of them is a barrier.
type strand struct {
	key   uint64
	state strandState
	head  int32 // first slot
	tail  int32
	from  int32 // first slot that is not held (manual mode); else head
	n     int   // slots
	kept  int   // slots whose message is in memory

	due      Time          // waiting: until when
	since    Time          // of the state
	report   uint64        // reporting: the commit that carries the report
	oneBelow int64         // after a failed batch: one message at a time below this offset
	verb     LaneEventKind // what an operator or the handler wants done with the first message, or 0

	next int32 // ready list, free list
}

// strandState is what a strand waits for.
type strandState uint8

const (
	strandIdle      strandState = iota // nothing to do, or behind a barrier
	strandReady                        // in the ready list
	strandRunning                      // in a handler
	strandWaiting                      // until due: back-off
	strandReporting                    // its next attempt is being reported
	strandLettering                    // its head is being dead-lettered
	strandParked                       // until an operator resumes it
	strandMissing                      // its next message must be read again
)

// strands holds the strands of a lane. Index 0 stands for none; index 1 is the
// strand of the queue, or of the barriers.
type strands struct {
	byKey     map[uint64]int32 // nil: in queue order
	all       []strand
	free      int32
	ready     int32 // list of ready strands, first come first served
	readyTail int32
	timers    []timer // heap of waiting strands, by due; may hold stale ones
	missing   int     // strands in strandMissing
	gone      bool    // a message that a strand is missing was found to be gone
	reporting int
	lettering int
}

type timer struct {
	at     Time
	strand int32
}

const queueStrand = 1

func (st *strands) init(byKey bool) {
	st.all = make([]strand, 2)
	if byKey {
		st.byKey = map[uint64]int32{}
	}
}

func (st *strands) at(i int32) *strand { return &st.all[i] }

// of returns the strand of key, made if need be.
func (st *strands) of(key uint64) int32 {
	if st.byKey == nil || key == 0 {
		return queueStrand
	}
	if i, ok := st.byKey[key]; ok {
		return i
	}
	i := st.free
	if i != 0 {
		st.free = st.all[i].next
	} else {
		i = int32(len(st.all))
		st.all = append(st.all, strand{})
	}
	st.all[i] = strand{key: key}
	st.byKey[key] = i
	return i
}

// drop forgets an empty strand.
func (st *strands) drop(i int32) {
	if i == queueStrand {
		return
	}
	delete(st.byKey, st.all[i].key)
	st.all[i] = strand{next: st.free}
	st.free = i
}

// set changes the state of a strand.
func (st *strands) set(now Time, i int32, to strandState) {
	s := &st.all[i]
	st.count(s.state, -1)
	st.count(to, 1)
	s.state, s.since = to, now
	if to == strandReady {
		s.next = 0
		if st.ready == 0 {
			st.ready = i
		} else {
			st.all[st.readyTail].next = i
		}
		st.readyTail = i
	}
}

func (st *strands) count(s strandState, d int) {
	switch s {
	case strandMissing:
		st.missing += d
	case strandReporting:
		st.reporting += d
	case strandLettering:
		st.lettering += d
	}
}

// popReady takes the first ready strand.
func (st *strands) popReady() int32 {
	i := st.ready
	if i != 0 {
		st.ready = st.all[i].next
		st.all[i].next = 0
	}
	return i
}

// unready takes strand i out of the ready list.
func (st *strands) unready(i int32) {
	for p, j := int32(0), st.ready; j != 0; p, j = j, st.all[j].next {
		if j != i {
			continue
		}
		if p == 0 {
			st.ready = st.all[j].next
		} else {
			st.all[p].next = st.all[j].next
		}
		if st.readyTail == j {
			st.readyTail = p
		}
		st.all[j].next = 0
		return
	}
}

// wait lets strand i wait until due.
func (st *strands) wait(now Time, i int32, due Time) {
	st.set(now, i, strandWaiting)
	st.all[i].due = due
	st.timers = append(st.timers, timer{due, i})
	for c := len(st.timers) - 1; c > 0; {
		p := (c - 1) / 2
		if st.timers[p].at <= st.timers[c].at {
			break
		}
		st.timers[p], st.timers[c] = st.timers[c], st.timers[p]
		c = p
	}
}

// popTimer removes the earliest timer.
func (st *strands) popTimer() {
	n := len(st.timers) - 1
	st.timers[0] = st.timers[n]
	st.timers = st.timers[:n]
	for p := 0; ; {
		c := 2*p + 1
		if c >= n {
			return
		}
		if c+1 < n && st.timers[c+1].at < st.timers[c].at {
			c++
		}
		if st.timers[p].at <= st.timers[c].at {
			return
		}
		st.timers[p], st.timers[c] = st.timers[c], st.timers[p]
		p = c
	}
}

// stale reports whether the strand of t no longer waits for it.
func (st *strands) stale(t timer) bool {
	s := &st.all[t.strand]
	return s.state != strandWaiting || s.due != t.at
}

// wakeDue ends the waits that are over.
func (st *strands) wakeDue(l *Lane, now Time, buf *[]LaneAction) {
	for len(st.timers) > 0 {
		t := st.timers[0]
		if !st.stale(t) && t.at > now {
			return
		}
		stale := st.stale(t)
		st.popTimer()
		if !stale {
			l.wake(now, t.strand, buf)
		}
	}
}

// due returns when the next wait ends.
func (st *strands) due() Time {
	if len(st.timers) == 0 {
		return Never
	}
	return st.timers[0].at
}
