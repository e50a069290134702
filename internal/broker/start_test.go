// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/memnet"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func TestConfigurationIsChecked(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "no data directory"},
		{Config{Dir: "x", Name: "bad name!"}, "bad name!"},
		{Config{Dir: "x", NameServers: []string{"ns1:9876;ns2"}}, "ns2"},
	} {
		if _, err := New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.cfg, err)
		}
	}
}

func TestStartFailsWithTheCause(t *testing.T) {
	r := newRig(t, nil)
	start := func(cfg Config) error {
		t.Helper()
		b, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		err = b.Start(context.Background())
		if err == nil {
			_ = b.Close(context.Background())
		}
		return err
	}
	taken := r.cfg
	taken.Dir = "other"
	if err := start(taken); err == nil || !strings.Contains(err.Error(), testAddr) {
		t.Errorf("a port that is taken: %v", err)
	}
	twice := r.cfg
	twice.Listen = memnet.New().Host("broker-a").Listen
	if err := start(twice); err == nil || !strings.Contains(err.Error(), "data") || !strings.Contains(err.Error(), "another server") {
		t.Errorf("a data directory that is taken: %v", err)
	}
	r.send1("after the failed starts")
}

// TestRequestsDuringRecovery: what comes in while the broker recovers waits a
// moment, then it is answered that it should come again; the connection stays.
func TestRequestsDuringRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.send1("before")
		r.stop()
		recovered := make(chan struct{})
		was := r.cfg.Store
		r.cfg.Store = func(o *store.Options) {
			was(o)
			<-recovered
		}
		started := make(chan struct{})
		go func() {
			defer close(started)
			r.start()
		}()
		synctest.Wait()
		early, late := r.connect("early"), r.connect("late")
		asked := time.Now()
		early.want(wire.ServiceNotAvailable, wire.ReqSendMessageV2, sendHeader("Check", 0), []byte("too early"))
		if took := time.Since(asked); took != patience {
			t.Errorf("refused after %v", took)
		}
		answer := late.later(wire.ReqSendMessageV2, sendHeader("Check", 0), []byte("in time"))
		time.Sleep(patience / 2)
		close(recovered)
		<-started
		if resp := <-answer; resp == nil || resp.Code != wire.Success {
			t.Errorf("the send that waited: %+v", resp)
		}
		if h := early.send("Check", 0, "again"); h.QueueOffset != 2 {
			t.Errorf("stored at %d", h.QueueOffset)
		}
	})
}

// TestStartFailsWhileRequestsWait: a start that fails leaves nothing behind.
func TestStartFailsWhileRequestsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.stop()
		failed := r.cfg
		goOn := make(chan struct{})
		failed.Store = func(o *store.Options) {
			<-goOn
			o.Dir = ""
		}
		b, err := New(failed)
		if err != nil {
			t.Fatal(err)
		}
		outcome := make(chan error, 1)
		go func() { outcome <- b.Start(context.Background()) }()
		synctest.Wait()
		answer := r.connect("early").later(wire.ReqSendMessageV2, sendHeader("Check", 0), []byte("too early"))
		synctest.Wait()
		close(goOn)
		if err := <-outcome; err == nil {
			t.Error("started without a directory")
		}
		<-answer // an error or a refusal
		r.start()
		r.send1("after the failed start")
	})
}

// TestMessagesWithoutState: a state that was lost is not passed over in silence.
func TestMessagesWithoutState(t *testing.T) {
	var log bytes.Buffer
	r := newRig(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	const complaint = "was the state lost?"
	r.send1("kept")
	r.stop()
	if strings.Contains(log.String(), complaint) {
		t.Errorf("complaint about a new directory:\n%s", &log)
	}
	names, err := r.fs.List("data/meta")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, n := range names {
		if err := r.fs.Remove("data/meta/" + n); err != nil {
			t.Fatal(err)
		}
	}
	r.start()
	r.stop()
	if !strings.Contains(log.String(), complaint) {
		t.Errorf("no word of it:\n%s", &log)
	}
	r.start()
}

func (r *rig) send1(text string) {
	r.t.Helper()
	r.connect("check").send("Check", 0, text)
}

func TestOverTCP(t *testing.T) {
	b, err := New(Config{ListenAddr: "127.0.0.1:0", VIPAddr: "127.0.0.1:0", Dir: t.TempDir(), SegmentSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(b.Addr())
	if err != nil || host != "127.0.0.1" || port == "0" {
		t.Errorf("address %q", b.Addr())
	}
	d := &transport.Dialer{}
	c, err := d.Connect(t.Context(), b.Addr())
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, conn: c, version: wire.Version}
	sent := p.send("T", 0, "over TCP")
	if !strings.HasPrefix(sent.MsgID, "7F000001") {
		t.Errorf("message id %s", sent.MsgID)
	}
	if code, _, msgs := p.pull(pullHeader("G", "T", 0, 0)); code != wire.Success || len(msgs) != 1 || msgs[0].BornHost.Addr().String() != "127.0.0.1" {
		t.Errorf("%d %+v", code, msgs)
	}
	h := pullHeader("G", "T", 0, 1)
	h.SysFlag |= header.PullSuspend
	held := p.later(wire.ReqPullMessage, h, nil)
	for b.holds.size() == 0 {
		time.Sleep(time.Millisecond)
	}
	start := time.Now()
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("close took %v", took)
	}
	if resp := <-held; resp == nil || resp.Code != wire.PullNotFound {
		t.Errorf("held pull: %+v", resp)
	}
	c.Close(nil)
	c.Wait()
}

func TestVIPAddressServesAllButPulls(t *testing.T) {
	r := newRig(t, func(c *Config) { c.VIPAddr = "broker-a:10909" })
	d := &transport.Dialer{Dial: r.net.Host("client").Dial}
	c, err := d.Connect(context.Background(), "broker-a:10909")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, conn: c, version: wire.Version}
	t.Cleanup(p.close)
	p.send("T", 0, "x")
	p.want(wire.RequestCodeNotSupported, wire.ReqPullMessage, pullHeader("G", "T", 0, 0), nil)
}

func TestEverythingIsThereAfterARestart(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("client")
	p.createTopic("T", 3, "+message.type=FIFO")
	p.send("T", 2, "kept")
	p.beat("c1", "G", "T", "*")
	p.commit("G", "T", 2, 1, 0)
	p.close()
	r.restart()
	p = r.connect("client")
	if cfg := p.topicConfig("T"); cfg.WriteQueueNums != 3 || !cfg.Order {
		t.Errorf("%+v", cfg)
	}
	if got := p.position("G", "T", 2); got != 1 {
		t.Errorf("position %d", got)
	}
	if _, _, msgs := p.pull(pullHeader("Other", "T", 2, 0)); len(msgs) != 1 || string(msgs[0].Body) != "kept" {
		t.Errorf("%+v", msgs)
	}
	if h := p.send("T", 2, "next"); h.QueueOffset != 1 {
		t.Errorf("next offset %d", h.QueueOffset)
	}
}

func TestAdvertisedAddress(t *testing.T) {
	listening := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4711}
	for _, c := range []struct{ advertise, addr, host string }{
		{"", "127.0.0.1:4711", "127.0.0.1:4711"},
		{"10.1.2.3:99", "10.1.2.3:99", "10.1.2.3:99"},
		{"10.1.2.3:0", "10.1.2.3:4711", "10.1.2.3:4711"},
	} {
		addr, host, err := advertised(Config{AdvertiseAddr: c.advertise}, listening)
		if err != nil || addr != c.addr || host.String() != c.host {
			t.Errorf("%q: %s, %s, %v", c.advertise, addr, host, err)
		}
	}
	if _, _, err := advertised(Config{AdvertiseAddr: "no port"}, listening); err == nil {
		t.Error("an address without a port passed")
	}
	addr, _, err := advertised(Config{}, &net.TCPAddr{IP: net.IPv4zero, Port: 4711})
	if err != nil || strings.HasPrefix(addr, "0.0.0.0") {
		t.Errorf("listening everywhere: %s, %v", addr, err)
	}
}
