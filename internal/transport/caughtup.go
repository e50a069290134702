// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// pokes are the callers of CaughtUp that wait for a connection's reader.
type pokes struct {
	pending atomic.Bool // waiters is not empty

	mu      sync.Mutex
	waiters []chan struct{}
}

func (p *pokes) add() <-chan struct{} {
	ch := make(chan struct{})
	p.mu.Lock()
	p.waiters = append(p.waiters, ch)
	p.pending.Store(true)
	p.mu.Unlock()
	return ch
}

func (p *pokes) release() {
	p.mu.Lock()
	for _, ch := range p.waiters {
		close(ch)
	}
	p.waiters = nil
	p.pending.Store(false)
	p.mu.Unlock()
}

// CaughtUp returns once everything that had arrived when it was called has
// been served: requests by the Handler, answers by their calls. After a pause
// of the process its clocks have jumped, but the signs of life that came in
// meanwhile are still unread; who judges silence calls this first.
func (c *Conn) CaughtUp(ctx context.Context) error {
	ch := c.startPoke()
	if ch == nil {
		return nil
	}
	return c.awaitPoke(ctx, ch)
}

// startPoke makes the reader look up. Nil means that the connection is not set
// up yet: nothing can have arrived for anybody.
func (c *Conn) startPoke() <-chan struct{} {
	if !c.opened.Load() {
		return nil
	}
	ch := c.pokes.add()
	_ = c.raw.SetReadDeadline(past) // if it fails the connection has ended
	return ch
}

func (c *Conn) awaitPoke(ctx context.Context, ch <-chan struct{}) error {
	select {
	case <-ch:
		return nil
	case <-c.done:
		return c.ended(true)
	case <-ctx.Done():
		return fmt.Errorf("transport: %v keeps sending: %w", c.RemoteAddr(), context.Cause(ctx))
	}
}

// CaughtUp returns once every connection has served what had arrived when it
// was called. A connection that ends meanwhile has, too. Connections whose
// reader waits for room (MaxInFlightBytes) are waited for until ctx ends.
func (s *Server) CaughtUp(ctx context.Context) error {
	conns := s.Conns()
	waits := make([]<-chan struct{}, len(conns))
	for i, c := range conns {
		waits[i] = c.startPoke()
	}
	for i, c := range conns {
		if waits[i] == nil {
			continue
		}
		if err := c.awaitPoke(ctx, waits[i]); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// poke is the reader's part: it makes the next read return at once while
// somebody waits, and once, after something was found unread, lets it through.
func (c *Conn) poke() {
	if !c.pokes.pending.Load() || c.clock.letThrough {
		return
	}
	c.clock.armed = past
	_ = c.raw.SetReadDeadline(past)
}

// poked handles a read that returned because of a poke: all that was read is
// served, so if nothing more has arrived the reader has caught up.
func (c *Conn) poked() {
	c.clock.armed = time.Time{}
	if !c.pokes.pending.Load() {
		return
	}
	if hasUnread(c.raw) {
		c.clock.letThrough = true
		return
	}
	c.pokes.release()
}

// hasUnread reports whether bytes have arrived that nobody has read. It does
// not disturb a reader.
func hasUnread(nc net.Conn) bool {
	for {
		switch c := nc.(type) {
		case interface{ NetConn() net.Conn }: // TLS; a record it has begun to read is no frame yet
			nc = c.NetConn()
		case *replay:
			nc = c.Conn
		case interface{ Buffered() int }: // memnet
			return c.Buffered() > 0
		default:
			return peek(nc)
		}
	}
}
