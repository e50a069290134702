// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"maps"
	"slices"
	"time"
)

// route is a direction between two hosts; "*" stands for any host.
type route struct{ from, to string }

// rule is what is wrong with a route.
type rule struct {
	blocked bool
	delay   time.Duration
}

func (r rule) silent() bool { return r.blocked }

// rule returns what holds for bytes on their way; n.mu is held.
func (n *Network) rule(from, to string) rule {
	var sum rule
	for _, r := range []route{{from, to}, {from, "*"}, {"*", to}, {"*", "*"}} {
		one := n.rules[r]
		sum.blocked = sum.blocked || one.blocked
		sum.delay += one.delay
	}
	return sum
}

// change edits one rule and brings all open connections up to date.
func (n *Network) change(edit func()) {
	n.mu.Lock()
	edit()
	for p := range n.conns {
		n.apply(p)
	}
	n.announce()
	n.mu.Unlock()
}

// apply tells a connection what holds for it now; n.mu is held.
func (n *Network) apply(p *pair) {
	a, b := p.ends[0].local.host, p.ends[1].local.host
	p.mu.Lock()
	p.pipes[0].setRule(n.rule(a, b))
	p.pipes[1].setRule(n.rule(b, a))
	p.ends[0].frozen = n.frozen[a]
	p.ends[1].frozen = n.frozen[b]
	p.cond.Broadcast()
	p.mu.Unlock()
}

// Block makes the way from one host to another silent: bytes, closes and new
// connections on it wait and go on at Unblock, as a network that loses every
// packet would do it. "*" stands for any host.
func (n *Network) Block(from, to string) { n.block(true, route{from, to}) }

// Unblock ends Block.
func (n *Network) Unblock(from, to string) { n.block(false, route{from, to}) }

// Cut blocks both directions between two hosts.
func (n *Network) Cut(a, b string) { n.block(true, route{a, b}, route{b, a}) }

// Heal ends Cut.
func (n *Network) Heal(a, b string) { n.block(false, route{a, b}, route{b, a}) }

// Partition cuts every host of a from every host of b.
func (n *Network) Partition(a, b []string) {
	var routes []route
	for _, x := range a {
		for _, y := range b {
			routes = append(routes, route{x, y}, route{y, x})
		}
	}
	n.block(true, routes...)
}

func (n *Network) block(on bool, routes ...route) {
	n.change(func() {
		for _, r := range routes {
			one := n.rules[r]
			one.blocked = on
			n.rules[r] = one
		}
	})
}

// HealAll ends all blocks, delays and freezes. What Blackhole, Reset and Kill
// did to connections stays.
func (n *Network) HealAll() {
	n.change(func() {
		clear(n.rules)
		clear(n.frozen)
	})
}

// Delay makes everything sent from one host to another arrive d later; 0 ends
// it. A new connection takes the delays of both directions.
func (n *Network) Delay(from, to string, d time.Duration) {
	n.change(func() {
		one := n.rules[route{from, to}]
		one.delay = d
		n.rules[route{from, to}] = one
	})
}

// Freeze makes the process on host stand still: no Read, Write or Accept of it
// returns, while its kernel still takes bytes until the buffers are full.
func (n *Network) Freeze(host string) { n.change(func() { n.frozen[host] = true }) }

// Thaw ends Freeze.
func (n *Network) Thaw(host string) { n.change(func() { delete(n.frozen, host) }) }

// Blackhole makes open connections swallow, for good, all that is sent in the
// direction from -> to, their close included. The sender never notices, and
// its writes never wait. New connections are not touched.
func (n *Network) Blackhole(from, to string) {
	for _, p := range n.between(from, to) {
		p.mu.Lock()
		for i := range p.pipes {
			if match(from, p.ends[i].local.host) && match(to, p.ends[1-i].local.host) {
				p.pipes[i].swallow()
			}
		}
		p.cond.Broadcast()
		p.mu.Unlock()
	}
}

// Reset breaks the open connections between two hosts: both ends get
// ECONNRESET at once and bytes on their way are lost.
func (n *Network) Reset(a, b string) {
	for _, p := range n.between(a, b) {
		p.reset()
	}
}

// Kill ends the process on host: its ports close and its peers see its
// connections closed, after the bytes it had sent. A blocked way hides that.
func (n *Network) Kill(host string) {
	n.mu.Lock()
	ls := slices.Collect(maps.Values(n.listeners))
	n.mu.Unlock()
	for _, l := range ls {
		if l.addr.host == host {
			_ = l.Close()
		}
	}
	for _, p := range n.between(host, "*") {
		for i := range p.ends {
			if p.ends[i].local.host == host {
				_ = p.ends[i].Close()
			}
		}
	}
}

func (n *Network) between(a, b string) []*pair {
	n.mu.Lock()
	defer n.mu.Unlock()
	var found []*pair
	for p := range n.conns {
		if p.between(a, b) {
			found = append(found, p)
		}
	}
	return found
}

func match(pattern, host string) bool { return pattern == "*" || pattern == host }
