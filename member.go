// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orderlymq/orderly/internal/order"
)

// member is one consumer: a member of a group from join to leave.
//
// Its own goroutine (run) owns the claims on queues and the table of lanes;
// others hand it functions through do. A second goroutine works out which
// queues should be the member's (rebalance), and each queue that it has is
// driven by a lane.
type member struct {
	c       *Client
	cfg     ConsumerConfig
	id      string // client id within the group
	call    callback
	keyOf   func(*Message) string
	manual  bool
	subs    atomic.Pointer[[]subscription]
	pull    *pullBox // where a pull consumer takes its messages from; nil: they go to call
	version int64    // of the subscription
	log     *slog.Logger
	offsets *offsetFile // broadcasting only

	handlerCtx context.Context
	slots      slots
	callbacks  slots // OnAssign and OnRevoke, one at a time
	wg         sync.WaitGroup

	box     *mailbox[func()]
	kick    chan struct{} // rebalance now
	ended   chan struct{} // closed when nothing is held any more
	refused chan error    // the broker does not let the member in

	// Owned by run.
	claims map[string]*claims // by broker name
	lanes  map[Queue]*lane
	want   map[string][]order.Queue // latest assignment, by broker name
	// wantedSince says since when a queue of want has no lane.
	wantedSince map[Queue]order.Time
	closing     bool
	bound       order.Time // of handlers, once closing
	idleAt      order.Time // when the last lane of a closing member ended
	overrun     []Queue

	resets map[Queue]int64 // set by an operator, to be written down when the lane is over

	ready   readiness
	rates   rates
	rescues atomic.Int64 // by the watchdog

	gaveBack atomic.Bool // a message was sent back: the retry topic is there
	ending   atomic.Bool // close was asked for
}

// locks reports whether the member's queues are locked at the broker.
func (c *ConsumerConfig) locks() bool { return !c.Broadcast && c.Order != Unordered }

// do hands f to the member's goroutine. It reports false if the member is over
// and f will not run.
func (m *member) do(f func()) bool { return m.box.post(f) }

// rebalance asks for a new look at the assignment.
func (m *member) rebalance() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

func (m *member) backoff(b *broker, attempt int) time.Duration {
	d := time.Second
	if own := b.policy(m.cfg.Group).backoff(attempt); own > 0 {
		d = own
	} else if m.cfg.Backoff != nil {
		d = m.cfg.Backoff(attempt)
	}
	return min(max(d, minBackoff), maxBackoff)
}

// run owns the member's state until nothing is held any more.
func (m *member) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-m.box.wake:
			for _, f := range m.box.take() {
				f()
			}
		case <-timer.C:
		}
		next := order.Never
		for _, c := range m.claims {
			next = min(next, c.tick(m.c.now()))
		}
		if m.over() {
			break
		}
		m.c.arm(timer, min(next, m.giveUpAt()))
	}
	for _, f := range m.box.close() {
		f()
	}
	close(m.ended)
}

// over reports whether a closing member holds nothing any more. Locks that
// cannot be given back, because the broker is away or does not answer, are left
// to the leave, which frees them too.
func (m *member) over() bool {
	if !m.closing || len(m.lanes) > 0 {
		return false
	}
	for _, c := range m.claims {
		if !c.closed && c.b.link.Load() != nil {
			return m.c.now() >= m.giveUpAt()
		}
	}
	return true
}

// giveUpAt is when a member that closes and has no lane left waits no longer for
// answers to its unlocks.
func (m *member) giveUpAt() order.Time {
	if !m.closing || len(m.lanes) > 0 {
		m.idleAt = order.Never
		return order.Never
	}
	if m.idleAt == order.Never {
		m.idleAt = m.c.now()
	}
	return m.idleAt.Add(m.c.cfg.RequestTimeout)
}

// assign is a new assignment: all queues that should be the member's.
func (m *member) assign(a assignment) {
	if m.closing {
		return
	}
	for name := range m.want {
		if !slices.Contains(a.unknown, name) {
			delete(m.want, name)
		}
	}
	for _, q := range a.queues {
		m.want[q.Broker] = append(m.want[q.Broker], order.Queue{Topic: q.Topic, ID: int32(q.ID)})
	}
	m.noteWanted()
	if len(a.unknown) == 0 {
		m.ready.assigned(a.queues)
	}
	for name := range m.claims {
		if _, wanted := m.want[name]; !wanted {
			m.want[name] = nil
		}
	}
	for name := range m.want {
		m.claim(name)
	}
}

// noteWanted keeps wantedSince up to date.
func (m *member) noteWanted() {
	since := map[Queue]order.Time{}
	for name, queues := range m.want {
		for _, w := range queues {
			q := Queue{Topic: w.Topic, Broker: name, ID: int(w.ID)}
			if m.lanes[q] != nil {
				continue
			}
			at, known := m.wantedSince[q]
			if !known {
				at = m.c.now()
			}
			since[q] = at
		}
	}
	m.wantedSince = since
}

// claim makes the claims on one broker what the assignment wants. A broker
// that has not been met yet is waited for: until then nobody knows by which
// rules its locks go.
func (m *member) claim(name string) {
	c := m.claims[name]
	if c == nil {
		b := m.c.broker(name)
		if !b.met() {
			return
		}
		c = newClaims(m, b)
		m.claims[name] = c
	}
	c.step(order.ClaimEvent{Kind: order.ClaimAssign, Queues: m.want[name]})
}

// connected is news that a session has a (new) link.
func (m *member) connected(name string) {
	if c := m.claims[name]; c != nil {
		c.step(order.ClaimEvent{Kind: order.ClaimResumed})
	} else if !m.closing && m.want[name] != nil {
		m.claim(name)
	}
	m.rebalance()
}

// notice is news from a broker that the group has changed or a lock is free.
func (m *member) notice() {
	for _, c := range m.claims {
		c.step(order.ClaimEvent{Kind: order.ClaimNotice})
	}
	m.rebalance()
}

// heard is news that the session with a broker fell silent or came back.
func (m *member) heard(name string) {
	for q, l := range m.lanes {
		if q.Broker == name {
			l.post(order.LaneEvent{Kind: order.LaneTick})
		}
	}
}

// start makes a lane for a granted queue.
func (m *member) start(b *broker, grant order.Grant, until order.Time) {
	q := Queue{Topic: grant.Queue.Topic, Broker: b.name, ID: int(grant.Queue.ID)}
	l := newLane(m, b, q, grant)
	l.bound.Store(int64(until))
	m.lanes[q] = l
	delete(m.wantedSince, q)
	m.hold(b)
	m.wg.Go(l.run)
}

// hold tells the session whether anything is leased through it, which decides
// how often it pings.
func (m *member) hold(b *broker) {
	held := false
	for q := range m.lanes {
		held = held || q.Broker == b.name
	}
	b.holding(m.cfg.Group, held && m.cfg.locks())
}

// laneOver takes the lane out of the table and tells the claims. It is called
// by the lane's goroutine, last thing.
func (m *member) laneOver(l *lane) {
	m.do(func() {
		delete(m.lanes, l.queue)
		m.noteWanted()
		m.hold(l.b)
		m.ready.drop(l.queue)
		if l.released.Overrun {
			m.overrun = append(m.overrun, l.queue)
		}
		m.writeReset(l, func() {
			m.claims[l.b.name].step(order.ClaimEvent{
				Kind:    order.ClaimReleased,
				Queue:   order.Queue{Topic: l.queue.Topic, ID: int32(l.queue.ID)},
				Overrun: l.released.Overrun,
			})
		})
	})
}

// close gives everything up; handlers may run until bound.
func (m *member) close(bound time.Duration) {
	m.closing = true
	m.bound = m.c.now().Add(bound)
	for _, c := range m.claims {
		c.step(order.ClaimEvent{Kind: order.ClaimClose, Deadline: m.bound})
	}
}

// nameTaken ends a member that the broker does not let in under its name.
func (m *member) nameTaken(name, holder string) {
	if name != m.cfg.MemberName {
		return // a former member of the group had that one
	}
	select {
	case m.refused <- &MemberNameError{Group: m.cfg.Group, MemberName: name, Holder: holder}:
	default:
	}
}

// notify runs one of the user's callbacks, one at a time.
func (m *member) notify(f func([]Queue), q Queue) {
	if f == nil {
		return
	}
	if m.callbacks.enter(m.handlerCtx) {
		defer m.callbacks.leave()
		f([]Queue{q})
	}
}

// settled says that the queue's first pull is on its way.
func (m *member) settled(q Queue) { m.do(func() { m.ready.drop(q) }) }

// readiness finds the moment at which every queue of the first assignment has
// either begun or turned out to be another member's.
type readiness struct {
	tell    func() // nil once told
	known   bool   // an assignment was seen
	waiting []Queue
}

func (r *readiness) assigned(queues []Queue) {
	if !r.known {
		r.known = true
		r.waiting = slices.Clone(queues)
	}
	r.check()
}

func (r *readiness) drop(q Queue) {
	r.waiting = slices.DeleteFunc(r.waiting, func(w Queue) bool { return w == q })
	r.check()
}

func (r *readiness) check() {
	if r.known && len(r.waiting) == 0 && r.tell != nil {
		r.tell()
		r.tell = nil
	}
}
