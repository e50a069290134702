// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// leaseModel feeds a lease table with raw requests of stock clients and of
// ours, right and wrong ones, and keeps a naive record of who holds what.
type leaseModel struct {
	table *Leases
	now   Time
	links map[LinkID]*modelLink
	last  LinkID
	heard map[Token]Time // ours: last refresh
	quiet map[Token]Time // ours: when the last open link closed
	locks map[Queue]Time // stock: last lock
	holds map[Queue]*modelLease
	pos   map[Queue]int64
	epoch Epoch // the highest one given
	tag   uint64
	asked map[uint64]bool // commits and pulls without an answer
	fed   LeaseEvent
	check func(m *leaseModel, a *LeaseAction)
	bad   string
	log   []string
}

type modelLink struct {
	client  string
	session Token
	host    string
	joined  bool
	sent    Time // of the last answer sent on it
}

type modelLease struct {
	client  string
	session Token
	epoch   Epoch
}

func (m *leaseModel) fail(format string, args ...any) {
	if m.bad == "" {
		m.bad = fmt.Sprintf(format, args...)
	}
}

var modelQueues = []Queue{{"T", 0}, {"T", 1}, {"U", 0}}

func newLeaseModel(c chooser, check func(*leaseModel, *LeaseAction)) *leaseModel {
	cfg := LeaseConfig{Grace: time.Second, Lease: 3 * time.Second, StockFastRelease: c.pick("fast", 2) == 0}
	m := &leaseModel{
		table: NewLeases(cfg), links: map[LinkID]*modelLink{}, heard: map[Token]Time{}, quiet: map[Token]Time{},
		locks: map[Queue]Time{}, holds: map[Queue]*modelLease{}, pos: map[Queue]int64{}, asked: map[uint64]bool{}, check: check,
	}
	for _, q := range modelQueues {
		m.pos[q] = Unknown
	}
	m.feed(LeaseEvent{Kind: LeaseEpochs, Epoch: 1, EpochEnd: 100000})
	return m
}

// feed feeds one event and takes note of what the table does.
func (m *leaseModel) feed(ev LeaseEvent) {
	m.fed = ev
	if ev.Kind == LeaseCommit || ev.Kind == LeasePull {
		m.asked[ev.Tag] = true
	}
	m.log = append(m.log, fmt.Sprintf("%v %+v", time.Duration(m.now), ev))
	for _, a := range m.table.Step(m.now, &ev, nil) {
		m.log = append(m.log, fmt.Sprintf("    %+v", a))
		m.check(m, &a)
		m.note(&a)
	}
	m.check(m, nil)
}

func (m *leaseModel) note(a *LeaseAction) {
	switch a.Kind {
	case LeaseGranted:
		m.holds[a.Queue] = &modelLease{a.Client, a.Session, a.Epoch}
		m.pos[a.Queue] = a.Offset
		m.epoch = max(m.epoch, a.Epoch)
	case LeaseFreed:
		delete(m.holds, a.Queue)
	case LeaseStored:
		m.pos[a.Queue] = a.Offset
	case LeaseMoved:
		m.pos[a.Queue] = a.Offset
		m.epoch = max(m.epoch, a.Epoch)
		if h := m.holds[a.Queue]; h != nil {
			h.epoch = a.Epoch
		}
	}
}

// move makes one random move.
func (m *leaseModel) move(c chooser) {
	m.tag++
	q := modelQueues[c.pick("queue", len(modelQueues))]
	id, l := m.pickLink(c)
	ev := LeaseEvent{Tag: m.tag, Link: id, Host: l.host, Client: l.client, Session: l.session, Queue: q, Queues: []Queue{q}, Ordered: true}
	if l.session != 0 && c.pick("with epoch", 4) != 0 {
		ev.Epoch = max(1, m.epochOf(q)-Epoch(c.pick("old", 2)))
	}
	switch c.pick("move", 13) {
	case 0:
		ev.Kind = LeaseJoin
		l.joined = true
	case 1:
		if l.joined && l.session != 0 {
			ev.Kind, ev.Sent = LeaseRefresh, l.sent
			m.heard[l.session] = max(m.heard[l.session], l.sent)
			m.feed(ev)
			l.sent = m.now
		}
		return
	case 2:
		ev.Kind = LeaseClosed
		delete(m.links, id)
	case 3:
		if c.pick("leave", 3) != 0 {
			return
		}
		ev.Kind = LeaseLeave
		l.joined = false
	case 4, 5:
		ev.Kind, ev.Starts = LeaseLock, []int64{int64(c.pick("start", 5))}
		if c.pick("all", 3) == 0 {
			ev.Queues, ev.Starts = modelQueues, []int64{0, 1, 2}
		}
		l.joined = l.joined || l.session == 0
	case 6:
		ev.Kind = LeaseUnlock
		if c.pick("all", 2) == 0 {
			ev.Queues = modelQueues
		}
	case 7:
		ev.Kind, ev.Offset = LeasePull, max(0, m.pos[q])
	case 8, 9:
		ev.Kind, ev.Offset = LeaseCommit, m.pos[q]+int64(c.pick("by", 5))-2
		ev.Async, ev.Known = c.pick("async", 8) != 0, c.pick("known", 2) == 0
	case 10:
		if c.pick("operator", 6) != 0 {
			return
		}
		ev.Kind, ev.Offset = LeaseReset, int64(c.pick("to", 10))
		if c.pick("verb", 3) == 0 {
			ev.Kind = LeaseRelease
		}
	default:
		m.advance(m.now.Add(time.Duration(1+c.pick("ms", 1500)) * time.Millisecond))
		return
	}
	m.feed(ev)
}

// pickLink returns a link, often a new one.
func (m *leaseModel) pickLink(c chooser) (LinkID, *modelLink) {
	if n := c.pick("link", 6); n > 0 && m.last > 0 {
		if id := m.last - LinkID(c.pick("which", int(min(m.last, 6)))); m.links[id] != nil {
			return id, m.links[id]
		}
	}
	m.last++
	who := c.pick("who", 4)
	l := &modelLink{client: fmt.Sprint("c", who), host: fmt.Sprint("h", who), sent: m.now}
	if who >= 2 {
		l.session = Token(who)
	}
	m.links[m.last] = l
	return m.last, l
}

func (m *leaseModel) epochOf(q Queue) Epoch {
	if h := m.holds[q]; h != nil {
		return h.epoch
	}
	return m.epoch
}

func (m *leaseModel) advance(to Time) {
	for range 10000 {
		next := m.table.Next()
		if next > to {
			m.now = to
			return
		}
		m.now = max(m.now, next)
		m.feed(LeaseEvent{Kind: LeaseTick})
		if m.table.Next() <= m.now {
			m.fail("a tick at %v is due again at %v", clock(m.now), clock(m.table.Next()))
			return
		}
	}
	m.fail("ticks do not end")
}

// leaseHistories checks an invariant over random histories.
func leaseHistories(t *testing.T, check func(m *leaseModel, a *LeaseAction)) {
	t.Helper()
	for seed := range uint64(400 / share) {
		c := randChooser{rand.New(rand.NewPCG(seed, 3))}
		m := newLeaseModel(c, check)
		for range 150 {
			if m.move(c); m.bad != "" {
				for _, line := range m.log {
					t.Log(line)
				}
				t.Fatalf("seed %d: %s", seed, m.bad)
			}
		}
	}
}

func TestAQueueHasOneHolder(t *testing.T) {
	leaseHistories(t, func(m *leaseModel, a *LeaseAction) {
		if a == nil {
			return
		}
		h := m.holds[a.Queue]
		switch a.Kind {
		case LeaseGranted:
			switch {
			case a.Fresh && h != nil:
				m.fail("%v is granted to %s while %s holds it", a.Queue, a.Client, h.client)
			case !a.Fresh && (h == nil || h.client != a.Client || h.session != a.Session || h.epoch != a.Epoch):
				m.fail("%+v is no renewal of %+v", a, h)
			}
		case LeaseFreed:
			if h == nil || h.epoch != a.Epoch {
				m.fail("%+v ends %+v", a, h)
			}
		}
	})
}

func TestEpochsOnlyGrow(t *testing.T) {
	leaseHistories(t, func(m *leaseModel, a *LeaseAction) {
		if a != nil && (a.Kind == LeaseGranted && a.Fresh || a.Kind == LeaseMoved) && a.Epoch <= m.epoch {
			m.fail("epoch %d after %d", a.Epoch, m.epoch)
		}
	})
}

func TestOnlyTheHolderCommits(t *testing.T) {
	leaseHistories(t, func(m *leaseModel, a *LeaseAction) {
		if a == nil || a.Kind != LeaseStored || a.Tag == 0 || m.fed.Kind != LeaseCommit {
			return
		}
		h := m.holds[a.Queue]
		switch {
		case h == nil:
		case h.session != m.fed.Session, h.session == 0 && h.client != m.fed.Client:
			m.fail("%+v is stored, %+v holds the queue", m.fed, h)
		case h.session != 0 && m.fed.Epoch != h.epoch:
			m.fail("a commit under epoch %d is stored, the lease is %d", m.fed.Epoch, h.epoch)
		}
	})
}

func TestPositionsNeverGoBack(t *testing.T) {
	leaseHistories(t, func(m *leaseModel, a *LeaseAction) {
		switch {
		case a == nil:
		case (a.Kind == LeaseStored || a.Kind == LeaseGranted) && a.Offset < m.pos[a.Queue]:
			m.fail("%v goes back from %d to %d", a.Queue, m.pos[a.Queue], a.Offset)
		case a.Kind == LeaseMoved && m.fed.Kind == LeaseCommit && m.fed.Session != 0:
			m.fail("a commit of ours moved %v", a.Queue)
		}
		for _, q := range modelQueues {
			if a == nil && m.table.Position(q) != m.pos[q] {
				m.fail("%v is at %d, stored was %d", q, m.table.Position(q), m.pos[q])
			}
		}
	})
}

func TestEveryRequestIsAnsweredOnce(t *testing.T) {
	leaseHistories(t, func(m *leaseModel, a *LeaseAction) {
		if a == nil {
			if (m.fed.Kind == LeaseCommit || m.fed.Kind == LeasePull) && m.asked[m.fed.Tag] && !waits(m.table, m.fed.Tag) {
				m.fail("%+v has no answer", m.fed)
			}
			return
		}
		switch a.Kind {
		case LeaseStored, LeaseDropped, LeaseMoved, LeaseServe, LeasePark, LeaseFence:
			if a.Tag == 0 || m.fed.Kind == LeaseReset {
				return
			}
			if !m.asked[a.Tag] {
				m.fail("%+v answers nothing", a)
			}
			delete(m.asked, a.Tag)
		}
	})
}

func waits(t *Leases, tag uint64) bool {
	for i := range t.waits {
		if t.waits[i].Tag == tag {
			return true
		}
	}
	return false
}

// TestNoLeaseEndsEarly: by time, a lease of ours ends not before G after the
// session was last heard of, a stock one not before 31 s after its last lock,
// or 5 s after a close.
func TestNoLeaseEndsEarly(t *testing.T) {
	leaseHistories(t, func(m *leaseModel, a *LeaseAction) {
		if a == nil {
			return
		}
		if a.Kind == LeaseGranted {
			m.locks[a.Queue] = m.now
		}
		if a.Kind != LeaseFreed || m.fed.Kind != LeaseTick {
			return
		}
		switch a.Why {
		case WhyClosed, WhySilent:
			if a.Session != 0 && m.now < m.heard[a.Session].Add(time.Second) {
				m.fail("%+v at %v, heard at %v", a, clock(m.now), clock(m.heard[a.Session]))
			}
			if a.Session == 0 && !m.table.cfg.StockFastRelease && m.now < m.locks[a.Queue].Add(31*time.Second) {
				m.fail("%+v at %v, locked at %v", a, clock(m.now), clock(m.locks[a.Queue]))
			}
		case WhyExpired:
			if m.now < m.locks[a.Queue].Add(60*time.Second) {
				m.fail("%+v at %v, locked at %v", a, clock(m.now), clock(m.locks[a.Queue]))
			}
		}
	})
}
