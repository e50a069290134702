// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

const (
	registerTimeout = 3 * time.Second
	leaveTimeout    = 500 * time.Millisecond
)

// registrar tells the name servers what the broker has: all topics, every
// RegisterEvery and at once when they change. Name servers are told in
// parallel; one that is dead delays nobody.
type registrar struct {
	b     *Broker
	pool  *transport.Pool
	wake  chan struct{}
	stop  context.CancelFunc // ends run
	ended chan struct{}      // closed when run has ended
	mu    sync.Mutex
	known map[string]bool // name servers whose last registration worked
}

func newRegistrar(b *Broker) *registrar {
	return &registrar{
		b: b, wake: make(chan struct{}, 1), ended: make(chan struct{}), known: map[string]bool{},
		pool: transport.NewPool(transport.PoolConfig{
			Dialer: &transport.Dialer{Dial: b.cfg.Dial, Logger: b.log}, MaxBackoff: 3 * time.Second,
		}),
	}
}

// changed has the name servers told soon.
func (r *registrar) changed() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// retryEvery is how soon a name server that failed is tried again.
const retryEvery = 3 * time.Second

// start registers once and goes on until leave is called or ctx ends.
func (r *registrar) start(first, ctx context.Context) {
	ctx, r.stop = context.WithCancel(ctx)
	r.all(first) // whoever waits for the start finds the broker
	r.b.wg.Go(func() { r.run(ctx) })
}

func (r *registrar) run(ctx context.Context) {
	defer close(r.ended)
	timer := time.NewTimer(r.pause())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-timer.C:
		}
		r.all(ctx)
		timer.Reset(r.pause())
	}
}

// pause is how long to wait before the next round.
func (r *registrar) pause() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, addr := range r.b.cfg.NameServers {
		if !r.known[addr] {
			return min(retryEvery, r.b.cfg.RegisterEvery)
		}
	}
	return r.b.cfg.RegisterEvery
}

// all registers with every name server.
func (r *registrar) all(ctx context.Context) {
	req := r.request()
	r.each(ctx, registerTimeout, func(ctx context.Context, addr string) error { return r.call(ctx, addr, req()) })
}

// each does something with every name server in parallel and notes which ones
// it worked with.
func (r *registrar) each(ctx context.Context, timeout time.Duration, do func(ctx context.Context, addr string) error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, addr := range r.b.cfg.NameServers {
		wg.Go(func() { r.note(addr, do(ctx, addr)) })
	}
	wg.Wait()
}

// note logs when a name server stops or begins to work.
func (r *registrar) note(addr string, err error) {
	r.mu.Lock()
	was, seen := r.known[addr]
	r.known[addr] = err == nil
	r.mu.Unlock()
	switch {
	case err != nil && (was || !seen) && r.b.ctx.Err() == nil:
		r.b.log.Warn("name server cannot be told of this broker; trying again", "namesrv", addr, "err", err)
	case err == nil && !was && seen:
		r.b.log.Info("name server is back", "namesrv", addr)
	}
}

// call sends one request and wants success.
func (r *registrar) call(ctx context.Context, addr string, req *wire.Command) error {
	conn, err := r.pool.Get(ctx, addr)
	if err != nil {
		return err
	}
	resp, err := conn.Call(ctx, req)
	if err != nil {
		return err
	}
	if resp.Code != wire.Success {
		return fmt.Errorf("name server %s answered %s: %s", addr, wire.ResponseName(resp.Code), resp.Remark)
	}
	return nil
}

// request makes registrations; each call needs a command of its own.
func (r *registrar) request() func() *wire.Command {
	b := r.b
	reg := body.RegisterBroker{Topics: b.topicTable(func(t *meta.Topic) bool {
		return t.Name != msg.TopicAutoCreate || !b.cfg.DisableAutoCreateTopic
	})}
	data := reg.Encode()
	h := r.header()
	return func() *wire.Command { return wire.NewRequest(wire.ReqRegisterBroker, &h, data) }
}

func (r *registrar) header() header.RegisterBroker {
	return header.RegisterBroker{
		BrokerName: r.b.cfg.Name, BrokerAddr: r.b.addr, ClusterName: r.b.cfg.Cluster, HAServerAddr: r.b.addr,
		BrokerID: 0, HeartbeatTimeoutMillis: header.Some(int64(120_000)), EnableActingMaster: header.Some(false),
	}
}

// leave takes the broker out of the name servers' routes and ends the
// connections to them. No registration may follow, so the last one ends first:
// what it has sent arrives before this on the same connection.
func (r *registrar) leave(ctx context.Context) {
	defer r.close(ctx)
	r.stop()
	<-r.ended
	h := header.UnregisterBroker{BrokerName: r.b.cfg.Name, BrokerAddr: r.b.addr, ClusterName: r.b.cfg.Cluster}
	r.each(ctx, leaveTimeout, func(ctx context.Context, addr string) error {
		return r.call(ctx, addr, wire.NewRequest(wire.ReqUnregisterBroker, &h, nil))
	})
}

// close ends the connections to the name servers.
func (r *registrar) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	_ = r.pool.Close(ctx) // nothing is under way
}
