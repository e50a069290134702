// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"
	"slices"
	"time"
)

// world is a broker with its lease table and some members of ours, each with
// its session, claims and lanes, and FIFO links between them. It is what a
// driver does, without the rest, and it checks the promise at every step.
//
// Pings are answered at once; everything else waits in a link until it is
// delivered. That, handlers' ends, faults and time are the moves of the tests.
type world struct {
	cfg     worldConfig
	now     Time
	table   *Leases
	members []*client
	end     []int64 // per queue: messages stored
	links   LinkID
	tokens  Token
	epochs  Epoch

	done     []map[int64]bool // per queue: handled with success
	base     []int64          // per queue: lowest offset that the group had to handle (start, or a reset)
	top      []int64          // per queue: highest position seen since the last reset
	settled  [][]Range        // per queue: as stored
	attempts [][]Attempt      // per queue: as stored
	applied  int              // changes stored, for the record
	bad      string           // the first broken promise
	log      func(string)     // nil: no trace

	faults faults // of the exhaustive search: what may still go wrong
	path   *step
}

type worldConfig struct {
	queues   int
	messages int64 // per queue
	lane     LaneConfig
	lease    LeaseConfig
	keys     uint64 // by key: offset mod keys + 1; 0: none
}

// client is a member.
type client struct {
	id      int
	token   Token // of the process
	session *Session
	pings   PingLog
	claims  *Claims
	lanes   []*laneDriver // per queue
	link    LinkID        // 0: down
	gone    bool          // crashed, or not yet started
	frozen  bool
	in, out []packet
	lost    []packet // requests that get no answer, to be found out by a frozen member
}

// laneDriver is a lane with its handlers.
type laneDriver struct {
	lane  *Lane
	until Time
	runs  []handler
	base  int64
	done  map[int64]bool // succeeded here, or settled by an earlier owner
}

type handler struct {
	token   LaneToken
	offsets []int64
	cancel  Time // Never: not cancelled
	paused  bool // its process was frozen: the promise says nothing of it
}

// packet is something on a link.
type packet struct {
	kind     packetKind
	link     LinkID
	id       uint64
	queue    int
	queues   []Queue
	grants   []Grant
	offset   int64
	epoch    Epoch
	attempts []Attempt
	settled  []Range
	failed   bool
	fenced   bool
	refill   bool
	entries  []Entry
}

type packetKind uint8

const (
	packetLock packetKind = iota
	packetUnlock
	packetPull
	packetCommit
	packetNotice
	packetReset
)

func newWorld(cfg worldConfig, members int) *world {
	w := &world{cfg: cfg, table: NewLeases(cfg.lease)}
	w.table.Step(0, &LeaseEvent{Kind: LeaseEpochs, Epoch: 1, EpochEnd: 1 << 20}, nil)
	for range cfg.queues {
		w.end = append(w.end, cfg.messages)
		w.done = append(w.done, map[int64]bool{})
		w.base = append(w.base, 0)
		w.top = append(w.top, 0)
		w.settled, w.attempts = append(w.settled, nil), append(w.attempts, nil)
	}
	for i := range members {
		w.members = append(w.members, &client{id: i, gone: true})
	}
	return w
}

func (w *world) trace(what string, v any, _ *packet) {
	if w.log != nil {
		w.log(fmt.Sprintf("%v %s %+v", time.Duration(w.now), what, v))
	}
}

func worldQueue(i int) Queue { return Queue{Topic: "T", ID: int32(i)} }

func (w *world) fail(format string, args ...any) {
	if w.bad == "" {
		w.bad = fmt.Sprintf("at %v: ", time.Duration(w.now)) + fmt.Sprintf(format, args...)
	}
}

// start brings a member up.
func (w *world) start(c *client) {
	w.tokens++
	*c = client{id: c.id, token: w.tokens, lanes: make([]*laneDriver, w.cfg.queues)}
	c.session = NewSession(SessionConfig{Grace: w.table.cfg.Grace, Lease: w.table.cfg.Lease})
	c.claims = NewClaims(ClaimConfig{})
	w.connect(c)
}

// connect opens a link and joins.
func (w *world) connect(c *client) {
	w.links++
	c.link, c.pings = w.links, PingLog{}
	c.in, c.out = nil, nil
	w.broker(&LeaseEvent{Kind: LeaseJoin, Link: c.link, Host: "h", Client: fmt.Sprint("c", c.id), Session: c.token}, nil, nil)
	w.sessionStep(c, SessionEvent{Kind: SessionConnected})
	w.assign(c)
}

// disconnect ends the link on both sides; what is on it is lost.
func (w *world) disconnect(c *client) {
	if c.link == 0 {
		return
	}
	w.broker(&LeaseEvent{Kind: LeaseClosed, Link: c.link}, nil, nil)
	lost := c.out
	answers := c.in
	c.link, c.in, c.out = 0, nil, nil
	if c.gone {
		return
	}
	w.sessionStep(c, SessionEvent{Kind: SessionClosed})
	for _, p := range append(lost, answers...) {
		w.noAnswer(c, p)
	}
}

// noAnswer tells the machine that asked for p that no answer comes.
func (w *world) noAnswer(c *client, p packet) {
	switch p.kind {
	case packetLock, packetUnlock:
		w.claimStep(c, &ClaimEvent{Kind: ClaimFailed, ID: p.id})
	case packetPull:
		kind := LanePullFailed
		if p.refill {
			kind = LaneRefillFailed
		}
		w.laneStep(c, p.queue, &LaneEvent{Kind: kind, Delay: 10 * time.Millisecond})
	case packetCommit:
		w.laneStep(c, p.queue, &LaneEvent{Kind: LaneCommitted, ID: p.id, Failed: true})
	}
}

// crash ends a member without a word.
func (w *world) crash(c *client) {
	c.gone = true
	w.disconnect(c)
	*c = client{id: c.id, gone: true}
}

// sessionStep feeds the session and carries its actions out.
func (w *world) sessionStep(c *client, ev SessionEvent) {
	for _, a := range c.session.Step(w.now, ev, nil) {
		switch a.Kind {
		case SessionPing:
			if c.link == 0 {
				continue
			}
			if sent, ok := c.pings.Sent(a.Ack); ok {
				w.broker(&LeaseEvent{Kind: LeaseRefresh, Link: c.link, Sent: sent}, nil, nil)
			}
			c.pings.Answered(a.N, w.now)
			w.sessionStep(c, SessionEvent{Kind: SessionPong, N: a.N})
		case SessionSilent, SessionAlive:
			w.tickLanes(c)
		case SessionResumed:
			w.claimStep(c, &ClaimEvent{Kind: ClaimResumed})
			w.sessionStep(c, SessionEvent{Kind: SessionProved})
		case SessionReadFirst:
			w.sessionStep(c, SessionEvent{Kind: SessionRead})
		case SessionCloseLinks:
			w.disconnect(c)
			w.connect(c)
		}
	}
}

func (w *world) tickLanes(c *client) {
	for q := range c.lanes {
		w.laneStep(c, q, &LaneEvent{Kind: LaneTick})
	}
}

// claimStep feeds the claims and carries their actions out.
func (w *world) claimStep(c *client, ev *ClaimEvent) {
	acts := c.claims.Step(w.now, ev, nil)
	w.trace(fmt.Sprint("claims of ", c.id), ev, nil)
	for i := range acts {
		acts[i].Queues = append([]Queue(nil), acts[i].Queues...)
	}
	for _, a := range acts {
		w.trace("  does", a, nil)
		q := int(a.Queue.ID)
		switch a.Kind {
		case ClaimLock:
			w.send(c, packet{kind: packetLock, id: a.ID, queues: a.Queues})
		case ClaimUnlock:
			w.send(c, packet{kind: packetUnlock, id: a.ID, queues: a.Queues})
		case ClaimStart:
			if c.lanes[q] != nil {
				w.fail("member %d has two lanes for queue %d", c.id, q)
			}
			c.lanes[q] = newLaneDriver(w.cfg.lane, &a)
			w.sessionStep(c, SessionEvent{Kind: SessionHolding, Holding: true, Config: c.session.cfg})
			w.laneStep(c, q, &LaneEvent{Kind: LaneStart, Grant: a.Grant})
		case ClaimHold:
			w.laneStep(c, q, &LaneEvent{Kind: LaneHold})
		case ClaimGo:
			w.laneStep(c, q, &LaneEvent{Kind: LaneGo})
		case ClaimRevoke:
			w.laneStep(c, q, &LaneEvent{Kind: LaneRevoke, Deadline: a.Deadline})
		case ClaimLost:
			w.laneStep(c, q, &LaneEvent{Kind: LaneLost})
		}
	}
}

func newLaneDriver(cfg LaneConfig, a *ClaimAction) *laneDriver {
	d := &laneDriver{lane: NewLane(cfg), until: a.Until, base: a.Grant.Offset, done: map[int64]bool{}}
	for _, r := range a.Grant.Settled {
		for o := r.From; o < r.To; o++ {
			d.done[o] = true
		}
	}
	return d
}

// laneStep feeds the lane of queue q, if there is one.
func (w *world) laneStep(c *client, q int, ev *LaneEvent) {
	d := c.lanes[q]
	if d == nil {
		return
	}
	ev.Until = min(d.until, c.session.Until())
	w.trace(fmt.Sprint("lane ", q, " of ", c.id), ev, nil)
	for _, a := range d.lane.Step(w.now, ev, nil) {
		w.trace("  does", a, nil)
		switch a.Kind {
		case LanePull:
			w.send(c, packet{kind: packetPull, queue: q, offset: a.Offset, epoch: a.Epoch})
		case LaneRefill:
			w.send(c, packet{kind: packetPull, queue: q, offset: a.Offset, epoch: a.Epoch, refill: true})
		case LaneHandOut:
			w.handOut(c, q, d, a)
		case LaneCancel:
			for i := range d.runs {
				if d.runs[i].token == a.Token {
					d.runs[i].cancel = w.now
				}
			}
		case LaneCommit:
			w.send(c, packet{kind: packetCommit, id: a.ID, queue: q, offset: a.Offset, epoch: a.Epoch, settled: d.lane.AppendSettled(nil), attempts: d.lane.AppendAttempts(nil)})
		case LaneReleased:
			c.lanes[q] = nil
			w.claimStep(c, &ClaimEvent{Kind: ClaimReleased, Queue: worldQueue(q), Overrun: a.Overrun})
		}
	}
}

// handOut starts a handler and checks the promise.
func (w *world) handOut(c *client, q int, d *laneDriver, a LaneAction) {
	h := handler{token: a.Token, cancel: Never}
	for _, e := range a.Entries {
		w.checkOrder(c, q, d, e, h.offsets)
		h.offsets = append(h.offsets, e.Offset)
	}
	for _, other := range w.members {
		if other.gone || other.frozen || other.lanes[q] == nil {
			continue
		}
		for _, r := range other.lanes[q].runs {
			if r.paused {
				continue
			}
			if w.cfg.keys == 0 || w.key(r.offsets[0]) == a.Entries[0].Key || w.key(r.offsets[0]) == 0 || a.Entries[0].Key == 0 {
				w.fail("queue %d: member %d gets %v while member %d handles %v", q, c.id, h.offsets, other.id, r.offsets)
			}
		}
	}
	d.runs = append(d.runs, h)
}

// checkOrder: since the lane's start every earlier message of the key has
// succeeded, or stands before it in the same hand-out.
func (w *world) checkOrder(c *client, q int, d *laneDriver, e Entry, before []int64) {
	if d.done[e.Offset] {
		w.fail("queue %d: member %d gets %d again after it has succeeded", q, c.id, e.Offset)
	}
	for o := d.base; o < e.Offset; o++ {
		same := w.cfg.keys == 0 || w.key(o) == e.Key || w.key(o) == 0 || e.Key == 0
		if same && !d.done[o] && !slices.Contains(before, o) {
			w.fail("queue %d: member %d gets %d before %d has succeeded", q, c.id, e.Offset, o)
		}
	}
}

func (w *world) key(offset int64) uint64 {
	if w.cfg.keys == 0 {
		return 0
	}
	return uint64(offset) % w.cfg.keys // the first one is 0: a barrier
}

// settle ends handler i of a lane.
func (w *world) settle(c *client, q, i int, v Verdict) {
	d := c.lanes[q]
	h := d.runs[i]
	d.runs = append(d.runs[:i:i], d.runs[i+1:]...)
	if v == Success {
		for _, o := range h.offsets {
			w.done[q][o], d.done[o] = true, true
		}
	}
	w.laneStep(c, q, &LaneEvent{Kind: LaneSettle, Token: h.token, Verdict: v})
}

func (w *world) send(c *client, p packet) {
	if c.link == 0 {
		w.noAnswer(c, p)
		return
	}
	p.link = c.link
	c.out = append(c.out, p)
}

// deliverIn lets a member handle the first packet that came for it.
func (w *world) deliverIn(c *client) {
	p := c.in[0]
	c.in = c.in[1:]
	if p.link != c.link {
		return
	}
	switch p.kind {
	case packetLock:
		w.claimStep(c, &ClaimEvent{Kind: ClaimLocked, ID: p.id, Grants: p.grants})
	case packetUnlock:
		kind := ClaimUnlocked
		if p.failed {
			kind = ClaimFailed
		}
		w.claimStep(c, &ClaimEvent{Kind: kind, ID: p.id})
	case packetPull:
		w.pulled(c, p)
	case packetCommit:
		if p.fenced {
			w.lost(c, p.queue, p.epoch)
			return
		}
		w.laneStep(c, p.queue, &LaneEvent{Kind: LaneCommitted, ID: p.id, Failed: p.failed})
	case packetReset:
		if d := c.lanes[p.queue]; d != nil && d.lane.epoch < p.epoch {
			w.laneStep(c, p.queue, &LaneEvent{Kind: LaneLost})
		}
	case packetNotice:
		w.assign(c)
		w.claimStep(c, &ClaimEvent{Kind: ClaimNotice})
	}
}

func (w *world) pulled(c *client, p packet) {
	if p.fenced {
		w.lost(c, p.queue, p.epoch)
		return
	}
	d := c.lanes[p.queue]
	if d == nil || d.lane.epoch != p.epoch {
		return // the answer to a lane that is over
	}
	kind := LanePulled
	if p.refill {
		kind = LaneRefilled
	}
	w.laneStep(c, p.queue, &LaneEvent{Kind: kind, Entries: p.entries, Next: p.offset + int64(len(p.entries))})
}

// lost tells the lane that asked under epoch that the broker refused it.
func (w *world) lost(c *client, q int, epoch Epoch) {
	if d := c.lanes[q]; d != nil && d.lane.epoch == epoch {
		w.laneStep(c, q, &LaneEvent{Kind: LaneLost})
	}
}

// assign gives each queue to one of the members that the broker lists.
func (w *world) assign(c *client) {
	members := w.table.Members(nil)
	var mine []Queue
	for q := range w.cfg.queues {
		if len(members) > 0 && members[q%len(members)].Session == c.token {
			mine = append(mine, worldQueue(q))
		}
	}
	w.claimStep(c, &ClaimEvent{Kind: ClaimAssign, Queues: mine})
}
