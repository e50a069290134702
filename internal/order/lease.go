// SPDX-License-Identifier: Apache-2.0

package order

import (
	"sort"
	"time"
)

// Rules for stock clients and bounds that are not configurable.
const (
	stockLease    = 60 * time.Second       // a stock lease that is not refreshed
	stockGone     = 31 * time.Second       // the same once its client's link is gone; a stock client trusts a lock for 30 s
	stockFast     = 5 * time.Second        // after the close, with StockFastRelease
	stockLeaving  = 2 * time.Second        // between a stock client's last unlock and its last commit
	stockParting  = 200 * time.Millisecond // the same, once it has left the group: Java's last commits, being one-way, may arrive after that
	restartHonour = 3 * time.Second        // our leases after a restart, or G if that is more
	unknownWait   = 30 * time.Second       // a commit waits for its link to become known
	maxWaits      = 1024                   // commits that wait
	tellTimes     = 2 * time.Minute        // a session that is heard of knows its group's times that long after a change: heartbeats, every 30 s, tell them
)

// Leases is the broker's lease table of one group: who may consume which queue.
//
// A queue is free, leased, or leased and leaving (its stock holder unlocked
// everything and may still commit). Only a tick moves time, so a request that
// comes in after a pause of the broker can never find a lease ended whose
// refresh lies unread in a socket.
type Leases struct {
	cfg     LeaseConfig
	ours    map[Token]*member
	stock   map[string]*member
	links   map[LinkID]*link
	queues  map[Queue]*lease
	sorted  []*lease // the values of queues, so that steps are deterministic
	waits   []LeaseEvent
	waitEnd []Time // parallel to waits

	epoch, epochEnd Epoch // the epochs still to give: [epoch, epochEnd)
	asked           bool  // LeaseNeedEpochs was said

	shrunk   LeaseConfig // Grace and Lease from shrinkAt on; until then cfg has longer ones
	shrinkAt Time        // Never: cfg is what was configured

	locking  bool // somebody has asked for a lock
	awake    Time // the last tick, or when the table began to need ticks
	next     Time
	announce bool
	stats    LeaseStats
}

// lease is what the table knows about one queue.
type lease struct {
	queue     Queue
	offset    int64
	epoch     Epoch   // the last one given; the holder's, if there is one
	holder    *member // nil: free
	since     Time
	refreshed Time // stock: the last lock; ours are refreshed by session
	floor     Time // not given to another before
	leaving   Time // not 0: ends then
	taken     bool // by an operator: the holder can't have it back
	restored  bool // not asked for again since the broker started
	reset     bool // stock commits other than offset are ignored
	waiting   []*member
	meant     meant
}

// NewLeases returns an empty table. Feed it LeaseRestore events first.
func NewLeases(cfg LeaseConfig) *Leases {
	t := &Leases{
		ours:   map[Token]*member{},
		stock:  map[string]*member{},
		links:  map[LinkID]*link{},
		queues: map[Queue]*lease{},
		awake:  cfg.Start,
		next:   Never,
	}
	t.Configure(cfg.Start, cfg)
	return t
}

// Configure changes the rules of the group. Sessions go on by longer times that
// they were told before until they have surely heard of shorter ones; until
// then these times hold for the table too.
func (t *Leases) Configure(now Time, cfg LeaseConfig) {
	if cfg.Grace == 0 {
		cfg.Grace = time.Second
	}
	cfg.Grace = min(max(cfg.Grace, 250*time.Millisecond), time.Minute)
	if cfg.Lease == 0 {
		cfg.Lease = 10 * time.Second
	}
	cfg.Lease = max(cfg.Lease, 2*cfg.Grace)
	was := t.cfg
	t.cfg, t.shrinkAt = cfg, Never
	if len(t.ours) > 0 && (cfg.Grace < was.Grace || cfg.Lease < was.Lease) {
		t.shrunk = cfg
		t.cfg.Grace, t.cfg.Lease = max(cfg.Grace, was.Grace), max(cfg.Lease, was.Lease)
		t.shrinkAt = now.Add(was.Lease + was.Grace + tellTimes)
	}
	t.schedule()
}

// Step applies ev at time now and appends to buf what is to be done. The driver
// feeds only queues that exist: the table remembers each one that is named.
func (t *Leases) Step(now Time, ev *LeaseEvent, buf []LeaseAction) []LeaseAction {
	t.announce = false
	if ev.Kind != LeaseClosed {
		t.touch(ev.Link, &buf)
	}
	switch ev.Kind {
	case LeaseTick:
		t.tick(now, &buf)
	case LeaseRestore:
		t.restore(ev)
	case LeaseEpochs:
		t.addEpochs(ev)
	case LeaseJoin:
		t.join(now, ev, &buf)
	case LeaseKnown:
		t.retryWaits(now, ev.Link, &buf)
	case LeaseRefresh:
		t.refresh(now, ev, &buf)
	case LeaseClosed:
		t.linkClosed(now, ev.Link, &buf)
	case LeaseLeave:
		t.leave(now, ev.Link, &buf)
	case LeaseLock:
		t.lock(now, ev, &buf)
	case LeaseUnlock:
		t.unlock(now, ev, &buf)
	case LeasePull:
		t.pull(ev, &buf)
	case LeaseCommit:
		t.commit(now, ev, &buf)
	case LeaseReset:
		t.move(t.queue(ev.Queue), ev.Offset, ev.Tag, &buf)
	case LeaseRelease:
		t.take(now, ev.Queue, &buf)
	case LeaseForget:
		t.forget(now, ev.Queue, &buf)
	case LeaseAssign:
		t.assign(now, ev)
	}
	if t.announce {
		buf = append(buf, LeaseAction{Kind: LeaseAnnounce})
	}
	return buf
}

// queue returns the state of q, which it begins to know if need be.
func (t *Leases) queue(q Queue) *lease {
	if le := t.queues[q]; le != nil {
		return le
	}
	le := &lease{queue: q, offset: Unknown}
	t.queues[q] = le
	i := sort.Search(len(t.sorted), func(i int) bool { return q.less(t.sorted[i].queue) })
	t.sorted = append(t.sorted, nil)
	copy(t.sorted[i+1:], t.sorted[i:])
	t.sorted[i] = le
	return le
}

func (q Queue) less(r Queue) bool {
	if q.Topic != r.Topic {
		return q.Topic < r.Topic
	}
	return q.ID < r.ID
}

// restore puts back one stored queue. Its lease is honoured for a while from
// the broker's start on, however long the broker was down.
func (t *Leases) restore(ev *LeaseEvent) {
	le := t.queue(ev.Queue)
	le.offset, le.epoch, le.reset = ev.Offset, ev.Epoch, ev.Reset
	t.epoch = max(t.epoch, ev.Epoch+1)
	t.epochEnd = max(t.epochEnd, t.epoch)
	if ev.Client == "" && ev.Session == 0 {
		return
	}
	m := t.member(ev.Client, ev.Session)
	m.name, m.host, m.held = ev.Name, ev.Host, m.held+1
	le.holder, le.since, le.restored = m, t.cfg.Start, true
	t.locking = true
	le.floor = t.cfg.Start.Add(stockGone)
	if m.session != 0 {
		le.floor = t.cfg.Start.Add(max(restartHonour, t.cfg.Grace))
		m.floor, m.restored = le.floor, true
	}
	t.schedule()
}

// forget drops a deleted queue.
func (t *Leases) forget(now Time, q Queue, buf *[]LeaseAction) {
	le := t.queues[q]
	if le == nil {
		return
	}
	if le.holder != nil {
		t.free(now, le, WhyDeleted, buf)
	}
	delete(t.queues, q)
	for i, l := range t.sorted {
		if l == le {
			t.sorted = append(t.sorted[:i], t.sorted[i+1:]...)
			break
		}
	}
}

// Position returns the group's committed offset in q, or Unknown.
func (t *Leases) Position(q Queue) int64 {
	if le := t.queues[q]; le != nil {
		return le.offset
	}
	return Unknown
}

// Leased reports whether any queue is leased.
func (t *Leases) Leased() bool {
	for _, le := range t.sorted {
		if le.holder != nil {
			return true
		}
	}
	return false
}

// Stats returns the counters.
func (t *Leases) Stats() LeaseStats { return t.stats }
