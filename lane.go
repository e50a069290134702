// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// lane drives one queue of a member from the moment it is granted to the
// moment it is given up. All decisions are order.Lane's; the lane's goroutine
// is the only one that steps it, so that actions are carried out in the order
// in which they were decided.
type lane struct {
	m     *member
	b     *broker
	queue Queue
	grant order.Grant
	log   *slog.Logger

	box  *mailbox[order.LaneEvent]
	core *order.Lane
	buf  []order.LaneAction

	// bound is the end of a lock of a stock broker, as an order.Time; with our
	// broker, and without locks, there is none.
	bound atomic.Int64
	// held is set while the lock is asked for again on a new link.
	held atomic.Bool
	// refused counts pulls in a row that the broker did not serve.
	refused atomic.Int32
	// late counts the handlers that run on after their messages were sent back.
	late atomic.Int32
	// queued counts the hand-outs that wait for a handler slot.
	queued atomic.Int32
	causes causes

	asked chan chan laneView
	words chan laneWord
	asks  chan commitAsk
	check chan struct{} // a look of the watchdog is due
	over  chan struct{} // closed when nobody answers any more

	// Owned by the lane's goroutine.
	running  map[order.LaneToken]context.CancelCauseFunc
	calls    map[order.LaneToken]*call
	pulled   bool // the first pull is on its way
	pulledAt time.Time
	calledAt time.Time
	suspect  stall // what the watchdog's last look found
	released *order.LaneAction
	commits  []commitAsk // of a reader, not answered

	// seeking: the reader of a pull consumer moves; the loss is its own doing.
	seeking atomic.Bool
	// leaving: the queue is being given up.
	leaving atomic.Bool

	handlers sync.WaitGroup
}

func newLane(m *member, b *broker, q Queue, grant order.Grant) *lane {
	return &lane{
		m: m, b: b, queue: q, grant: grant,
		log:     m.log.With("queue", q.String()),
		box:     newMailbox[order.LaneEvent](),
		core:    order.NewLane(m.laneConfig(b)),
		running: map[order.LaneToken]context.CancelCauseFunc{},
		calls:   map[order.LaneToken]*call{},
		asked:   make(chan chan laneView), words: make(chan laneWord), asks: make(chan commitAsk), check: make(chan struct{}, 1), over: make(chan struct{}),
	}
}

func (l *lane) post(ev order.LaneEvent) { l.box.post(ev) }

// until is the moment from which on nothing may be handed out.
func (l *lane) until() order.Time {
	until := order.Time(l.bound.Load())
	if l.m.cfg.locks() && l.b.ours() {
		until = min(until, l.b.until())
	}
	return until
}

// run lives as long as the queue is the member's.
func (l *lane) run() {
	started := l.begin()
	if started {
		l.loop()
	}
	close(l.over)
	l.awaitHandlers()
	if started {
		l.m.pull.ended(l)
		l.m.notify(l.m.cfg.OnRevoke, l.queue)
	}
	l.m.laneOver(l)
}

// loop steps the machine until it says that the queue is given up.
func (l *lane) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	due := order.Time(0)
	for l.released == nil {
		select {
		case <-l.box.wake:
			for _, ev := range l.box.take() {
				if l.released == nil {
					l.step(ev)
				}
			}
		case answer := <-l.asked:
			answer <- l.look()
		case w := <-l.words:
			w.answer <- l.word(w)
		case a := <-l.asks:
			l.ask(a)
		case <-l.check:
			l.inspect()
		case <-timer.C:
		}
		if due <= l.m.c.now() && l.released == nil {
			l.step(order.LaneEvent{Kind: order.LaneTick})
		}
		due = l.due()
		l.m.c.arm(timer, due)
	}
}

// due is when the machine wants to be stepped. The end of a stock broker's lock
// is the driver's business, because it moves without an event.
func (l *lane) due() order.Time {
	next := l.core.Next()
	if until := l.until(); len(l.running) > 0 && until > l.m.c.now() {
		next = min(next, until)
	}
	return next
}

func (l *lane) step(ev order.LaneEvent) {
	if ev.Kind == order.LaneSettle {
		l.running[ev.Token](nil)
		delete(l.running, ev.Token)
		delete(l.calls, ev.Token)
	}
	if ev.Kind == order.LaneRevoke && l.m.pull != nil {
		l.leaving.Store(true)
		if l.m.pull.auto { // what earlier polls have returned is done
			l.step(order.LaneEvent{Kind: order.LaneCommitTo, Offset: math.MaxInt64})
		}
	}
	ev.Until = l.until()
	ev.Hold = l.held.Load() // after until: what moved that was told after the hold
	l.buf = l.core.Step(l.m.c.now(), &ev, l.buf[:0])
	for i := range l.buf {
		l.act(&l.buf[i])
	}
	if l.m.pull != nil {
		l.m.pull.stepped(l, ev.Kind)
	}
}

func (l *lane) act(a *order.LaneAction) {
	switch a.Kind {
	case order.LanePull:
		l.pull(a.Offset)
	case order.LaneRefill:
		l.refill(a.Offset)
	case order.LaneHandOut:
		l.handOut(a.Token, a.Entries, a.Attempt)
	case order.LaneCancel:
		if cancel := l.running[a.Token]; cancel != nil {
			cancel(l.causeError(a.Cause))
		}
	case order.LaneCommit:
		l.commit(a)
	case order.LaneLetter:
		l.letter(a.Entries[0], a.Attempt)
	case order.LaneReleased:
		over := *a
		l.released = &over
	case order.LaneSkipped:
		l.log.Error("messages are gone from the broker before this group has seen them", "from", a.Offset, "to", a.Next)
	case order.LaneBeyond:
		l.log.Error("position lies past the end of the queue; waiting for it to grow, or for a reset of the position",
			"position", a.Offset, "end", a.Next)
	case order.LaneOverrun:
		l.overrun(a)
	}
}

// causeError is why a handler's context ends, in the user's words.
func (l *lane) causeError(c order.Cause) error {
	switch c {
	case order.CauseTimeout:
		return ErrHandlerTimeout
	case order.CauseRevoked:
		if l.m.ending.Load() {
			return ErrClosing
		}
		return ErrRevoked
	case order.CauseSilent, order.CauseLost:
		return ErrLeaseLost
	}
	return context.Canceled
}

// pull asks for messages from offset on. Its answer comes to the mailbox.
func (l *lane) pull(offset int64) {
	if !l.pulled {
		l.pulled = true
		l.m.settled(l.queue)
	}
	asked := time.Now()
	l.pulledAt = asked
	l.b.pull(l.pullFrom(offset), func(ans pullAnswer, err error) {
		ev := l.pullEvent(offset, ans, err)
		if n := len(ev.Entries); n > 0 {
			l.m.rates.pull(time.Now(), time.Since(asked), n)
		}
		l.post(ev)
	})
}

// refill asks again for messages that were read and not kept; they are there,
// so nothing waits.
func (l *lane) refill(offset int64) {
	req := l.pullFrom(offset)
	req.now = true
	l.b.pull(req, func(ans pullAnswer, err error) { l.post(refillEvent(offset, l.pullEvent(offset, ans, err))) })
}

// refillEvent is the answer to a refill in place of the one to a pull.
func refillEvent(offset int64, ev order.LaneEvent) order.LaneEvent {
	switch {
	case ev.Kind == order.LanePulled:
		ev.Kind = order.LaneRefilled
	case ev.Kind == order.LanePullMoved && offset < ev.Offset: // gone: the queue starts later now
		ev = order.LaneEvent{Kind: order.LaneRefilled, Next: ev.Offset}
	case ev.Kind == order.LanePullMoved, ev.Kind == order.LanePullFailed:
		ev = order.LaneEvent{Kind: order.LaneRefillFailed, Delay: ev.Delay}
	}
	return ev
}

func (l *lane) pullFrom(offset int64) pullRequest {
	return pullRequest{
		group: l.m.cfg.Group, queue: l.queue, offset: offset, epoch: l.grant.Epoch,
		max: l.m.cfg.PullBatch, expr: l.m.wants(l.queue.Topic).expr, version: l.m.version,
	}
}

// pullEvent puts the answer to a pull from offset in the words of the machine.
// It runs on the connection's reader and must be quick.
func (l *lane) pullEvent(offset int64, ans pullAnswer, err error) order.LaneEvent {
	switch {
	case errors.Is(err, errFenced):
		l.log.Warn("the broker has given the queue to another member, or its position was reset", "err", err)
		return order.LaneEvent{Kind: order.LaneLost}
	case err != nil:
		level := slog.LevelDebug
		if _, refused := errors.AsType[*BrokerError](err); refused { // it answers, and does not serve this
			level = stubborn(int(l.refused.Add(1)))
		}
		l.log.Log(l.m.c.ctx, level, "pull failed; trying again", "offset", offset, "err", err)
		return order.LaneEvent{Kind: order.LanePullFailed, Delay: ans.retry}
	case ans.moved && offset >= ans.min && offset <= ans.max:
		// The offset is fine and the broker still wants another one: an
		// operator has reset the position. Begin anew from there.
		l.log.Warn("position was reset", "offset", offset, "to", ans.next)
		return order.LaneEvent{Kind: order.LaneLost}
	case ans.moved:
		return order.LaneEvent{Kind: order.LanePullMoved, Offset: ans.min, Next: ans.max}
	}
	l.refused.Store(0)
	entries, err := l.entries(ans.body)
	if err != nil {
		l.log.Error("cannot read the broker's answer; trying again", "offset", offset, "err", err)
		return order.LaneEvent{Kind: order.LanePullFailed}
	}
	return order.LaneEvent{Kind: order.LanePulled, Entries: entries, Next: ans.next}
}

// entries keeps the messages that the member asked for: the broker's filter
// knows only hashes of tags.
func (l *lane) entries(body []byte) ([]order.Entry, error) {
	records, err := decodeRecords(body)
	if err != nil {
		return nil, err
	}
	wants := l.m.wants(l.queue.Topic)
	entries := make([]order.Entry, 0, len(records))
	for i := range records {
		r := &records[i]
		if !wants.tags.Match(r.Tag()) {
			continue
		}
		entries = append(entries, order.Entry{Offset: r.QueueOffset, Size: int32(len(r.Body)), Key: l.keyOf(r), Ref: r})
	}
	switch {
	case l.m.derivesKeys():
		l.deriveKeys(entries)
	case l.m.cfg.Order == Unordered: // what may be handed out together is a key of its own
		for i := range entries {
			entries[i].Key = uint64(entries[i-i%l.m.cfg.MaxBatch].Offset) + 1
		}
	}
	return entries, nil
}

// keyOf is what the message is kept in order with, before KeyOf is asked.
func (l *lane) keyOf(r *storedMessage) uint64 {
	if l.m.cfg.Order == ByKey && !l.m.derivesKeys() {
		return uint64(msg.KeyHash(r.OrderingKey()))
	}
	return 0
}

// commit sends the position, and what is settled above it.
func (l *lane) commit(a *order.LaneAction) {
	id := a.ID
	req := commitRequest{
		group: l.m.cfg.Group, queue: l.queue, offset: a.Offset, epoch: l.grant.Epoch,
		ranges: l.core.AppendSettled(nil), attempts: l.core.AppendAttempts(nil),
	}
	done := func(err error) {
		switch {
		case err == nil, !l.m.cfg.locks() && refusedCommit(err): // without locks another member may be further
			l.post(order.LaneEvent{Kind: order.LaneCommitted, ID: id})
		case errors.Is(err, errFenced), refusedCommit(err):
			l.log.Warn("the broker refused a commit: the queue has another owner", "offset", req.offset, "err", err)
			l.post(order.LaneEvent{Kind: order.LaneLost})
		default:
			l.log.Warn("commit failed; it will be tried again", "offset", req.offset, "err", err)
			l.post(order.LaneEvent{Kind: order.LaneCommitted, ID: id, Failed: true})
		}
	}
	if l.m.offsets != nil {
		done(l.m.offsets.store(l.queue, req.offset))
		return
	}
	l.b.commit(req, done)
}

// refusedCommit: our broker has decided that the commit does not count, because
// the queue is not this member's or its position is a higher one.
func refusedCommit(err error) bool {
	refused, ok := errors.AsType[*BrokerError](err)
	return ok && int32(refused.Code) == wire.IllegalOperation
}

// letter moves a message to the dead-letter topic. Our broker stores it once,
// however often it is asked, and only while the queue is this member's.
func (l *lane) letter(e order.Entry, attempts int32) {
	r := e.Ref.(*storedMessage)
	cause := l.causes.of(e.Offset)
	l.log.Error("dead-letter", "offset", r.QueueOffset, "key", r.OrderingKey(), "id", r.ID(), "attempts", attempts, "cause", cause)
	letter := letterOf{epoch: l.grant.Epoch, Letter: header.Letter{
		Given: true, Queue: r.QueueID, Offset: r.QueueOffset, Attempts: attempts, Cause: cause,
	}}
	l.handlers.Go(func() {
		err := l.m.sendBack(l.b, r, toDeadLetters, letter)
		if errors.Is(err, errFenced) {
			l.log.Warn("dead-letter refused: the queue has another owner", "offset", r.QueueOffset, "err", err)
			l.post(order.LaneEvent{Kind: order.LaneLost})
			return
		}
		if err != nil {
			l.log.Error("dead-letter failed; it will be tried again", "offset", r.QueueOffset, "err", err)
		} else {
			l.causes.forget(e.Offset)
		}
		l.post(order.LaneEvent{Kind: order.LaneLettered, Offset: e.Offset, Failed: err != nil})
	})
}
