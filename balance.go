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
		queues, err := m.assignment(ctx)
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
			m.do(func() { m.assign(queues) })
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

// assignment is the member's share of the queues of all its topics.
func (m *member) assignment(ctx context.Context) ([]Queue, error) {
	strategy, err := rebalance.ByName(string(m.cfg.Strategy))
	if err != nil {
		return nil, err
	}
	var share []Queue
	for _, topic := range m.topics() {
		r, err := m.c.routes.get(ctx, topic)
		if topic != m.cfg.Topic && (err != nil || r.pretend) {
			continue // the broker makes the retry topic; it is looked for again
		}
		if err != nil {
			return nil, err
		}
		queues, err := r.route.Subscribable(topic)
		if err != nil {
			return nil, err
		}
		if !m.cfg.Broadcast {
			if queues, err = m.share(ctx, strategy, r, queues); err != nil {
				return nil, err
			}
		}
		share = append(share, fromRoute(queues)...)
	}
	return share, nil
}

// share asks one broker of the topic for the members and takes the own part.
func (m *member) share(ctx context.Context, s rebalance.Strategy, r *topicRoute, queues []route.MessageQueue) ([]route.MessageQueue, error) {
	if len(queues) == 0 {
		return nil, nil
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
			return s.Allocate(m.cfg.Group, m.id, queues, members)
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}
