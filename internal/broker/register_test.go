// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/memnet"
	"github.com/orderlymq/orderly/internal/namesrv"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// startNamesrv runs a name server on the memory network until the test ends.
func startNamesrv(t *testing.T, n *memnet.Network, host string) *namesrv.Server {
	t.Helper()
	s := namesrv.New(namesrv.Config{ListenAddr: host + ":9876", Listen: n.Host(host).Listen})
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// routeOf asks a name server for a topic; nil if it knows none.
func routeOf(t *testing.T, n *memnet.Network, host, topic string) *body.TopicRouteData {
	t.Helper()
	d := &transport.Dialer{Dial: n.Host("client").Dial}
	c, err := d.Connect(context.Background(), host+":9876")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		c.Close(nil)
		c.Wait()
	}()
	resp, err := c.Call(context.Background(), wire.NewRequest(wire.ReqGetRouteInfoByTopic, &header.GetRouteInfo{Topic: topic}, nil))
	if err != nil {
		t.Fatal(err)
	}
	if resp.Code != wire.Success {
		return nil
	}
	var data body.TopicRouteData
	if err := data.Decode(resp.Body); err != nil {
		t.Fatal(err)
	}
	return &data
}

func TestBrokerRegistersWithEveryNameServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New()
		startNamesrv(t, n, "ns1")
		r := newRigOn(t, n, func(c *Config) { c.NameServers = []string{"ns1:9876;ns2:9876"} })
		if d := routeOf(t, n, "ns1", "TBW102"); d == nil || d.Brokers[0].BrokerAddrs[0] != testAddr {
			t.Fatalf("template's route right after the start: %+v", d)
		}
		p := r.connect("client")
		p.createTopic("T", 3, "")
		time.Sleep(100 * time.Millisecond)
		d := routeOf(t, n, "ns1", "T")
		if d == nil || d.Queues[0].WriteQueueNums != 3 || d.OrderTopicConf != "" {
			t.Fatalf("route of a new topic: %+v", d)
		}
		p.createTopic("Fifo", 8, "+message.type=FIFO")
		startNamesrv(t, n, "ns2") // it was dead until now
		time.Sleep(11 * time.Second)
		for _, ns := range []string{"ns1", "ns2"} {
			if d := routeOf(t, n, ns, "Fifo"); d == nil || d.OrderTopicConf != "broker-a:8" {
				t.Errorf("%s: route of an ordered topic: %+v", ns, d)
			}
		}
		p.send("Auto", 0, "x")
		time.Sleep(100 * time.Millisecond)
		if d := routeOf(t, n, "ns2", "Auto"); d == nil {
			t.Error("an auto-created topic is not registered at once")
		}
		p.want(wire.Success, wire.ReqDeleteTopicInBroker, &header.DeleteTopic{Topic: "T"}, nil)
		r.stop()
		if d := routeOf(t, n, "ns1", "Auto"); d != nil {
			t.Errorf("the broker has gone, and its route is %+v", d)
		}
	})
}

func TestTemplateIsNotRegisteredWithoutAutoCreation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New()
		startNamesrv(t, n, "ns1")
		newRigOn(t, n, func(c *Config) {
			c.NameServers = []string{"ns1:9876"}
			c.DisableAutoCreateTopic = true
		})
		if d := routeOf(t, n, "ns1", "TBW102"); d != nil {
			t.Errorf("%+v", d)
		}
	})
}
