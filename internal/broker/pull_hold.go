// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"time"

	"github.com/orderlymq/orderly/internal/wire"
)

// parkTime is how long a pull waits that may not be served and did not ask to
// wait.
const parkTime = time.Second

// hold lets the pull wait for a message. A deaf one waits for its time only.
func (p *pulling) hold(deaf bool) {
	p.waited = true
	h := &hold{group: p.group.name, queue: p.queue(), match: p.match, deaf: deaf, offset: p.h.QueueOffset, conn: p.c}
	h.end = func(expired bool) { p.resume(expired) }
	h.bell = newAlarm(func() {
		if p.b.holds.take(h) {
			h.end(true)
		}
	})
	switch err := p.b.holds.add(h); err {
	case nil:
	case errClosing:
		p.empty("OFFSET_OVERFLOW_ONE")
		return
	default:
		p.fail(wire.SystemBusy, err.Error())
		return
	}
	p.b.alarms.set(h.bell, p.until)
	if deaf {
		return
	}
	// A message or a reset may have come between the look and the wait.
	_, high := p.b.store.Bounds(p.h.Topic, p.h.QueueID)
	to, reset := p.b.pendingReset(p.group.name, p.queue())
	if (high > p.h.QueueOffset || reset && to != p.h.QueueOffset) && p.b.holds.take(h) {
		p.b.alarms.stop(h.bell)
		h.end(false)
	}
}

// park holds a pull of a queue that another member has: it is answered 19 when
// its time is up, never earlier.
func (p *pulling) park() {
	if p.until <= p.b.clock.now() {
		if p.waited {
			p.empty("OFFSET_OVERFLOW_ONE")
			return
		}
		p.until = p.b.clock.now().Add(parkTime)
	}
	p.hold(true)
}

// awaitReset answers a client that was told of a reset: nothing comes until it
// has taken that up. If it looks at its queue's position in the answer, it finds
// the new one there and not the one from before.
func (p *pulling) awaitReset(to int64) {
	p.goOn = to
	if p.waited {
		p.empty("OFFSET_RESET")
		return
	}
	p.park()
}

// resume carries on with a held pull: it has its time up, or a message came.
// Who may read the queue is asked again, for that may have changed.
func (p *pulling) resume(expired bool) {
	if expired {
		p.empty("OFFSET_OVERFLOW_ONE")
		return
	}
	if !p.b.pool.run(p.decide) {
		p.failed(errClosing)
	}
}

// wake ends holds that were taken out because a message came.
func (b *Broker) wake(held []*hold) {
	for _, h := range held {
		b.alarms.stop(h.bell)
		h.end(false)
	}
}

// release ends holds as if their time were up.
func (b *Broker) release(held []*hold) {
	for _, h := range held {
		b.alarms.stop(h.bell)
		h.end(true)
	}
}
