// SPDX-License-Identifier: Apache-2.0

// Package netproxy is a dumb TCP proxy with faults, for tests with real
// processes: it knows nothing of what it carries. It delays, swallows one
// direction as a broken middlebox does, resets links and refuses new ones.
package netproxy

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// Direction is one of the two ways through the proxy.
type Direction int

// The directions.
const (
	ToServer Direction = iota // what the client sent
	ToClient                  // what the server sent
)

// Proxy carries bytes between clients and one server. Close waits for its
// goroutines.
type Proxy struct {
	ln       net.Listener
	upstream string
	ctx      context.Context // ends waits and links
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	mu      sync.Mutex
	delay   time.Duration
	swallow [2]bool
	refuse  bool
	watch   func(Direction, []byte)
	links   map[*link]bool
}

// Listen starts a proxy on a free loopback port to the server at upstream.
func Listen(ctx context.Context, upstream string) (*Proxy, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{ln: ln, upstream: upstream, links: map[*link]bool{}}
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is where clients connect.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Delay holds every chunk back for d, in both directions.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Swallow makes bytes of one direction vanish, or ends that. The links stay
// up, and the sender notices nothing.
func (p *Proxy) Swallow(d Direction, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallow[d] = on
}

// Refuse makes new links be reset at once, or ends that.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
}

// Watch calls f with each chunk that has arrived, before anything is done with
// it. f may call Swallow. nil: nobody watches.
func (p *Proxy) Watch(f func(Direction, []byte)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = f
}

// Reset ends all links with a reset on both sides and returns how many.
func (p *Proxy) Reset() int {
	p.mu.Lock()
	links := p.links
	p.links = map[*link]bool{}
	p.mu.Unlock()
	for l := range links {
		l.reset()
	}
	return len(links)
}

// Links is the number of links that are up.
func (p *Proxy) Links() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Close ends the proxy and its links.
func (p *Proxy) Close() {
	p.ln.Close()
	p.cancel()
	p.Refuse(true)
	p.Reset()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(c) })
	}
}
