// SPDX-License-Identifier: Apache-2.0

package netproxy

import (
	"context"
	"net"
	"sync"
	"time"
)

// link is one client's connection and the one made for it to the server.
type link struct {
	client, server net.Conn
}

// reset ends both connections; a reset instead of an orderly end is what
// lingering for no time at all does.
func (l *link) reset() {
	for _, c := range []net.Conn{l.client, l.server} {
		if c == nil {
			continue
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		c.Close()
	}
}

func (p *Proxy) serve(client net.Conn) {
	l := &link{client: client}
	if !p.open(l) {
		l.reset()
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { p.carry(ToServer, l.client, l.server) })
	wg.Go(func() { p.carry(ToClient, l.server, l.client) })
	wg.Wait()
	l.client.Close()
	l.server.Close()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// open makes the connection to the server, unless links are refused.
func (p *Proxy) open(l *link) bool {
	p.mu.Lock()
	refuse := p.refuse
	p.mu.Unlock()
	if refuse {
		return false
	}
	var d net.Dialer
	server, err := d.DialContext(p.ctx, "tcp", p.upstream)
	if err != nil {
		return false
	}
	l.server = server
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse {
		return false
	}
	p.links[l] = true
	return true
}

// chunk is bytes on their way, which may not arrive before due.
type chunk struct {
	b   []byte
	due time.Time
}

// carry moves bytes of one direction until either side ends, and passes the
// end on. Reading goes on while chunks wait for their time, within bounds.
func (p *Proxy) carry(d Direction, from, to net.Conn) {
	chunks := make(chan chunk, 256)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { p.deliver(chunks, to) })
	defer close(chunks)
	for {
		buf := make([]byte, 32<<10)
		n, err := from.Read(buf)
		if n > 0 {
			if b, delay, pass := p.arrived(d, buf[:n]); pass {
				chunks <- chunk{b, time.Now().Add(delay)}
			}
		}
		if err != nil {
			return
		}
	}
}

// arrived decides what becomes of a chunk.
func (p *Proxy) arrived(d Direction, b []byte) (out []byte, delay time.Duration, pass bool) {
	p.mu.Lock()
	watch := p.watch
	p.mu.Unlock()
	if watch != nil {
		watch(d, b)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return b, p.delay, !p.swallow[d]
}

// deliver writes chunks at their time, then ends the direction. After a failed
// write it only drains, so that the reader can find out by itself.
func (p *Proxy) deliver(chunks <-chan chunk, to net.Conn) {
	broken := false
	for c := range chunks {
		if broken || !p.wait(time.Until(c.due)) {
			continue
		}
		if _, err := to.Write(c.b); err != nil {
			broken = true
		}
	}
	if tcp, ok := to.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}

func (p *Proxy) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(p.ctx, d)
	defer cancel()
	<-ctx.Done()
	return p.ctx.Err() == nil
}
