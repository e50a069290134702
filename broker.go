// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// broker is this client's view of one broker by name: where it is, and once a
// group was joined, the link and the session through which it knows us.
//
// The goroutine (run) owns what is marked so; others hand it functions through
// do. Requests that belong to a session (lock, pull, commit) go out on the
// link that a heartbeat has joined to it, never on another one.
type broker struct {
	c    *Client
	name string
	log  *slog.Logger
	box  *mailbox[func()]

	kind     atomic.Int32 // brokerKind
	token    atomic.Uint64
	quiet    atomic.Int64                                  // order.Session.Until, published after each step
	grace    atomic.Int64                                  // the smallest of its groups, as a time.Duration
	policies atomic.Pointer[map[string]header.GroupPolicy] // of groups that have one
	link     atomic.Pointer[transport.Conn]

	strikes atomic.Int32 // sends in a row without an answer

	mu   sync.Mutex
	addr string // of the master; empty while no route names one

	// Owned by run.
	conn    *transport.Conn // dialed; it is the link once a heartbeat was answered on it
	core    *order.Session  // nil: the broker has no sessions
	buf     []order.SessionAction
	times   order.SessionConfig
	held    map[string]bool // group -> anything leased
	dialing bool
	dialAt  order.Time
	backoff time.Duration
	beating bool
	beatAt  order.Time
	again   bool // the groups changed while a heartbeat was under way
	joined  bool // session and members know of the present link
	waiting []func(error)
}

type brokerKind int32

const (
	kindUnknown brokerKind = iota
	kindOurs               // has sessions
	kindStock
)

var errNoLink = errors.New("no connection to the broker")

func newBroker(c *Client, name string) *broker {
	return &broker{
		c: c, name: name, log: c.log.With("broker", name), box: newMailbox[func()](),
		held: map[string]bool{}, backoff: firstRetry,
	}
}

// do hands f to the broker's goroutine; it does not run once the client ended.
func (b *broker) do(f func()) { b.box.post(f) }

// met reports whether the broker has ever answered, so that its kind is known.
func (b *broker) met() bool { return brokerKind(b.kind.Load()) != kindUnknown }

// ours reports whether the broker has sessions.
func (b *broker) ours() bool { return brokerKind(b.kind.Load()) == kindOurs }

// until is the moment from which on nothing may be handed out because the
// broker has not been heard.
func (b *broker) until() order.Time { return order.Time(b.quiet.Load()) }

// address is where the broker's master is, as far as any route says.
func (b *broker) address() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.addr == "" {
		return "", fmt.Errorf("no route names a master of broker %s", b.name)
	}
	return b.addr, nil
}

func (b *broker) moved(addr string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addr = addr
}

// run keeps the link and the session for as long as the client lives.
func (b *broker) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-b.box.wake:
			for _, f := range b.box.take() {
				f()
			}
		case <-timer.C:
		}
		b.c.arm(timer, b.drive(b.c.now()))
	}
	b.flush(ErrClosed)
}

// drive does what is due and returns when there is more to do.
func (b *broker) drive(now order.Time) order.Time {
	if !b.c.needsLinks() {
		return order.Never
	}
	next := order.Never
	if b.core != nil {
		if b.core.Next() <= now {
			b.step(order.SessionEvent{Kind: order.SessionTick})
		}
		next = b.core.Next()
	}
	switch {
	case b.conn == nil && b.dialing, b.beating:
	case b.conn == nil && b.dialAt <= now:
		b.dial()
	case b.conn == nil:
		next = min(next, b.dialAt)
	case b.beatAt <= now:
		b.beat()
	default:
		next = min(next, b.beatAt)
	}
	return next
}

// dial makes a connection.
func (b *broker) dial() {
	b.dialing = b.c.spawn(func() {
		conn, err := b.connect()
		b.do(func() { b.dialed(conn, err) })
	})
}

func (b *broker) connect() (*transport.Conn, error) {
	addr, err := b.address()
	if err != nil {
		return nil, err
	}
	ctx, cancel := b.c.requestContext()
	defer cancel()
	return b.c.pool.Get(ctx, addr)
}

func (b *broker) dialed(conn *transport.Conn, err error) {
	b.dialing = false
	if err != nil {
		b.log.Debug("cannot reach the broker; trying again", "err", err)
		b.later()
		b.flush(err)
		return
	}
	b.conn = conn
	b.c.spawn(func() {
		<-conn.Done()
		b.do(func() { b.closed(conn) })
	})
	b.beat()
}

// later puts the next dial off.
func (b *broker) later() {
	b.dialAt = b.c.now().Add(b.backoff)
	b.backoff = min(2*b.backoff, lastRetry)
}

func (b *broker) closed(conn *transport.Conn) {
	if b.conn != conn {
		return
	}
	linked := b.link.Load() != nil
	b.conn, b.beating, b.joined = nil, false, false
	b.link.Store(nil)
	if !linked {
		b.later()
		b.flush(conn.Err())
		return
	}
	b.log.Info("connection to the broker lost", "err", conn.Err())
	b.dialAt = b.c.now()
	if b.core != nil {
		b.step(order.SessionEvent{Kind: order.SessionClosed})
	}
}

// beat sends a heartbeat. It is put together and queued on this goroutine, as
// leaves are, so that none that was made before a leave can follow it.
func (b *broker) beat() {
	conn := b.conn
	b.beating, b.again = true, false
	b.beatAt = b.c.now().Add(b.c.cfg.Heartbeat)
	b.heartbeat(conn, func(answer heartbeatAnswer, err error) {
		b.do(func() {
			if b.conn == conn {
				b.beating = false
				b.answered(answer, err)
			}
		})
	})
}

// answered is the answer to a heartbeat. The first one makes the connection the
// link.
func (b *broker) answered(answer heartbeatAnswer, err error) {
	if err != nil {
		b.log.Warn("heartbeat failed", "err", err)
		if b.link.Load() == nil {
			b.conn.Close(fmt.Errorf("heartbeat failed: %w", err))
			return
		}
	} else {
		b.backoff = firstRetry
		b.learn(answer)
		b.refuse(answer)
		b.link.Store(b.conn)
		b.join()
	}
	if b.again {
		b.beat()
		return
	}
	b.flush(err)
}

// learn takes what a heartbeat's answer says of the broker.
func (b *broker) learn(answer heartbeatAnswer) {
	switch {
	case answer.session:
		b.token.Store(answer.token)
		b.kind.Store(int32(kindOurs))
		b.times = answer.times
		b.grace.Store(int64(answer.times.Grace))
		b.policies.Store(&answer.policies)
		if b.core == nil {
			b.core = order.NewSession(b.times)
		}
		b.step(order.SessionEvent{Kind: order.SessionHolding, Holding: b.holdsAny(), Config: b.times})
	case answer.members && !b.ours():
		b.kind.Store(int32(kindStock))
	}
}

// refuse ends the members whose name another client has.
func (b *broker) refuse(answer heartbeatAnswer) {
	for _, n := range answer.names {
		for _, t := range answer.taken {
			if m := b.c.member(t.Group); m != nil && n.Group == t.Group {
				m.nameTaken(n.Name, t.Name)
			}
		}
	}
}

// join tells the session, or without one the members, of a new link, once a
// heartbeat that names a consumer group was answered on it.
func (b *broker) join() {
	if b.joined || !b.met() {
		return
	}
	b.joined = true
	if b.core != nil {
		b.step(order.SessionEvent{Kind: order.SessionConnected})
	} else {
		b.resume(func() {})
	}
}

// announce sends a heartbeat now, because the client's groups have changed, and
// calls done once the broker has answered one that knows of the change, or has
// failed to.
func (b *broker) announce(done func(error)) {
	b.do(func() {
		b.waiting = append(b.waiting, done)
		switch {
		case b.beating:
			b.again = true
		case b.conn != nil:
			b.beat()
		default:
			b.dialAt = b.c.now()
		}
	})
}

func (b *broker) flush(err error) {
	waiting := b.waiting
	b.waiting = nil
	for _, done := range waiting {
		done(err)
	}
}

// holding says whether a group holds leases at this broker.
func (b *broker) holding(group string, held bool) {
	b.do(func() {
		if b.held[group] = held; !held {
			delete(b.held, group)
		}
		if b.core != nil {
			b.step(order.SessionEvent{Kind: order.SessionHolding, Holding: b.holdsAny(), Config: b.times})
		}
	})
}

func (b *broker) holdsAny() bool { return len(b.held) > 0 }

// step feeds the session's machine and does what it says.
func (b *broker) step(ev order.SessionEvent) {
	b.buf = b.core.Step(b.c.now(), ev, b.buf[:0])
	b.quiet.Store(int64(b.core.Until()))
	for _, a := range append([]order.SessionAction(nil), b.buf...) {
		// Who begins to hold leases has pinged rarely and first asks again: that
		// is no trouble.
		if a.Kind == order.SessionSilent && ev.Kind != order.SessionHolding {
			b.log.Warn("the broker has not been heard for half the grace: nothing is handed out")
		}
		b.act(a)
	}
}

func (b *broker) act(a order.SessionAction) {
	switch a.Kind {
	case order.SessionPing:
		if conn := b.conn; conn != nil {
			b.ping(conn, a.N, a.Ack, func() { b.do(func() { b.step(order.SessionEvent{Kind: order.SessionPong, N: a.N}) }) })
		}
	case order.SessionSilent, order.SessionAlive:
		b.c.eachMember(func(m *member) { m.do(func() { m.heard(b.name) }) })
	case order.SessionResumed:
		b.resume(func() { b.step(order.SessionEvent{Kind: order.SessionProved}) })
	case order.SessionReadFirst:
		b.readFirst(b.conn)
	case order.SessionCloseLinks:
		if conn := b.conn; conn != nil {
			conn.Close(errors.New("the broker is silent"))
		}
	case order.SessionSlow:
		b.log.Warn("answers of the broker take too long for the grace of its groups", "round_trip", a.RTT, "grace_needed", a.Needs)
	}
}

// readFirst takes in what arrived on conn while the process stood still, before
// silence is judged.
func (b *broker) readFirst(conn *transport.Conn) {
	b.c.spawn(func() {
		ctx, cancel := b.c.requestContext()
		defer cancel()
		if conn != nil {
			_ = conn.CaughtUp(ctx) // an ended connection has nothing more to say
		}
		b.do(func() { b.step(order.SessionEvent{Kind: order.SessionRead}) })
	})
}

// resume tells all members that the broker counts on a new link, and calls done
// on b's goroutine when they all know.
func (b *broker) resume(done func()) {
	var told sync.WaitGroup
	b.c.eachMember(func(m *member) {
		told.Add(1)
		if !m.do(func() {
			defer told.Done()
			m.connected(b.name)
		}) {
			told.Done()
		}
	})
	b.c.spawn(func() {
		told.Wait()
		b.do(done)
	})
}
