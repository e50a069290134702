// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"net"
	"sync"
)

// Listener accepts the connections of one address.
type Listener struct {
	net   *Network
	addr  Addr
	queue chan *conn
	done  chan struct{}
	once  sync.Once
}

// Accept returns the next connection, in the order of the dials. It waits
// while the listener's host is frozen.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		l.net.mu.Lock()
		frozen, changed := l.net.frozen[l.addr.host], l.net.changed
		l.net.mu.Unlock()
		queue := l.queue
		if frozen {
			queue = nil
		}
		select {
		case <-l.done:
			return nil, &net.OpError{Op: "accept", Net: "mem", Addr: l.addr, Err: net.ErrClosed}
		case c := <-queue:
			l.net.mu.Lock()
			l.net.announce() // the backlog has room
			l.net.mu.Unlock()
			return c, nil
		case <-changed:
		}
	}
}

// Close frees the address. Connections that nobody accepted are reset.
func (l *Listener) Close() error {
	l.once.Do(func() {
		close(l.done)
		l.net.mu.Lock()
		if l.net.listeners[l.addr.String()] == l {
			delete(l.net.listeners, l.addr.String())
		}
		l.net.announce()
		l.net.mu.Unlock()
		for {
			select {
			case c := <-l.queue:
				c.pair.reset()
			default:
				return
			}
		}
	})
	return nil
}

// Addr returns the address listened on.
func (l *Listener) Addr() net.Addr { return l.addr }
