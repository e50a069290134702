// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
)

// maxQueued bounds the request bytes that wait for a connection's handlers. At
// the bound the connection is not read: its peer slows down.
const maxQueued = 48 << 20

// conn is a connection as the broker sees it. Its requests are handled one at
// a time, in arrival order, by a goroutine that exists only while there are
// some.
type conn struct {
	b    *Broker
	t    *transport.Conn
	id   order.LinkID
	peer netip.AddrPort
	host string // the peer's address without port, as the lease tables compare it
	port int32  // the broker's port that it came in on
	vip  bool

	pings order.PingLog // only touched by the reader

	mu      sync.Mutex
	queue   []*wire.Command
	bytes   int
	room    *sync.Cond // somebody waits for bytes to fall
	running bool
	ended   bool // closed by the peer: served when the queue is empty
	dropped bool // nothing more of it is to be applied

	// What follows belongs to the handlers, one at a time.
	client  string            // client id, once a heartbeat or lock named it
	session order.Token       // 0: a stock client
	names   map[string]string // by group: the member's name that outlives the process, if it has one
	known   bool              // a heartbeat, lock or pull has been seen
	touched map[string]*group
	unsure  map[string]*group // tables in which a commit of this link waits

	joined atomic.Pointer[[]*group] // touched by heartbeats; read by pings
	heard  atomic.Int64             // order.Time of the last heartbeat, 0: none
	holds  holdSet
}

func newConn(b *Broker, t *transport.Conn) *conn {
	c := &conn{b: b, t: t, id: order.LinkID(t.ID()), touched: map[string]*group{}, unsure: map[string]*group{}}
	c.room = sync.NewCond(&c.mu)
	c.peer = transport.AddrPort(t.RemoteAddr())
	if host, _, err := net.SplitHostPort(t.RemoteAddr().String()); err == nil {
		c.host = host
	}
	if _, port, err := net.SplitHostPort(t.LocalAddr().String()); err == nil {
		n, _ := strconv.Atoi(port)
		c.port = int32(n)
		c.vip = b.vipPort != 0 && c.port == b.vipPort
	}
	return c
}

// enqueue has req handled after all that came before it.
func (c *conn) enqueue(req *wire.Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.bytes > maxQueued && !c.dropped {
		c.room.Wait()
	}
	if c.dropped {
		return
	}
	c.queue = append(c.queue, req)
	c.bytes += len(req.Body)
	c.start()
}

// end has the connection's end handled after all that came before it.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.start()
}

// start makes sure that somebody works on the queue; c.mu is held.
func (c *conn) start() {
	if !c.running {
		c.running = true
		c.b.wg.Go(c.work)
	}
}

// drop makes sure that no further request of the connection is applied, and
// closes it.
func (c *conn) drop(cause error) {
	c.mu.Lock()
	c.dropped = true
	c.queue, c.bytes = nil, 0
	c.room.Broadcast()
	c.mu.Unlock()
	c.t.Close(cause)
}

func (c *conn) work() {
	for {
		req, end := c.next()
		if end {
			c.b.connEnded(c)
			return
		}
		if req == nil {
			return
		}
		c.b.handle(c, req)
	}
}

// next takes the next request off the queue. Without one it says whether the
// connection has ended; either way the work is over then.
func (c *conn) next() (req *wire.Command, end bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		c.running = c.ended // after the end nobody is to start again
		c.queue = nil
		return nil, c.ended
	}
	req = c.queue[0]
	c.queue[0] = nil
	c.queue = c.queue[1:]
	c.bytes -= len(req.Body)
	c.room.Broadcast()
	return req, false
}

// remember notes that the connection takes part in a group, so that its end is
// told to the group. It reports false if the connection takes part in too many.
func (c *conn) remember(g *group) bool {
	have := c.touched[g.name]
	if have == g {
		return true
	}
	if have == nil && len(c.touched) >= c.b.cfg.MaxGroupsOfConn {
		return false
	}
	c.touched[g.name] = g
	return true
}

// join notes that a heartbeat of ours named the group: pings refresh it.
func (c *conn) join(g *group) {
	old := c.joined.Load()
	var list []*group
	if old != nil {
		for _, j := range *old {
			if j == g {
				return
			}
		}
		list = append(list, *old...)
	}
	list = append(list, g)
	c.joined.Store(&list)
}

// becomeKnown tells the tables in which commits of this link wait.
func (c *conn) becomeKnown() {
	c.known = true
	for name, g := range c.unsure {
		delete(c.unsure, name)
		g.feed(&order.LeaseEvent{Kind: order.LeaseKnown, Link: c.id}, nil)
	}
}
