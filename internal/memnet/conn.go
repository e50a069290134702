// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// pair is a connection: two ends and two pipes. pipes[i] carries what ends[i]
// writes. One mutex guards all of it; waits are on cond only.
type pair struct {
	net    *Network
	mu     sync.Mutex
	cond   sync.Cond
	ends   [2]conn
	pipes  [2]pipe
	broken bool // Reset
}

// conn is one end; it implements net.Conn.
type conn struct {
	pair   *pair
	side   int
	local  Addr
	frozen bool
	closed bool
	read   deadline
	write  deadline
}

func newPair(n *Network, dialer, listener Addr) *pair {
	p := &pair{net: n}
	p.cond.L = &p.mu
	p.ends[0] = conn{pair: p, side: 0, local: dialer}
	p.ends[1] = conn{pair: p, side: 1, local: listener}
	return p
}

func (p *pair) between(a, b string) bool {
	x, y := p.ends[0].local.host, p.ends[1].local.host
	return match(a, x) && match(b, y) || match(a, y) && match(b, x)
}

func (p *pair) reset() {
	p.mu.Lock()
	p.broken = true
	p.pipes = [2]pipe{}
	p.cond.Broadcast()
	p.mu.Unlock()
}

func (p *pair) forget() {
	p.net.mu.Lock()
	delete(p.net.conns, p)
	p.net.mu.Unlock()
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	p := c.pair
	in := &p.pipes[1-c.side]
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, c.failed("read", net.ErrClosed)
		case c.frozen:
		case p.broken:
			return 0, c.failed("read", syscall.ECONNRESET)
		case c.read.passed():
			return 0, c.failed("read", os.ErrDeadlineExceeded)
		case len(b) == 0:
			return 0, nil
		default:
			n, eof, next := in.pull(b)
			if n > 0 {
				p.cond.Broadcast() // room for the writer
				return n, nil
			}
			if eof {
				return 0, io.EOF
			}
			p.wakeAt(in, next)
		}
		p.cond.Wait()
	}
}

// wakeAt arranges a wake-up for a delayed segment; p.mu is held.
func (p *pair) wakeAt(in *pipe, at time.Time) {
	if at.IsZero() {
		return
	}
	if in.arrival != nil {
		in.arrival.Stop()
	}
	in.arrival = time.AfterFunc(time.Until(at), p.wake)
}

func (p *pair) wake() {
	p.mu.Lock()
	p.cond.Broadcast()
	p.mu.Unlock()
}

// Write implements net.Conn. It waits while the peer's buffer is full.
func (c *conn) Write(b []byte) (int, error) {
	p := c.pair
	out := &p.pipes[c.side]
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := 0; ; {
		switch {
		case c.closed || out.finSent:
			return n, c.failed("write", net.ErrClosed)
		case c.frozen:
		case p.broken:
			return n, c.failed("write", syscall.ECONNRESET)
		case c.write.passed():
			return n, c.failed("write", os.ErrDeadlineExceeded)
		case c.knowsPeerGone():
			return n, c.failed("write", syscall.EPIPE)
		default:
			k := out.push(b[n:])
			n += k
			if k > 0 {
				p.cond.Broadcast()
			}
			if n == len(b) {
				return n, nil
			}
		}
		p.cond.Wait()
	}
}

// knowsPeerGone reports whether the peer has closed and both ways are open
// enough for this end to learn it.
func (c *conn) knowsPeerGone() bool {
	out, in := &c.pair.pipes[c.side], &c.pair.pipes[1-c.side]
	return out.readerGone && !out.rule.blocked && !in.rule.blocked && !out.swallowing && !in.swallowing
}

// Close implements net.Conn. The peer reads everything sent before, then EOF.
func (c *conn) Close() error {
	p := c.pair
	p.mu.Lock()
	if c.closed {
		p.mu.Unlock()
		return c.failed("close", net.ErrClosed)
	}
	c.closed = true
	p.pipes[c.side].finish()
	in := &p.pipes[1-c.side]
	in.readerGone = true
	in.segs, in.size = nil, 0
	if in.arrival != nil {
		in.arrival.Stop()
	}
	c.read.stop()
	c.write.stop()
	last := p.ends[1-c.side].closed
	p.cond.Broadcast()
	p.mu.Unlock()
	if last {
		p.forget()
	}
	return nil
}

// CloseWrite ends the stream to the peer; reading goes on.
func (c *conn) CloseWrite() error {
	p := c.pair
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.closed {
		return c.failed("close", net.ErrClosed)
	}
	p.pipes[c.side].finish()
	p.cond.Broadcast()
	return nil
}

// Buffered returns how many bytes have arrived and are unread.
func (c *conn) Buffered() int {
	c.pair.mu.Lock()
	defer c.pair.mu.Unlock()
	return c.pair.pipes[1-c.side].buffered()
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.pair.ends[1-c.side].local }

func (c *conn) failed(op string, err error) error {
	return &net.OpError{Op: op, Net: "mem", Source: c.local, Addr: c.RemoteAddr(), Err: err}
}
