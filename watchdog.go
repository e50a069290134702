// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"time"

	"github.com/orderlymq/orderly/internal/order"
)

// watchEvery is the time between two looks of a member's watchdog.
const watchEvery = 5 * time.Second

// watch is the member's watchdog: it has each lane look at itself every
// watchEvery, until ctx ends. A lane that stands still without a reason is set
// going again and counted. In a sound client the count stays 0.
func (m *member) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		m.do(func() {
			for _, l := range m.lanes {
				select {
				case l.check <- struct{}{}:
				default:
				}
			}
		})
	}
}

// stall is what a lane's look at itself has found.
type stall int

const (
	noStall     stall = iota
	stallWake         // events lie in the mailbox and nobody was woken
	stallAnswer       // a pull has had no answer, though each has one in time
	stallIdle         // nothing is in hand, and nothing asked for
)

func (s stall) String() string {
	return [...]string{"none", "a wake-up was lost", "the answer to a pull was lost", "nothing was asked for"}[s]
}

// stalled looks for a stall.
func (l *lane) stalled() stall {
	switch {
	case l.box.forgotten():
		return stallWake
	case l.core.Pulling() && time.Since(l.pulledAt) > pullPatience+watchEvery:
		return stallAnswer
	case l.core.Idle(l.m.c.now(), l.until()):
		return stallIdle
	}
	return noStall
}

// inspect repairs a stall that two looks in a row have found: one may fall into
// the moment between a wake-up and what it is for.
func (l *lane) inspect() {
	found := l.stalled()
	if found == noStall || found != l.suspect {
		l.suspect = found
		return
	}
	l.suspect = noStall
	l.m.rescues.Add(1)
	l.m.c.rescues.Add(1)
	l.log.Error("the queue stood still without a reason and is set going again: please report this", "why", found.String())
	switch found {
	case stallWake:
		for _, ev := range l.box.take() {
			if l.released == nil {
				l.step(ev)
			}
		}
	case stallAnswer:
		l.step(order.LaneEvent{Kind: order.LanePullFailed, Delay: minBackoff})
	case stallIdle:
		l.step(order.LaneEvent{Kind: order.LaneTick})
	}
}
