// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
)

func (b *Broker) connOpened(t *transport.Conn) *conn {
	c := newConn(b, t)
	t.SetValue(c)
	b.mu.Lock()
	b.conns[c.id] = c
	b.mu.Unlock()
	return c
}

func (b *Broker) connClosed(t *transport.Conn, _ error) {
	if c, ok := t.Value().(*conn); ok {
		c.end()
	}
}

// connEnded tells everybody that a connection is gone, after its last request
// was applied.
func (b *Broker) connEnded(c *conn) {
	b.mu.Lock()
	delete(b.conns, c.id)
	b.mu.Unlock()
	for _, h := range b.holds.dropConn(c) {
		b.alarms.stop(h.bell)
	}
	b.producers.remove(c, "")
	for _, g := range c.touched {
		g.linkGone(c.id, order.LeaseClosed, nil)
	}
}

// dropLink ends a connection; what it sent and was not applied yet is not
// applied.
func (b *Broker) dropLink(id order.LinkID, cause error) {
	b.mu.Lock()
	c := b.conns[id]
	b.mu.Unlock()
	if c != nil {
		c.drop(cause)
	}
}

// linkName is how logs name a connection.
func (b *Broker) linkName(id order.LinkID) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.conns[id]; c != nil {
		return c.peer.String()
	}
	return fmt.Sprintf("connection %d", id)
}

// clientExpiry ends the connection of a client that has not sent a heartbeat
// for so long.
const clientExpiry = 120 * time.Second

var errExpired = errors.New("no heartbeat for 120 s")

// expireClients closes the connections whose clients have gone silent.
func (b *Broker) expireClients() {
	now := b.clock.now()
	var silent []*conn
	b.mu.Lock()
	for _, c := range b.conns {
		if heard := order.Time(c.heard.Load()); heard != 0 && now.Sub(heard) > clientExpiry {
			silent = append(silent, c)
		}
	}
	b.mu.Unlock()
	for _, c := range silent {
		b.log.Info("client expired", "peer", c.peer.String())
		c.t.Close(errExpired)
	}
}

// handle has a request served, whatever it is, and sees to it that a handler's
// panic costs this request only.
func (b *Broker) handle(c *conn, req *wire.Command) {
	r := request{c, req}
	h := b.handlers[req.Code]
	if h == nil || c.vip && h.mainPort {
		b.unsupported(r)
		return
	}
	defer func() {
		if p := recover(); p != nil {
			b.log.Error("request handler panicked", "request", h.name, "peer", c.peer.String(), "panic", p, "stack", string(debug.Stack()))
			r.fail(wire.SystemError, fmt.Sprintf("%s failed: %v", h.name, p))
		}
	}()
	h.serve(b, r)
}

// unsupported answers a code that nobody serves. The link stays.
func (b *Broker) unsupported(r request) {
	b.stats.unknown.Add(1)
	if b.oddCodes.first(r.cmd.Code) {
		b.log.Warn("request code is not supported", "code", r.cmd.Code, "name", wire.RequestName(r.cmd.Code), "peer", r.c.peer.String())
	}
	r.fail(wire.RequestCodeNotSupported, fmt.Sprintf(" request type %d not supported", r.cmd.Code))
}
