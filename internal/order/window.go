// SPDX-License-Identifier: Apache-2.0

package order

// slot is one unfinished message.
type slot struct {
	Entry
	kept  bool // the message itself is in memory; else it is read again when its turn comes
	state slotState
	gone  bool  // the broker no longer has it
	force bool  // an operator wants one more attempt, whatever the policy says
	ended int32 // attempts that came back without success
	told  int32 // the attempt whose start the broker has stored

	strand int32 // the strand it belongs to
	after  int32 // the next slot of the same strand
	prev   int32 // by offset
	next   int32
}

type slotState uint8

const (
	slotWaiting slotState = iota
	slotRunning           // in a hand-out
	slotHeld              // manual mode: handled, not committed
)

// window is the set of unfinished messages of a queue, by ascending offset. It
// remembers what is unfinished, not what is finished: everything else below
// the read position is settled or was never meant for the group, so a million
// settled messages behind a stuck one cost nothing.
//
// Invariants: offsets ascend along next; a message joins only at the end.
// Index 0 stands for none.
type window struct {
	slots []slot
	free  int32 // list of unused slots, linked by next
	head  int32
	tail  int32
	n     int
}

// push adds e at the end and returns its slot. e.Offset lies above the last.
func (w *window) push(e Entry) int32 {
	if len(w.slots) == 0 {
		w.slots = append(w.slots, slot{})
	}
	i := w.free
	if i != 0 {
		w.free = w.slots[i].next
	} else {
		i = int32(len(w.slots))
		w.slots = append(w.slots, slot{})
	}
	w.slots[i] = slot{Entry: e, prev: w.tail}
	if w.tail != 0 {
		w.slots[w.tail].next = i
	} else {
		w.head = i
	}
	w.tail = i
	w.n++
	return i
}

// remove takes slot i out.
func (w *window) remove(i int32) {
	s := &w.slots[i]
	if s.prev != 0 {
		w.slots[s.prev].next = s.next
	} else {
		w.head = s.next
	}
	if s.next != 0 {
		w.slots[s.next].prev = s.prev
	} else {
		w.tail = s.prev
	}
	*s = slot{next: w.free}
	w.free = i
	w.n--
}

// at returns slot i.
func (w *window) at(i int32) *slot { return &w.slots[i] }
