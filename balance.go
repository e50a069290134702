// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/orderlymq/orderly/internal/rebalance"
	"github.com/orderlymq/orderly/internal/route"
)

// The paces of rebalancing.
const (
	balanceEvery = 20 * time.Second
	balanceRetry = time.Second
)

// balance works out again and again which queues should be the member's: when
// somebody asks for it, at least every 20 s, and soon after a failure.
func (m *member) balance(ctx context.Context) {
	timer := time.NewTimer(balanceEvery)
	defer timer.Stop()
	fails := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.kick:
		case <-timer.C:
		}
		share, err := m.assignment(ctx)
		wait := balanceEvery
		fails++
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			m.log.Log(ctx, stubborn(fails), "assignment unknown; the queues stay as they are", "err", err)
			wait = balanceRetry
		default:
			fails = 0
			if share.noRetries && m.gaveBack.Load() {
				wait = balanceRetry // the broker has just made the topic
			}
			m.do(func() { m.assign(share) })
		}
		timer.Reset(wait)
	}
}

// stubborn is the level at which the fails-th failure in a row is worth a line:
// one may happen, but who waits for long shall see why.
func stubborn(fails int) slog.Level {
	if fails%30 == 3 {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// assignment is a member's share of the queues of all its topics.
type assignment struct {
	queues  []Queue
	unknown []string // brokers that did not say; of their queues the old share stays

	noRetries bool // the group's retry topic is not there, or not known yet
}

// assignment is the member's share as it should be now.
func (m *member) assignment(ctx context.Context) (assignment, error) {
	var all assignment
	for _, topic := range m.topics() {
		r, err := m.c.routes.get(ctx, topic)
		if isRetryTopic(topic) && (err != nil || r.pretend) {
			all.noRetries = true // the broker makes the retry topic; it is looked for again
			continue
		}
		if err != nil {
			return all, err
		}
		queues, err := r.route.Subscribable(topic)
		if err != nil {
			return all, err
		}
		share := assignment{queues: fromRoute(queues)}
		if !m.cfg.Broadcast && len(queues) > 0 {
			if share, err = m.share(ctx, topic, r, queues); err != nil {
				return all, err
			}
		}
		all.queues = append(all.queues, share.queues...)
		all.unknown = append(all.unknown, share.unknown...)
	}
	return all, nil
}

// share is the member's part of the queues of a topic.
func (m *member) share(ctx context.Context, topic string, r *topicRoute, queues []route.MessageQueue) (assignment, error) {
	if m.cfg.Strategy == StrategySticky && m.cfg.locks() {
		if a, ok, err := m.sticky(ctx, topic, r); ok || err != nil {
			return a, err
		}
	}
	mine, err := m.classic(ctx, r, queues)
	return assignment{queues: fromRoute(mine)}, err
}

// sticky asks each broker of the topic for the member's part of its queues. ok
// is false if one of them says that the group needs the classic strategy.
func (m *member) sticky(ctx context.Context, topic string, r *topicRoute) (a assignment, ok bool, err error) {
	var errs []error
	for _, data := range r.route.Brokers {
		b := m.c.broker(data.Name)
		if b == nil {
			return a, false, ErrClosed
		}
		if b.met() && !b.ours() {
			return a, false, nil
		}
		queues, sticky, err := b.assignment(ctx, m, topic)
		switch {
		case err != nil:
			if _, refused := errors.AsType[*BrokerError](err); refused { // it may not list us yet
				b.announce(func(error) {})
			}
			a.unknown = append(a.unknown, b.name)
			errs = append(errs, err)
		case !sticky:
			return a, false, nil
		}
		a.queues = append(a.queues, queues...)
	}
	if len(errs) == len(r.route.Brokers) {
		return a, false, errors.Join(errs...)
	}
	return a, true, nil
}

// classic asks one broker of the topic for the members and works the own part
// out.
func (m *member) classic(ctx context.Context, r *topicRoute, queues []route.MessageQueue) ([]route.MessageQueue, error) {
	name := m.cfg.Strategy
	if name == StrategySticky {
		name = StrategyAverage
	}
	strategy, err := rebalance.ByName(string(name))
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, data := range r.route.Brokers {
		b := m.c.broker(data.Name)
		if b == nil {
			return nil, ErrClosed
		}
		members, err := b.members(ctx, m.cfg.Group)
		if err == nil && !slices.Contains(members, m.id) {
			// Right after a start of the broker nobody is known to it. To act
			// on its list would mean to give everything up.
			b.announce(func(error) {})
			err = fmt.Errorf("broker %s: %w", b.name, errNotListed)
		}
		if err == nil {
			return strategy.Allocate(m.cfg.Group, m.id, queues, members)
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}
