// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store/meta"
)

// flush hands decided works to the change log, in their order. One goroutine
// does it at a time; others leave theirs to it.
func (g *group) flush() {
	g.mu.Lock()
	if g.flushing {
		g.mu.Unlock()
		return
	}
	g.flushing = true
	for len(g.works) > 0 {
		works := g.works
		g.works = nil
		idle := g.unsettled == len(works) // nothing earlier is being written
		g.mu.Unlock()
		for _, w := range works {
			idle = g.hand(w, idle)
		}
		g.mu.Lock()
	}
	g.flushing = false
	g.mu.Unlock()
}

// hand has a work written and then carried out. A work without changes is
// carried out at once if nothing is being written before it.
func (g *group) hand(w *work, idle bool) (stillIdle bool) {
	if idle && len(w.changes) == 0 {
		g.carry(w, nil)
		return true
	}
	at := g.b.clock.at()
	err := g.b.meta.Submit(g.b.ctx, &meta.Request{
		Decide: func(v *meta.View) ([]meta.Change, error) { return w.decide(v, at), nil },
		Done:   func(err error) { g.carry(w, err) },
	})
	if err != nil {
		g.carry(w, err)
	}
	return false
}

// carry does what was decided, after it was written.
func (g *group) carry(w *work, err error) {
	g.mu.Lock()
	g.unsettled--
	g.mu.Unlock()
	if err != nil {
		g.b.log.Error("a group's state cannot be written: its requests are refused", "group", g.name, "err", err)
		for _, a := range w.asks {
			a.done(nil, fmt.Errorf("write the group's state: %w", err))
		}
		return
	}
	for _, act := range w.acts {
		g.act(act)
	}
	for _, a := range w.asks {
		a.done(a.acts, nil)
	}
	g.forget(w.asks)
}

func (g *group) forget(asks []*ask) {
	if len(asks) == 0 {
		return
	}
	g.mu.Lock()
	for _, a := range asks {
		delete(g.asks, a.tag)
	}
	g.mu.Unlock()
}

// act carries out an action that is not an answer.
func (g *group) act(act order.LeaseAction) {
	switch act.Kind {
	case order.LeaseAnnounce:
		g.announce()
	case order.LeaseCloseLink:
		g.b.dropLink(act.Link, fmt.Errorf("session of %s resumed on another connection", act.Client))
	case order.LeaseTwin:
		g.b.log.Warn("two processes use one client id: the newer one gets no locks",
			"group", g.name, "client", act.Client, "newer", g.b.linkName(act.Link))
	case order.LeaseNeedEpochs:
		g.b.background(func(ctx context.Context) { g.moreEpochs(ctx) })
	case order.LeaseMoved:
		g.b.log.Info("position was reset", "group", g.name, "topic", act.Queue.Topic, "queue", act.Queue.ID, "from", act.Old, "to", act.Offset, "epoch", act.Epoch, "holder", act.Client)
		g.moved(act)
		g.announce()
	case order.LeaseFreed:
		g.b.log.Debug("queue is free", "group", g.name, "topic", act.Queue.Topic, "queue", act.Queue.ID, "was", act.Client, "why", whyText(act.Why), "epoch", act.Epoch)
	case order.LeaseDropped:
		g.b.log.Log(g.b.ctx, droppedLevel(act.Why), "commit is not applied", "group", g.name, "topic", act.Queue.Topic, "queue", act.Queue.ID,
			"why", whyText(act.Why), "offset", act.Offset, "position", act.Old, "holder", act.Client)
	}
}

// droppedLevel keeps what ordinary clients do all the time out of the log.
func droppedLevel(why order.Why) slog.Level {
	switch why {
	case order.WhyReset, order.WhyNegative, order.WhyLower:
		return slog.LevelDebug
	default:
		return slog.LevelInfo
	}
}

// moreEpochs gives the table another block of reserved epochs.
func (g *group) moreEpochs(ctx context.Context) {
	first, end, err := g.b.epochs.reserve(ctx)
	if err != nil {
		g.b.log.Error("lease epochs cannot be reserved: no lock is granted", "group", g.name, "err", err)
		return
	}
	g.feed(&order.LeaseEvent{Kind: order.LeaseEpochs, Epoch: first, EpochEnd: end}, nil)
}

// settled calls f once everything that was decided before is written.
func (g *group) settled(f func(error)) {
	g.mu.Lock()
	if g.unsettled == 0 {
		g.mu.Unlock()
		f(nil)
		return
	}
	g.works = append(g.works, &work{asks: []*ask{{done: func(_ []order.LeaseAction, err error) { f(err) }}}})
	g.unsettled++
	g.mu.Unlock()
	g.flush()
}

// pull asks the table about a pull. The answer needs no writing. Held says
// whether anybody holds the queue.
func (g *group) pull(ev *order.LeaseEvent) (answer order.LeaseAction, held bool) {
	ev.Kind = order.LeasePull
	g.mu.Lock()
	if g.awaitsReset(ev) {
		defer g.mu.Unlock()
		return order.LeaseAction{Kind: order.LeasePark, Why: order.WhyReset, Offset: g.leases.Position(ev.Queue)}, true
	}
	answer = order.LeaseAction{Kind: order.LeasePark}
	acts := g.leases.Step(g.b.clock.now(), ev, g.buf[:0])
	g.buf = acts
	var w *work
	for _, act := range acts {
		switch act.Kind {
		case order.LeaseServe, order.LeasePark, order.LeaseFence:
			answer = act
		default:
			if w == nil {
				w = &work{}
				g.works = append(g.works, w)
				g.unsettled++
			}
			w.acts = append(w.acts, act)
			g.change(w, act)
		}
	}
	held = g.leases.Held(ev.Queue)
	g.mu.Unlock()
	if w != nil {
		g.flush()
	}
	return answer, held
}

// whyText says a reason in words.
func whyText(w order.Why) string {
	texts := [...]string{
		order.WhyNone: "", order.WhyHeld: "held", order.WhyGrace: "grace", order.WhyRestart: "restart",
		order.WhyLeaving: "leaving", order.WhyTwin: "twin", order.WhyUnproven: "unproven", order.WhyNoEpoch: "no epoch",
		order.WhyStranger: "not a member on this connection", order.WhyFenced: "fenced", order.WhyForeign: "not the holder",
		order.WhyLower: "lower than the position", order.WhyNegative: "negative", order.WhyPastEnd: "past the end of the queue",
		order.WhyReset: "a reset is pending", order.WhyUnknown: "connection did not make itself known",
		order.WhyCrowded: "too many commits wait", order.WhyUnlocked: "given back", order.WhyClosed: "link closed",
		order.WhySilent: "silent", order.WhyOperator: "taken by an operator", order.WhyDeleted: "queue deleted",
		order.WhyNameTaken: "member name in use", order.WhyExpired: "not refreshed",
	}
	if int(w) < len(texts) {
		return texts[w]
	}
	return "unknown"
}
