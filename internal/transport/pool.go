// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// PoolConfig configures a Pool.
type PoolConfig struct {
	Dialer *Dialer // nil dials TCP with the defaults
	// MinBackoff and MaxBackoff bound how long an address is left alone after
	// a failure: 100 ms, doubled each time, up to 5 s.
	MinBackoff, MaxBackoff time.Duration
}

// Pool keeps one live connection per address.
type Pool struct {
	dialer     *Dialer
	minBackoff time.Duration
	maxBackoff time.Duration
	env        *env

	mu      sync.Mutex
	peers   map[string]*peer
	byConn  map[*Conn]*peer
	closing bool
	stop    chan struct{}
	wg      sync.WaitGroup // dials and readers
}

// peer is what a pool knows of one address; guarded by Pool.mu.
type peer struct {
	addr     string
	conn     *Conn         // nil if there is none alive
	since    time.Time     // when conn was opened
	dialing  chan struct{} // closed when the dial under way ends; nil if none is
	failures int           // in a row
	err      error         // of the last dial or connection
	retryAt  time.Time
}

// NewPool returns an empty pool.
func NewPool(cfg PoolConfig) *Pool {
	p := &Pool{
		dialer:     cfg.Dialer,
		minBackoff: cmp.Or(cfg.MinBackoff, 100*time.Millisecond),
		maxBackoff: cmp.Or(cfg.MaxBackoff, 5*time.Second),
		peers:      map[string]*peer{},
		byConn:     map[*Conn]*peer{},
		stop:       make(chan struct{}),
	}
	if p.dialer == nil {
		p.dialer = &Dialer{}
	}
	p.env = p.dialer.newEnv(p.onClose)
	return p
}

// Get returns the live connection to addr, or makes one. Calls at the same
// time share one dial, which goes on if the ctx of one of them ends. After a
// failure, Get returns a *DialError at once until its RetryAt.
func (p *Pool) Get(ctx context.Context, addr string) (*Conn, error) {
	for first := true; ; first = false {
		p.mu.Lock()
		if p.closing {
			p.mu.Unlock()
			return nil, &DialError{Addr: addr, Err: &closedError{cause: ErrShutdown}}
		}
		e := p.peer(addr)
		if c := e.conn; c != nil && c.Err() == nil {
			p.mu.Unlock()
			return c, nil
		}
		if e.dialing == nil && e.err != nil && (!first || time.Now().Before(e.retryAt)) {
			err := &DialError{Addr: addr, RetryAt: e.retryAt, Err: e.err}
			p.mu.Unlock()
			return nil, err
		}
		if e.dialing == nil {
			p.dial(ctx, e)
		}
		dialing := e.dialing
		p.mu.Unlock()
		select {
		case <-dialing:
		case <-ctx.Done():
			return nil, &DialError{Addr: addr, Err: ctx.Err()}
		}
	}
}

func (p *Pool) peer(addr string) *peer {
	e := p.peers[addr]
	if e == nil {
		e = &peer{addr: addr}
		p.peers[addr] = e
	}
	return e
}

// dial starts the one dial of e; p.mu is held. It outlives ctx, whose values
// it keeps, and ends with the pool.
func (p *Pool) dial(ctx context.Context, e *peer) {
	e.dialing = make(chan struct{})
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.wg.Go(func() {
		defer cancel()
		ended := make(chan struct{})
		defer close(ended)
		p.wg.Go(func() {
			select {
			case <-p.stop:
				cancel()
			case <-ended:
			}
		})
		nc, err := p.dialer.open(ctx, e.addr)
		p.mu.Lock()
		defer p.mu.Unlock()
		defer func() {
			close(e.dialing)
			e.dialing = nil
		}()
		if err == nil && p.closing {
			_ = nc.Close()
			err = ErrShutdown
		}
		if err != nil {
			p.failed(e, err)
			return
		}
		e.conn, e.since, e.err = newConn(p.env, p.dialer.lastID.Add(1), nc), time.Now(), nil
		p.byConn[e.conn] = e
		p.wg.Go(e.conn.run)
	})
}

// failed notes a failure; p.mu is held.
func (p *Pool) failed(e *peer, err error) {
	backoff := min(p.minBackoff<<min(e.failures, 20), p.maxBackoff)
	e.failures++
	e.err = err
	e.retryAt = time.Now().Add(backoff)
}

// onClose takes an ended connection out. One that never brought a frame counts
// as a failure, so that a server that accepts and closes is left alone too.
func (p *Pool) onClose(c *Conn, err error) {
	p.mu.Lock()
	if e := p.byConn[c]; e != nil {
		delete(p.byConn, c)
		if e.conn == c {
			e.conn = nil
		}
		if c.received.Load() > 0 {
			p.forget(e)
		} else {
			p.failed(e, fmt.Errorf("the connection ended before the peer sent anything: %w", err))
		}
	}
	p.mu.Unlock()
	if p.dialer.OnClose != nil {
		p.dialer.OnClose(c, err)
	}
}

// forget takes out what is known of an address without trouble, so that the
// table does not grow with every address ever used; p.mu is held.
func (p *Pool) forget(e *peer) {
	e.failures, e.err = 0, nil
	if e.conn == nil && e.dialing == nil && p.peers[e.addr] == e {
		delete(p.peers, e.addr)
	}
}

// Drop closes the connection to addr, if there is one, and lets the next Get
// dial at once.
func (p *Pool) Drop(addr string, cause error) {
	p.mu.Lock()
	var c *Conn
	if e := p.peers[addr]; e != nil {
		c = e.conn
		e.conn = nil
		delete(p.byConn, c)
		p.forget(e)
	}
	p.mu.Unlock()
	if c != nil {
		c.Close(cause)
	}
}

// Conns returns the live connections by address.
func (p *Pool) Conns() map[string]*Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	conns := map[string]*Conn{}
	for addr, e := range p.peers {
		if e.conn != nil {
			conns[addr] = e.conn
		}
	}
	return conns
}

// Close writes what is queued, closes all connections and waits for every
// goroutine. When ctx ends first the rest is closed as it is.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	if !p.closing {
		p.closing = true
		close(p.stop)
	}
	var conns []*Conn
	for c := range p.byConn {
		conns = append(conns, c)
	}
	p.mu.Unlock()
	for _, c := range conns {
		c.stopReading(ErrShutdown)
	}
	return waitAll(ctx, conns, &p.wg)
}
