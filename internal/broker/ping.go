// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// isPing tells a ping from a heartbeat: it has a number and no body.
func isPing(req *wire.Command) bool {
	return req.Code == wire.ReqHeartBeat && len(req.Body) == 0 && header.IsPing(req.Ext)
}

// ping answers a ping, on the goroutine that read it and ahead of all other
// answers, and refreshes the leases of its session to the time when the answer
// that the ping acknowledges was sent.
func (b *Broker) ping(c *conn, req *wire.Command) {
	r := request{c, req}
	var ping header.Ping
	if !r.decode(&ping) {
		return
	}
	now := b.clock.now()
	sent, known := c.pings.Sent(ping.Ack)
	resp := wire.NewResponse(req, wire.Success, "")
	header.Ping{N: ping.N}.Encode(&resp.Ext)
	if err := c.t.ReplyWith(req, resp, transport.WriteOptions{Urgent: true}); err != nil {
		return // the connection has ended
	}
	if ping.N != 0 {
		c.pings.Answered(ping.N, now)
	}
	c.heard.Store(int64(now))
	groups := c.joined.Load()
	if !known || groups == nil {
		return
	}
	for _, g := range *groups {
		g.feedSoon(&order.LeaseEvent{Kind: order.LeaseRefresh, Link: c.id, Sent: sent})
	}
}
