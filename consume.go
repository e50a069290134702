// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/order"
)

// Consume joins the group and hands messages to h until ctx ends. Then it
// takes no new messages, waits for running handlers, commits, gives its
// queues back and returns nil; after ConsumerConfig.CloseTimeout it ends the
// handlers' contexts and, if some still do not return, gives up with a
// *CloseError. Errors before the group was joined are returned as they are. If
// another live member has the MemberName it ends with ErrMemberNameInUse.
func (c *Client) Consume(ctx context.Context, cfg ConsumerConfig, h Handler) error {
	cfg.MaxBatch = 1
	return c.consume(ctx, cfg, h.callback(), false)
}

// ConsumeBatch is Consume with several messages per call.
func (c *Client) ConsumeBatch(ctx context.Context, cfg ConsumerConfig, h BatchHandler) error {
	return c.consume(ctx, cfg, h.callback(), false)
}

// ConsumeManual is Consume with the decision about handed-out messages taken
// later. It needs order ByQueue.
func (c *Client) ConsumeManual(ctx context.Context, cfg ConsumerConfig, h ManualHandler) error {
	if cfg.Order != ByQueue {
		return fmt.Errorf("%w consumer configuration: Order: a manual consumer needs ByQueue", ErrInvalid)
	}
	return c.consume(ctx, cfg, h.callback(), true)
}

func (c *Client) consume(ctx context.Context, cfg ConsumerConfig, call callback, manual bool) error {
	m, err := c.newMember(ctx, cfg, call, manual)
	if err != nil {
		return err
	}
	if err := c.awaitTopic(ctx, m.cfg.Topic); err != nil {
		return err
	}
	if err := c.addMember(m); err != nil {
		return err
	}
	defer c.release(m)
	m.wg.Go(m.run)
	balancing, stop := context.WithCancel(c.ctx)
	m.wg.Go(func() { m.balance(balancing) })
	m.wg.Go(func() { m.watch(balancing) })
	c.announceAll()
	var refused error
	select {
	case <-ctx.Done():
	case <-c.closing:
	case refused = <-m.refused:
	}
	stop()
	m.ending.Store(true)
	m.do(func() { m.close(m.cfg.CloseTimeout) })
	<-m.ended
	m.leave()
	m.wg.Wait()
	if len(m.overrun) > 0 {
		return errors.Join(refused, &CloseError{Running: m.overrun})
	}
	return refused
}

// awaitTopic makes sure that the topic exists. One that may be created by
// sending to it gets a moment, for the send may just have been made.
func (c *Client) awaitTopic(ctx context.Context, topic string) error {
	r, err := c.routes.get(ctx, topic)
	for wait := firstRetry; err == nil && r.pretend; wait *= 2 {
		if r, err = c.routes.refresh(ctx, topic); err == nil && r.pretend && (wait > lastRetry/2 || !pause(ctx, wait)) {
			return fmt.Errorf("%w: %s", ErrTopicNotFound, topic)
		}
	}
	return err
}

func (c *Client) newMember(ctx context.Context, cfg ConsumerConfig, call callback, manual bool) (*member, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	if call == nil {
		return nil, fmt.Errorf("%w consumer: the handler is nil", ErrInvalid)
	}
	sub, err := newSubscription(cfg.Topic, cfg.Filter)
	if err != nil {
		return nil, err
	}
	m := c.makeMember(ctx, cfg)
	m.call, m.manual, m.keyOf = call, manual, cfg.KeyOf
	m.subscribe(sub)
	if cfg.Broadcast {
		if m.offsets, err = openOffsetFile(cfg.OffsetDir, cfg.Group); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// makeMember makes a member that reads nothing yet.
func (c *Client) makeMember(ctx context.Context, cfg ConsumerConfig) *member {
	m := &member{
		c: c, cfg: cfg, id: c.id,
		version: time.Now().UnixMilli(),
		log:     c.log.With("group", cfg.Group),
		slots:   make(slots, cfg.Concurrency), callbacks: make(slots, 1),
		box: newMailbox[func()](), kick: make(chan struct{}, 1), ended: make(chan struct{}),
		refused: make(chan error, 1),
		claims:  map[string]*claims{}, lanes: map[Queue]*lane{}, want: map[string][]order.Queue{}, resets: map[Queue]int64{},
		wantedSince: map[Queue]order.Time{},
		idleAt:      order.Never,
	}
	m.handlerCtx = context.WithoutCancel(ctx)
	if cfg.Ready != nil {
		m.ready.tell = func() { m.wg.Go(cfg.Ready) }
	}
	return m
}

// leave tells every broker that this member is gone.
func (m *member) leave() {
	m.c.unlist(m)
	var told sync.WaitGroup
	for _, b := range m.c.brokerList() {
		told.Add(1)
		b.leave(m.cfg.Group, func(err error) {
			defer told.Done()
			if err != nil {
				m.log.Debug("cannot tell the broker of the leave; it sees it on the next link", "broker", b.name, "err", err)
			}
		})
	}
	told.Wait()
}

// Shortest times between commits of a queue. What was handled and not yet
// committed when a process dies is handled again, so it is short; a stock
// broker takes commits one way and writes them every 5 s anyhow.
const (
	commitEvery      = 10 * time.Millisecond
	commitEveryStock = time.Second
)

// laneConfig is how a queue at b is consumed.
func (m *member) laneConfig(b *broker) order.LaneConfig {
	cfg := m.rules(b)
	if m.sendsBack() { // attempts go through the retry topic, and are counted there
		cfg.MaxAttempts, cfg.Poison, cfg.MaxHandler = 0, order.PoisonBlock, 0
	}
	if m.pull != nil { // a reader that polls decides by itself what to do about a message
		cfg.Poll, cfg.MaxAttempts, cfg.Poison, cfg.MaxHandler = true, 0, order.PoisonBlock, 0
	}
	return cfg
}

// rules are what the configuration and the group's policy say.
func (m *member) rules(b *broker) order.LaneConfig {
	cfg := order.LaneConfig{
		ByKey: m.cfg.Order != ByQueue, Workers: m.cfg.Concurrency, Batch: m.cfg.MaxBatch, Manual: m.manual,
		Stock:    !b.ours() || !m.cfg.locks(),
		MaxCount: m.cfg.MaxCached, MaxBytes: int64(m.cfg.MaxCachedBytes), PullWait: m.cfg.PullInterval,
		CommitEvery: m.cfg.CommitInterval, MaxAttempts: m.cfg.MaxAttempts,
	}
	if cfg.CommitEvery == 0 {
		cfg.CommitEvery = commitEvery
		if cfg.Stock {
			cfg.CommitEvery = commitEveryStock
		}
	}
	if m.cfg.MaxAttempts > 0 {
		cfg.Poison = order.PoisonLetter
	}
	b.policy(m.cfg.Group).apply(&cfg)
	if grace := time.Duration(b.grace.Load()); grace > 0 {
		cfg.SettleTimeout = grace / 2
	}
	if m.cfg.HandlerTimeout > 0 {
		cfg.Timeout = m.cfg.HandlerTimeout
	}
	return cfg
}

var errNotListed = errors.New("the broker does not list this client as a member yet")
