// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/order"
)

// pullBox is where the lanes of a pull consumer lay their hand-outs for its
// reader. A hand-out is in the box until the reader takes it, and in the
// reader's hand until its next poll or commit: so long the lane counts it as
// running, and the queue goes to nobody else.
//
// All methods but the reader's belong to the lanes' goroutines. Those that
// every lane calls do nothing without a box.
type pullBox struct {
	m    *member
	auto bool // a queue that is given up is committed first

	mu      sync.Mutex
	queues  map[Queue]*pullQueue // that have begun
	ready   []*handed
	hand    []*handed
	lost    []Queue // to be told
	paused  map[Queue]bool
	holders map[Queue]QueueHeldError // who has what was refused
	turn    chan struct{}            // closed, and made anew, when queues begin or are refused
	wake    chan struct{}            // something for a poll that waits
	over    bool
}

// pullQueue is a queue that the consumer has.
type pullQueue struct {
	lane     *lane
	position int64 // of the next message that a poll returns, if there is one
}

// handed is one hand-out.
type handed struct {
	lane    *lane
	token   order.LaneToken
	entries []order.Entry
	attempt int32
	taken   int // by the reader, from the front
	at      time.Time
}

func newPullBox(m *member, auto bool) *pullBox {
	return &pullBox{
		m: m, auto: auto, queues: map[Queue]*pullQueue{}, paused: map[Queue]bool{}, holders: map[Queue]QueueHeldError{},
		turn: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// begun says that a lane starts at offset.
func (p *pullBox) begun(l *lane, offset int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queues[l.queue] = &pullQueue{lane: l, position: offset}
	delete(p.holders, l.queue)
	if p.paused[l.queue] {
		l.post(order.LaneEvent{Kind: order.LanePause})
	}
	p.tell()
}

// ended says that a lane is over.
func (p *pullBox) ended(l *lane) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.queues[l.queue]; q != nil && q.lane == l {
		delete(p.queues, l.queue)
	}
	p.tell()
}

// refused says who has queues that were asked for.
func (p *pullBox) refused(held QueueHeldError) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holders[held.Queue] = held
}

// tell lets those look again who wait for queues. mu is held.
func (p *pullBox) tell() {
	close(p.turn)
	p.turn = make(chan struct{})
}

// call lets a poll that waits look again.
func (p *pullBox) call() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// offer lays a hand-out into the box. The lane calls what it returns to have it
// back, and when it was settled.
func (p *pullBox) offer(l *lane, token order.LaneToken, entries []order.Entry, attempt int32) func(error) {
	h := &handed{lane: l, token: token, entries: entries, attempt: attempt, at: time.Now()}
	p.mu.Lock()
	p.ready = append(p.ready, h)
	p.mu.Unlock()
	p.call()
	return func(error) { p.withdraw(func(r *handed) bool { return r == h }) }
}

// stepped sees to what an event of a lane means for its reader: what a queue
// that ends has in the box is not read any more, and a loss is told.
func (p *pullBox) stepped(l *lane, kind order.LaneEventKind) {
	switch kind {
	case order.LaneCommitted:
		l.answerCommits()
		return
	case order.LaneLost:
		if !l.seeking.Load() {
			p.mu.Lock()
			if !slices.Contains(p.lost, l.queue) {
				p.lost = append(p.lost, l.queue)
			}
			p.mu.Unlock()
			p.call()
		}
	case order.LaneRevoke:
	case order.LaneTick, order.LaneGo: // what could not be read may be readable again
		p.call()
		return
	default:
		return
	}
	p.withdraw(func(h *handed) bool { return h.lane == l })
}

// withdraw gives hand-outs that nobody has taken back to their lanes.
func (p *pullBox) withdraw(which func(*handed) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = slices.DeleteFunc(p.ready, func(h *handed) bool {
		if !which(h) {
			return false
		}
		h.settle(0)
		return true
	})
}

// letGo ends the reader's hold on what it has taken.
func (p *pullBox) letGo(to func(*handed) (commit int64, ok bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hand = slices.DeleteFunc(p.hand, func(h *handed) bool {
		commit, ok := to(h)
		if !ok {
			return false
		}
		p.m.rates.call(time.Now(), time.Since(h.at), h.taken, 0)
		if p.auto && h.lane.leaving.Load() {
			commit = math.MaxInt64
		}
		h.settle(commit)
		return true
	})
}

// Ways to let go.
func withoutCommit(*handed) (int64, bool) { return 0, true }
func committed(*handed) (int64, bool)     { return math.MaxInt64, true }

// settle tells the lane how many messages the reader has had; the rest waits for
// the next poll. What lies below commit is committed in the same step: after it
// the lane may be given up at once.
func (h *handed) settle(commit int64) {
	verdict := order.Success
	if commit > 0 {
		verdict = order.Commit
	}
	h.lane.post(order.LaneEvent{Kind: order.LaneSettle, Token: h.token, Verdict: verdict, Done: h.taken, Offset: commit})
}

// take moves up to most messages from the box to the reader's hand.
func (p *pullBox) take(most int) ([]*Message, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return nil, ErrClosed
	}
	if len(p.lost) > 0 {
		q := p.lost[0]
		p.lost = p.lost[1:]
		return nil, &QueueLostError{Queue: q}
	}
	var out []*Message
	var failed error
	kept := p.ready[:0]
	for _, h := range p.ready {
		if failed != nil || len(out) == most || !h.mayBegin() {
			kept = append(kept, h)
			continue
		}
		h.taken = min(len(h.entries), most-len(out))
		ms, err := h.lane.messages(h.entries[:h.taken], h.attempt)
		if err != nil {
			h.taken, failed = 0, err
			kept = append(kept, h)
			continue
		}
		p.queues[h.lane.queue].position = h.entries[h.taken-1].Offset + 1
		h.at = time.Now()
		p.hand = append(p.hand, h)
		out = append(out, ms...)
	}
	clear(p.ready[len(kept):])
	p.ready = kept
	if len(out) > 0 {
		failed = nil // it comes again
	}
	return out, failed
}

// mayBegin looks at the clock: nothing is read of a queue whose broker has not
// been heard. The lane is told to look too, and takes the hand-out back.
func (h *handed) mayBegin() bool {
	if h.lane.held.Load() {
		return false // it is told when that ends
	}
	if h.lane.until() <= h.lane.m.c.now() {
		h.lane.post(order.LaneEvent{Kind: order.LaneTick})
		return false
	}
	return true
}

// find returns the queue if the consumer has it.
func (p *pullBox) find(q Queue) (pullQueue, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.queues[q]; at != nil {
		return *at, true
	}
	return pullQueue{}, false
}

// lanes are those of the queues that the consumer has.
func (p *pullBox) lanes() []*lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*lane, 0, len(p.queues))
	for _, q := range p.queues {
		out = append(out, q.lane)
	}
	return out
}

// close ends every poll.
func (p *pullBox) close() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.letGo(withoutCommit)
	p.call()
}
