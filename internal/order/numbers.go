// SPDX-License-Identifier: Apache-2.0

package order

import (
	"container/list"
	"time"
)

// Numbers decides which numbered sends a broker stores. A producer numbers its
// messages in each queue from 0 on; a frame is one send, with one message or a
// batch. The invariants:
//
//   - In each queue the frames of one epoch of a producer are admitted without a
//     gap and each one once.
//   - Once an epoch is there, no frame of an earlier one is admitted.
//   - What was used within Busy is not forgotten.
//
// The caller admits in the order of the log, and takes the answer as what is
// stored: if writing fails it builds the table anew from what is on disk.
// Numbers has no lock, no clock and does no I/O.
type Numbers struct {
	cfg    NumbersConfig
	makers map[uint64]*numberMaker
	idle   *list.List    // of *numberMaker, the one idle for longest first
	pairs  *list.List    // of *numberPair, likewise
	fresh  []*numberPair // with frames that Fresh has not told
	gone   []uint64      // producers forgotten that Expire has not told
	stats  NumbersStats
}

// NumbersConfig bounds the table. Zero fields take their defaults.
type NumbersConfig struct {
	Producers int           // default 100,000
	Pairs     int           // of a producer and a queue, default 100,000
	Idle      time.Duration // what is not used for so long is forgotten, default 24 h
	Busy      time.Duration // what was used within it is not, even at a bound; default 10 min
}

// KeptFrames is how many frames are remembered of each producer and queue. A
// producer has fewer in flight.
const KeptFrames = 16

// KeptFrame is one numbered send: Count messages from number First on. Offset is
// the place of the first one in the queue.
type KeptFrame struct {
	First  uint64
	Count  uint32
	Offset int64
}

// NumberedFrame is a frame with whose it is and where it goes.
type NumberedFrame struct {
	Producer uint64
	Epoch    uint32
	Queue    Queue
	KeptFrame
}

// NumberVerdict is what is decided about a frame.
type NumberVerdict uint8

const (
	// NumberAdmit: it is the next one; store it.
	NumberAdmit NumberVerdict = iota
	// NumberRepeat: it is stored already, at Offset.
	NumberRepeat
	// NumberGap: Next is expected.
	NumberGap
	// NumberFenced: a later epoch is there.
	NumberFenced
	// NumberUnknown: nothing is known of the producer, of this epoch, or any
	// more of its numbers in this queue.
	NumberUnknown
	// NumberTooMany: there is no room for one more producer or pair.
	NumberTooMany
)

func (v NumberVerdict) String() string {
	return [...]string{"admit", "repeat", "gap", "fenced", "unknown", "too many"}[v]
}

// NumberAnswer is a verdict with what belongs to it.
type NumberAnswer struct {
	Verdict NumberVerdict
	Offset  int64  // NumberRepeat: of the first message
	Next    uint64 // NumberGap: the number expected
}

// NumbersStats are the size of the table and counts since it was made.
type NumbersStats struct {
	Producers, Pairs                                int
	Repeats, Gaps, Fenced, Unknown, Refused, Forgot uint64
}

// numberMaker is one producer.
type numberMaker struct {
	id     uint64
	used   Time
	at     *list.Element // in Numbers.idle
	epoch  uint32
	forgot bool // numbers of this epoch in some queue
	pairs  map[Queue]*numberPair
}

// numberPair is what is known of one producer in one queue.
type numberPair struct {
	maker  *numberMaker
	used   Time
	at     *list.Element // in Numbers.pairs; nil: forgotten
	queue  Queue
	epoch  uint32 // of next and frames
	next   uint64
	frames [KeptFrames]KeptFrame // a ring: the last one at (count-1) % KeptFrames
	count  uint64
	fresh  int // frames that Fresh has not told
}

// NewNumbers returns an empty table.
func NewNumbers(cfg NumbersConfig) *Numbers {
	setDefault(&cfg.Producers, 100_000)
	setDefault(&cfg.Pairs, 100_000)
	setDefault(&cfg.Idle, 24*time.Hour)
	setDefault(&cfg.Busy, 10*time.Minute)
	return &Numbers{cfg: cfg, makers: map[uint64]*numberMaker{}, idle: list.New(), pairs: list.New()}
}

// Advance makes a producer known, or moves a known one on to a later epoch, in
// which its numbers begin at 0 in every queue. It is false if there is no room.
func (n *Numbers) Advance(now Time, id uint64, epoch uint32) bool {
	m := n.makers[id]
	if m == nil {
		if len(n.makers) >= n.cfg.Producers && !n.forgetIdlest(now) {
			n.stats.Refused++
			return false
		}
		m = &numberMaker{id: id, epoch: epoch, pairs: map[Queue]*numberPair{}}
		n.makers[id] = m
		m.at = n.idle.PushBack(m)
	}
	if epoch > m.epoch {
		m.epoch, m.forgot = epoch, false
	}
	n.touchMaker(now, m)
	return true
}

// Admit decides about a frame that would be stored at f.Offset.
func (n *Numbers) Admit(now Time, f *NumberedFrame) NumberAnswer {
	m := n.makers[f.Producer]
	switch {
	case m == nil || f.Epoch > m.epoch:
		n.stats.Unknown++
		return NumberAnswer{Verdict: NumberUnknown}
	case f.Epoch < m.epoch:
		n.stats.Fenced++
		return NumberAnswer{Verdict: NumberFenced}
	}
	n.touchMaker(now, m)
	p := m.pairs[f.Queue]
	if p == nil {
		return n.admitFirst(now, m, f)
	}
	n.touchPair(now, p)
	if p.epoch != m.epoch && f.First == 0 {
		p.begin(m.epoch)
	}
	if kept, ok := p.find(f); ok {
		n.stats.Repeats++
		return NumberAnswer{Verdict: NumberRepeat, Offset: kept.Offset}
	}
	if next := p.expected(); f.First != next {
		n.stats.Gaps++
		return NumberAnswer{Verdict: NumberGap, Next: next}
	}
	n.add(p, f.KeptFrame)
	return NumberAnswer{}
}

// admitFirst decides about a frame in a queue in which nothing is known of its
// producer.
func (n *Numbers) admitFirst(now Time, m *numberMaker, f *NumberedFrame) NumberAnswer {
	if f.First != 0 && m.forgot {
		n.stats.Unknown++
		return NumberAnswer{Verdict: NumberUnknown}
	}
	if f.First != 0 {
		n.stats.Gaps++
		return NumberAnswer{Verdict: NumberGap}
	}
	p := n.pair(now, m, f.Queue)
	if p == nil {
		n.stats.Refused++
		return NumberAnswer{Verdict: NumberTooMany}
	}
	n.add(p, f.KeptFrame)
	return NumberAnswer{}
}

// Find tells whether a frame is stored already, and where.
func (n *Numbers) Find(f *NumberedFrame) (offset int64, ok bool) {
	m := n.makers[f.Producer]
	if m == nil || m.epoch != f.Epoch || m.pairs[f.Queue] == nil {
		return 0, false
	}
	kept, ok := m.pairs[f.Queue].find(f)
	return kept.Offset, ok
}

// pair makes room for one more pair; nil if there is none.
func (n *Numbers) pair(now Time, m *numberMaker, q Queue) *numberPair {
	if n.pairs.Len() >= n.cfg.Pairs {
		oldest := n.idlestPair()
		if oldest == nil || now.Sub(oldest.used) < n.cfg.Busy {
			return nil
		}
		n.forgetPair(oldest)
	}
	p := &numberPair{maker: m, queue: q, epoch: m.epoch, used: now}
	m.pairs[q] = p
	p.at = n.pairs.PushBack(p)
	return p
}

func (n *Numbers) add(p *numberPair, f KeptFrame) {
	p.frames[p.count%KeptFrames] = f
	p.count++
	p.next = f.First + uint64(f.Count)
	if p.fresh == 0 {
		n.fresh = append(n.fresh, p)
	}
	p.fresh = min(p.fresh+1, KeptFrames)
}

// begin starts an epoch's numbers.
func (p *numberPair) begin(epoch uint32) { p.epoch, p.next, p.count = epoch, 0, 0 }

// expected is the number that the producer's epoch has to go on with.
func (p *numberPair) expected() uint64 {
	if p.epoch != p.maker.epoch {
		return 0
	}
	return p.next
}

// find looks for a frame among those kept.
func (p *numberPair) find(f *NumberedFrame) (KeptFrame, bool) {
	if p.epoch != f.Epoch {
		return KeptFrame{}, false
	}
	for i := range min(p.count, KeptFrames) {
		if k := p.frames[i]; k.First == f.First && k.Count == f.Count {
			return k, true
		}
	}
	return KeptFrame{}, false
}

// kept appends the frames, oldest first.
func (p *numberPair) kept(buf []KeptFrame, last uint64) []KeptFrame {
	for i := p.count - min(p.count, last, KeptFrames); i < p.count; i++ {
		buf = append(buf, p.frames[i%KeptFrames])
	}
	return buf
}

// Stored tells what is stored of one epoch of a producer in a queue: the number
// behind its last message, and its last frames, oldest first, appended to buf.
func (n *Numbers) Stored(id uint64, epoch uint32, q Queue, buf []KeptFrame) (next uint64, frames []KeptFrame) {
	m := n.makers[id]
	if m == nil || m.pairs[q] == nil || m.pairs[q].epoch != epoch {
		return 0, buf
	}
	p := m.pairs[q]
	return p.next, p.kept(buf, KeptFrames)
}

// Epoch is the epoch of a producer, if it is known.
func (n *Numbers) Epoch(id uint64) (epoch uint32, ok bool) {
	m := n.makers[id]
	if m == nil {
		return 0, false
	}
	return m.epoch, true
}

// Stats returns size and counts.
func (n *Numbers) Stats() NumbersStats {
	s := n.stats
	s.Producers, s.Pairs = len(n.makers), n.pairs.Len()
	return s
}

// Repeat is Admit for a frame that the caller has found stored and cannot store
// again.
func (n *Numbers) Repeat(now Time, f *NumberedFrame) NumberAnswer {
	if _, ok := n.Find(f); ok {
		return n.Admit(now, f)
	}
	if m := n.makers[f.Producer]; m != nil && f.Epoch < m.epoch {
		n.stats.Fenced++
		return NumberAnswer{Verdict: NumberFenced}
	}
	n.stats.Unknown++
	return NumberAnswer{Verdict: NumberUnknown}
}
