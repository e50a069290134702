// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/route"
	"github.com/orderlymq/orderly/internal/transport"
)

// Client is the connection to one cluster, shared by producers and consumers.
// Its methods may be called from several goroutines.
type Client struct {
	cfg   Config
	log   *slog.Logger
	id    string
	ids   *msg.IDGenerator
	codec msg.Codec
	start time.Time // of the scale of order.Time

	ctx     context.Context // ends last: what still runs then is cut short
	cancel  context.CancelFunc
	closing chan struct{} // closed first: consumers end
	pool    *transport.Pool
	names   *nameServers
	routes  *routes
	wg      sync.WaitGroup // goroutines of the client itself
	rescues atomic.Int64   // by the watchdogs of all its consumers

	mu        sync.Mutex
	closed    bool
	ended     bool // no more goroutines
	brokers   map[string]*broker
	members   map[string]*member // by group: what brokers are told
	groups    map[string]bool    // taken, until the last word of a leave
	producers map[*Producer]struct{}
	consumers sync.WaitGroup
}

// Open checks cfg and reaches a name server. ctx bounds the opening only.
func Open(ctx context.Context, cfg Config) (*Client, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	c := &Client{
		cfg: cfg, log: cfg.Logger, start: time.Now(), closing: make(chan struct{}),
		brokers: map[string]*broker{}, members: map[string]*member{}, groups: map[string]bool{}, producers: map[*Producer]struct{}{},
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.pool = transport.NewPool(transport.PoolConfig{
		Dialer: &transport.Dialer{
			Dial: cfg.Dial, Timeout: cfg.RequestTimeout, Handler: transport.HandlerFunc(c.serve), TLS: cfg.TLS, Logger: cfg.Logger,
		},
		MinBackoff: firstRetry, MaxBackoff: lastRetry,
	})
	c.names = &nameServers{c: c, addrs: cfg.NameServers}
	c.routes = &routes{c: c, topics: map[string]*routeEntry{}, changed: c.routeChanged}
	if err := c.identify(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.spawn(c.refreshRoutes)
	return c, nil
}

// identify reaches a name server and takes the address it is reached from as
// this host's.
func (c *Client) identify(ctx context.Context) error {
	var local netip.Addr
	err := c.names.try(ctx, func(ctx context.Context, addr string) error {
		conn, err := c.pool.Get(ctx, addr)
		if err == nil {
			local = hostOf(conn.LocalAddr())
		}
		return err
	})
	if err != nil {
		return err
	}
	host := "127.0.0.1"
	if local.IsValid() {
		host = local.String()
	}
	c.ids = msg.NewIDGenerator(msg.IDConfig{Addr: local})
	c.id = host + "@" + or(c.cfg.InstanceName, fmt.Sprintf("%d#%d", os.Getpid(), time.Now().UnixNano()))
	return nil
}

func hostOf(a net.Addr) netip.Addr {
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap().WithZone("")
}

// Rescues is how many queues of this client's consumers stood still without a
// reason and were set going again by their watchdog. In a sound client it is 0;
// anything else is a fault worth reporting, with the log line that comes with
// it.
func (c *Client) Rescues() int64 { return c.rescues.Load() }

// ID is the client id that brokers and tools show.
func (c *Client) ID() string { return c.id }

// Queues lists the writable queues of a topic in their stable order.
func (c *Client) Queues(ctx context.Context, topic string) ([]Queue, error) {
	r, err := c.routes.get(ctx, topic)
	if err != nil {
		return nil, err
	}
	queues, _, err := r.writable(topic)
	return slices.Clone(queues), err
}

// Close ends all consumers as if their contexts ended, closes producers (they
// get Config.RequestTimeout to settle what they have accepted), and returns
// after the last goroutine and connection is gone.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		<-c.ctx.Done()
		c.wg.Wait()
		return nil
	}
	c.closed = true
	close(c.closing)
	producers := make([]*Producer, 0, len(c.producers))
	for p := range c.producers {
		producers = append(producers, p)
	}
	c.mu.Unlock()
	ctx, cancel := c.requestContext()
	defer cancel()
	var closing sync.WaitGroup
	for _, p := range producers {
		closing.Go(func() { _ = p.Close(ctx) })
	}
	closing.Wait()
	c.consumers.Wait()
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.cancel()
	// What is queued gets a moment to be written; then links are cut.
	draining, stop := context.WithTimeout(context.WithoutCancel(c.ctx), time.Second)
	defer stop()
	_ = c.pool.Close(draining)
	c.wg.Wait()
	return nil
}

// spawn runs f on a goroutine that Close waits for. It reports false if the
// client has ended.
func (c *Client) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.wg.Go(f)
	return true
}

// now is the time on the scale of the state machines. It is called without
// locks, by every goroutine that acts on an event before it does.
func (c *Client) now() order.Time {
	if c.cfg.mono != nil {
		return order.Time(c.cfg.mono())
	}
	return order.Time(time.Since(c.start))
}

// arm sets timer to go off at next.
func (c *Client) arm(timer *time.Timer, next order.Time) {
	const far = time.Hour // there is no harm in waking now and then
	timer.Reset(min(max(next.Sub(c.now()), 0), far))
}

// refreshRoutes asks for all routes again and again.
func (c *Client) refreshRoutes() {
	ticker := time.NewTicker(c.cfg.RouteRefresh)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.routes.refreshAll()
		case <-c.ctx.Done():
			return
		}
	}
}

// learn takes the brokers of a route into the address book.
func (c *Client) learn(r *route.TopicRoute) {
	for i := range r.Brokers {
		if addr, ok := r.Brokers[i].Master(); ok {
			if b := c.broker(r.Brokers[i].Name); b != nil {
				b.moved(addr)
			}
		}
	}
}

// broker is the broker of that name; nil when the client has ended.
func (c *Client) broker(name string) *broker {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.brokers[name]
	if b == nil && !c.ended {
		b = newBroker(c, name)
		c.brokers[name] = b
		c.wg.Go(func() { b.run(c.ctx) })
	}
	return b
}

func (c *Client) brokerList() []*broker {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*broker
	for _, b := range c.brokers {
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b *broker) int { return strings.Compare(a.name, b.name) })
	return list
}

// announceAll tells all brokers of the client's groups, now.
func (c *Client) announceAll() {
	for _, b := range c.brokerList() {
		b.announce(func(error) {})
	}
}

func (c *Client) addMember(m *member) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return ErrClosed
	case c.groups[m.cfg.Group]:
		return fmt.Errorf("%w: %s", ErrGroupInUse, m.cfg.Group)
	}
	c.members[m.cfg.Group], c.groups[m.cfg.Group] = m, true
	c.consumers.Add(1)
	return nil
}

// release lets the group be joined again.
func (c *Client) release(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.groups, m.cfg.Group)
	c.consumers.Done()
}

// unlist takes m off the list of groups that brokers are told of.
func (c *Client) unlist(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.members, m.cfg.Group)
}

func (c *Client) addProducer(p *Producer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.producers[p] = struct{}{}
	return nil
}

func (c *Client) dropProducer(p *Producer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.producers, p)
}

// member is this client's consumer of a group, or nil.
func (c *Client) member(group string) *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[group]
}

// memberList is the consumers of this client.
func (c *Client) memberList() []*member {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*member
	for _, m := range c.members {
		list = append(list, m)
	}
	return list
}

func (c *Client) producerGroups() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var groups []string
	for p := range c.producers {
		if !slices.Contains(groups, p.cfg.Group) {
			groups = append(groups, p.cfg.Group)
		}
	}
	slices.Sort(groups)
	return groups
}

// needsLinks reports whether brokers have to know this client.
func (c *Client) needsLinks() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.members) > 0 || len(c.producers) > 0
}

// routeChanged is news of a topic's route.
func (c *Client) routeChanged(topic string) {
	for _, m := range c.memberList() {
		if slices.Contains(m.topics(), topic) {
			m.rebalance()
		}
	}
}

// eachMember calls f with every consumer of this client.
func (c *Client) eachMember(f func(*member)) {
	for _, m := range c.memberList() {
		f(m)
	}
}

// requestContext bounds one request to a peer by the client's life and the
// configured time.
func (c *Client) requestContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.ctx, c.cfg.RequestTimeout)
}
