// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"sync"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store/meta"
)

// group is a consumer group at work: its lease table and who is connected.
//
// Every event of the group is one step of its table, under mu; nothing waits
// there. What a step decided is queued as a work and leaves the queue in the
// order of the steps: its changes go to the change log, and only when they are
// written are its actions carried out, answers included.
type group struct {
	b    *Broker
	name string

	mu        sync.Mutex
	leases    *order.Leases
	buf       []order.LeaseAction
	bell      *alarm // when the table wants a tick
	asks      map[uint64]*ask
	lastTag   uint64
	works     []*work              // decided, not yet handed to the change log
	flushing  bool                 // somebody hands works over
	unsettled int                  // works decided and not yet carried out
	resets    map[order.Queue]bool // queues with a reset that is not taken up

	refusals refusals
	// deliveries to the holders of ours, by queue
	deliveries map[order.Queue]delivery
	members    members
	notices    notices
	assigned   map[string]*stickyState // by topic; of the sticky strategy
}

// ask is a request whose answer a lease table decides.
type ask struct {
	// settled and attempts come with a commit.
	settled  []meta.Range
	attempts []meta.Attempt
	replace  bool
	// member and host come with a lock: who is granted what.
	member, host string
	// done is called once, when everything that the table decided is written,
	// with the actions that carry the request's tag. It must not block.
	done func(acts []order.LeaseAction, err error)

	tag  uint64
	acts []order.LeaseAction
}

// work is what one step decided.
type work struct {
	acts    []order.LeaseAction
	changes []meta.Change
	asks    []*ask // to be answered
	crashes []crash
}

func newGroup(b *Broker, name string) *group {
	g := &group{b: b, name: name, asks: map[uint64]*ask{}, resets: map[order.Queue]bool{}, deliveries: map[order.Queue]delivery{}}
	g.bell = newAlarm(func() { g.feedSoon(&order.LeaseEvent{Kind: order.LeaseTick}) })
	g.notices = notices{byLink: map[order.LinkID]*notice{}, bell: newAlarm(g.notify)}
	g.leases = order.NewLeases(b.leaseConfig(name))
	g.restore()
	return g
}

// restore puts back what is stored of the group.
func (g *group) restore() {
	now := g.b.clock.now()
	for key, q := range g.b.meta.View().QueuesOf(g.name) {
		if q.Reset.Pending {
			g.resets[order.Queue{Topic: key.Topic, ID: key.Queue}] = true
		}
		g.leases.Step(now, &order.LeaseEvent{
			Kind: order.LeaseRestore, Queue: order.Queue{Topic: key.Topic, ID: key.Queue},
			Epoch: order.Epoch(q.Epoch), Offset: q.Committed, Reset: q.Reset.Pending,
			Client: q.Lease.Holder, Session: order.Token(q.Lease.Session), Name: q.Lease.Member, Host: q.Lease.Host,
		}, nil)
	}
	if first, end, ok := g.b.epochs.take(); ok {
		g.leases.Step(now, &order.LeaseEvent{Kind: order.LeaseEpochs, Epoch: first, EpochEnd: end}, nil)
	}
	g.b.alarms.set(g.bell, g.leases.Next())
}

// feed has the table decide on ev. With an ask it answers it later.
func (g *group) feed(ev *order.LeaseEvent, a *ask) {
	g.mu.Lock()
	g.step(ev, a)
	g.mu.Unlock()
	g.flush()
}

// linkGone takes a connection out of the group, by how it went. The members and
// the table change in one step: in between, a member that leaves would be
// neither gone nor known to be closing, and be given queues.
func (g *group) linkGone(id order.LinkID, how order.LeaseEventKind, a *ask) {
	g.mu.Lock()
	g.members.remove(id)
	g.step(&order.LeaseEvent{Kind: how, Link: id}, a)
	g.mu.Unlock()
	g.flush()
}

// feedSoon is feed for goroutines that must not wait for the change log.
func (g *group) feedSoon(ev *order.LeaseEvent) {
	g.mu.Lock()
	g.step(ev, nil)
	pending := len(g.works) > 0 && !g.flushing
	g.mu.Unlock()
	if pending {
		g.b.background(func(context.Context) { g.flush() })
	}
}

// step runs one step of the table and queues what it decided; g.mu is held.
func (g *group) step(ev *order.LeaseEvent, a *ask) {
	if a != nil {
		g.lastTag++
		a.tag, ev.Tag = g.lastTag, g.lastTag
		g.asks[a.tag] = a
	}
	acts := g.leases.Step(g.b.clock.now(), ev, g.buf[:0])
	g.buf = acts
	g.b.alarms.set(g.bell, g.leases.Next())
	if len(acts) == 0 && a == nil {
		return
	}
	w := &work{acts: append([]order.LeaseAction(nil), acts...)}
	for _, act := range acts {
		g.change(w, act)
		g.answers(w, act)
	}
	if a != nil && a.acts == nil && g.asks[a.tag] == a { // an event that has no action of its own
		delete(g.asks, a.tag)
		w.asks = append(w.asks, a)
	}
	g.works = append(g.works, w)
	g.unsettled++
}

// answers gives an action to the ask that it answers.
func (g *group) answers(w *work, act order.LeaseAction) {
	a := g.asks[act.Tag]
	if act.Tag == 0 || a == nil {
		return
	}
	if act.Kind == order.LeaseWait {
		a.acts = []order.LeaseAction{}
		return
	}
	a.acts = append(a.acts, act)
	for _, seen := range w.asks {
		if seen == a {
			return
		}
	}
	w.asks = append(w.asks, a)
}

// change adds the stored form of an action to the work.
func (g *group) change(w *work, act order.LeaseAction) {
	key := meta.QueueKey{Group: g.name, Topic: act.Queue.Topic, Queue: act.Queue.ID}
	at := g.b.clock.at()
	switch act.Kind {
	case order.LeaseGranted:
		if act.Start {
			w.changes = append(w.changes,
				meta.FixStart{QueueKey: key, Offset: act.Offset},
				meta.Commit{QueueKey: key, Offset: act.Offset, At: at})
		}
		if act.Fresh {
			w.changes = append(w.changes, meta.GrantLease{QueueKey: key, Lease: g.lease(act, at)})
		}
		g.takenUp(w, act, key)
	case order.LeaseFreed:
		w.changes = append(w.changes, meta.DropLease{QueueKey: key, Epoch: uint64(act.Epoch)})
		g.crashed(w, act, key)
	case order.LeaseStored:
		c := meta.Commit{QueueKey: key, Offset: act.Offset, Epoch: uint64(act.Epoch), At: at}
		if a := g.asks[act.Tag]; a != nil {
			c.Settled, c.Attempts, c.Replace = a.settled, a.attempts, a.replace
		}
		w.changes = append(w.changes, c)
		g.takenUp(w, act, key)
	case order.LeasePassed:
		g.passed(act)
	case order.LeaseMoved:
		g.resets[act.Queue] = true
		w.changes = append(w.changes, meta.ResetOffset{
			QueueKey: key, Offset: act.Offset, Epoch: uint64(act.Epoch), Sticky: true, At: at,
		})
	}
}

// takenUp stores that a reset is over, if one was pending.
func (g *group) takenUp(w *work, act order.LeaseAction, key meta.QueueKey) {
	if !act.Reset && g.resets[act.Queue] {
		delete(g.resets, act.Queue)
		w.changes = append(w.changes, meta.ClearReset{QueueKey: key})
	}
}

// lease is a granted lease as it is stored.
func (g *group) lease(act order.LeaseAction, at meta.Time) meta.Lease {
	l := meta.Lease{
		Holder: act.Client, Session: uint64(act.Session), Kind: meta.LeaseStock, Epoch: uint64(act.Epoch), GrantedAt: at,
	}
	if act.Session != 0 {
		l.Kind = meta.LeaseOurs
	}
	if a := g.asks[act.Tag]; a != nil {
		l.Member, l.Host = a.member, a.host
	}
	return l
}
