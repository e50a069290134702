// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/admin"
	brokerd "github.com/orderlymq/orderly/internal/broker"
	"github.com/orderlymq/orderly/internal/memnet"
	"github.com/orderlymq/orderly/internal/namesrv"
)

// brokerHost is where the broker of a realCluster lives: a number, which needs
// no name service.
const brokerHost = "10.1.0.1"

// realCluster is our name server and broker on an in-memory network.
type realCluster struct {
	t   *testing.T
	net *memnet.Network
	dir string
	b   *brokerd.Broker

	dead sync.Map // hosts that were killed
}

// inRealBubble runs f in a synctest bubble with a cluster that has an ordered
// topic "t".
func inRealBubble(t *testing.T, queues int, f func(t *testing.T, r *realCluster)) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealCluster(t)
		r.topic("t", queues)
		f(t, r)
	})
}

func newRealCluster(t *testing.T) *realCluster {
	r := &realCluster{t: t, net: memnet.New(), dir: t.TempDir()}
	ns := namesrv.New(namesrv.Config{ListenAddr: "ns:9876", Listen: r.net.Host("ns").Listen, Logger: testLogger("ns")})
	must(t, ns.Start(context.Background()))
	r.startBroker()
	t.Cleanup(func() {
		r.stopBroker()
		must(t, ns.Close(context.Background()))
	})
	return r
}

func (r *realCluster) startBroker() { r.startBrokerWith(func(*brokerd.Config) {}) }

func (r *realCluster) startBrokerWith(change func(*brokerd.Config)) {
	r.t.Helper()
	cfg := brokerd.Config{
		ListenAddr: brokerHost + ":10911", AdvertiseAddr: brokerHost + ":10911", NameServers: []string{"ns:9876"},
		Dir: r.dir, SegmentSize: 1 << 20,
		Listen: r.net.Host(brokerHost).Listen, Dial: r.net.Host(brokerHost).Dial, Logger: testLogger("broker-a"),
	}
	change(&cfg)
	b, err := brokerd.New(cfg)
	must(r.t, err)
	must(r.t, b.Start(context.Background()))
	r.b = b
}

func (r *realCluster) stopBroker() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	must(r.t, r.b.Close(ctx))
}

// topic creates an ordered topic.
func (r *realCluster) topic(name string, queues int) {
	r.t.Helper()
	r.create(admin.Topic{Name: name, Queues: queues, Ordered: true})
}

func (r *realCluster) create(topic admin.Topic) {
	r.t.Helper()
	a, err := admin.Open(r.t.Context(), admin.Config{NameServers: []string{"ns:9876"}, Dial: r.net.Host("admin").Dial})
	must(r.t, err)
	must(r.t, a.CreateTopic(r.t.Context(), topic))
	must(r.t, a.Close())
}

func (r *realCluster) client(host string) *Client {
	r.t.Helper()
	c, err := Open(r.t.Context(), r.config(host))
	must(r.t, err)
	r.t.Cleanup(func() { must(r.t, c.Close()) })
	return c
}

func (r *realCluster) config(host string) Config {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := r.net.Host(host).Dial(ctx, network, addr)
		if _, dead := r.dead.Load(host); dead && err == nil {
			_ = conn.Close() // it was on its way when the host died
			err = errors.New("the host is dead")
		}
		return conn, err
	}
	return Config{NameServers: []string{"ns:9876"}, Dial: dial, InstanceName: host, Logger: testLogger(host)}
}

// kill ends the links of a host as the death of its process does, and lets it
// make no others.
func (r *realCluster) kill(host string) {
	r.dead.Store(host, true)
	r.net.Kill(host)
}
