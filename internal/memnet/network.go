// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

const (
	// bufferSize is how many bytes one direction holds before writers wait.
	bufferSize = 128 << 10
	// backlog is how many connections wait to be accepted before dialers wait.
	backlog = 128
	// firstEphemeral is the first port handed out to a dialer or for port 0.
	firstEphemeral = 40_000
)

// Network connects named hosts. Use New.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*Listener // by host:port
	conns     map[*pair]struct{}
	rules     map[route]rule
	frozen    map[string]bool
	nextPort  map[string]uint16
	ips       map[string]netip.Addr
	changed   chan struct{} // closed and replaced whenever a fault or listener changes
}

// New returns a network without hosts and without faults.
func New() *Network {
	return &Network{
		listeners: map[string]*Listener{},
		conns:     map[*pair]struct{}{},
		rules:     map[route]rule{},
		frozen:    map[string]bool{},
		nextPort:  map[string]uint16{},
		ips:       map[string]netip.Addr{},
		changed:   make(chan struct{}),
	}
}

// Listen listens on host:port; port 0 picks a free one.
func (n *Network) Listen(addr string) (net.Listener, error) {
	host, port, err := splitAddr(addr)
	if err != nil {
		return nil, err
	}
	return n.listen(host, port)
}

// Dial connects from the host "client".
func (n *Network) Dial(ctx context.Context, addr string) (net.Conn, error) {
	return n.Host("client").Dial(ctx, "tcp", addr)
}

// Host returns the network as seen from the named host.
func (n *Network) Host(name string) *Host { return &Host{net: n, name: name} }

// Host dials and listens as one named machine. Its methods have the shapes of
// net.Dialer.DialContext and net.Listen.
type Host struct {
	net  *Network
	name string
}

// Name returns the host's name.
func (h *Host) Name() string { return h.name }

// Listen listens on addr. An empty or unspecified host means this host.
func (h *Host) Listen(_, addr string) (net.Listener, error) {
	host, port, err := splitAddr(addr)
	if err != nil {
		return nil, err
	}
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = h.name
	}
	return h.net.listen(host, port)
}

// Dial connects this host to addr. It waits while the way is blocked, until
// ctx ends, and is refused at once if nobody listens. The loopback names mean
// this host when it listens on that port.
func (h *Host) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := h.dial(ctx, addr)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: textAddr(addr), Err: err}
	}
	return c, nil
}

func (h *Host) dial(ctx context.Context, addr string) (net.Conn, error) {
	host, port, err := splitAddr(addr)
	if err != nil {
		return nil, err
	}
	n := h.net
	for first := true; ; first = false {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n.mu.Lock()
		to := n.resolve(h.name, host, port)
		out, back := n.rule(h.name, to), n.rule(to, h.name)
		l := n.listeners[Addr{host: to, port: port}.String()]
		changed := n.changed
		n.mu.Unlock()
		switch {
		case out.silent() || back.silent():
			if err := wait(ctx, changed, 0); err != nil {
				return nil, err
			}
		case first && out.delay+back.delay > 0:
			if err := wait(ctx, nil, out.delay+back.delay); err != nil {
				return nil, err
			}
		case l == nil:
			return nil, syscall.ECONNREFUSED
		default:
			if c := n.connect(h.name, l); c != nil {
				return c, nil
			}
			if err := wait(ctx, changed, 0); err != nil { // the backlog is full
				return nil, err
			}
		}
	}
}

// resolve turns a loopback name into the dialer's own host if that listens
// there; n.mu is held.
func (n *Network) resolve(from, host string, port uint16) string {
	if host == "127.0.0.1" || host == "localhost" || host == "::1" {
		if n.listeners[Addr{host: from, port: port}.String()] != nil {
			return from
		}
	}
	return host
}

// connect puts a new connection into l's backlog, or returns nil if it is full
// or l is closed.
func (n *Network) connect(from string, l *Listener) net.Conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[l.addr.String()] != l || len(l.queue) == cap(l.queue) {
		return nil
	}
	p := newPair(n, n.addrOf(from, n.ephemeral(from)), l.addr)
	n.conns[p] = struct{}{}
	n.apply(p)
	l.queue <- &p.ends[1] // has room: only senders under n.mu fill it
	return &p.ends[0]
}

// ephemeral returns the next unused port of host; n.mu is held.
func (n *Network) ephemeral(host string) uint16 {
	for {
		port := max(n.nextPort[host], firstEphemeral)
		n.nextPort[host] = port + 1 // wraps to 0, which max lifts again
		if n.listeners[Addr{host: host, port: port}.String()] == nil {
			return port
		}
	}
}

func (n *Network) listen(host string, port uint16) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if port == 0 {
		port = n.ephemeral(host)
	}
	addr := n.addrOf(host, port)
	if n.listeners[addr.String()] != nil {
		return nil, &net.OpError{Op: "listen", Net: "mem", Addr: addr, Err: syscall.EADDRINUSE}
	}
	l := &Listener{net: n, addr: addr, queue: make(chan *conn, backlog), done: make(chan struct{})}
	n.listeners[addr.String()] = l
	n.announce()
	return l, nil
}

// announce wakes dialers that wait for a change; n.mu is held.
func (n *Network) announce() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// Conns returns how many connections are open between a and b, in either
// direction; "*" stands for any host.
func (n *Network) Conns(a, b string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := 0
	for p := range n.conns {
		if p.between(a, b) {
			count++
		}
	}
	return count
}

type textAddr string

func (textAddr) Network() string  { return "mem" }
func (a textAddr) String() string { return string(a) }

// wait returns when ch is closed, d has passed (if positive) or ctx ends.
func wait(ctx context.Context, ch <-chan struct{}, d time.Duration) error {
	var timer <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-ch:
		return nil
	case <-timer:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("no answer from the peer: %w", ctx.Err())
	}
}
