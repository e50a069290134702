// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/orderlymq/orderly/internal/memnet"
	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeCluster is a name server and brokers that behave as stock RocketMQ does
// towards clients: no sessions, advisory locks of 60 s, whatever is committed
// is believed. It lives on an in-memory network, works in synctest bubbles,
// and lets a test look at each request first.
type fakeCluster struct {
	t   *testing.T
	net *memnet.Network

	mu      sync.Mutex
	conf    string       // ordered-topic configuration of every topic
	numbers *fakeNumbers // nil: a stock broker, which knows no producers
	topics  map[string]int32
	brokers map[string]*fakeBroker
	// hook sees each request to a broker; true: the hook has answered it, or
	// nobody will.
	hook func(b *fakeBroker, c *transport.Conn, req *wire.Command) bool
}

type fakeBroker struct {
	cluster *fakeCluster
	name    string
	server  *transport.Server
	stop    func()

	// guarded by cluster.mu
	logs    map[string][]*msg.Message // topic/queue -> messages
	offsets map[string]int64          // group/topic/queue
	locks   map[string]fakeLock       // group/topic/queue
	members map[*transport.Conn]body.HeartbeatData
	parked  []fakePull
}

type fakeLock struct {
	client string
	at     time.Time
}

type fakePull struct {
	conn  *transport.Conn
	req   *wire.Command
	until time.Time
}

func newFakeCluster(t *testing.T, brokers ...string) *fakeCluster {
	f := &fakeCluster{t: t, net: memnet.New(), topics: map[string]int32{}, brokers: map[string]*fakeBroker{}}
	for _, name := range brokers {
		f.brokers[name] = &fakeBroker{
			cluster: f, name: name, logs: map[string][]*msg.Message{}, offsets: map[string]int64{}, locks: map[string]fakeLock{},
		}
		f.brokers[name].start()
	}
	ln, err := f.net.Host("ns").Listen("tcp", "ns:9876")
	must(t, err)
	ns := transport.NewServer(transport.ServerConfig{Handler: transport.HandlerFunc(f.serveNames)})
	go ns.Serve(ln)
	t.Cleanup(func() {
		must(t, ns.Close(context.Background()))
		for _, b := range f.brokers {
			b.stop()
		}
	})
	return f
}

func (b *fakeBroker) start() {
	ln, err := b.cluster.net.Host(b.name).Listen("tcp", b.name+":10911")
	must(b.cluster.t, err)
	b.members = map[*transport.Conn]body.HeartbeatData{}
	b.server = transport.NewServer(transport.ServerConfig{
		Handler: transport.HandlerFunc(b.serve), OnClose: func(c *transport.Conn, _ error) { b.gone(c) },
	})
	server, ended := b.server, make(chan struct{})
	go func() { _ = server.Serve(ln) }()
	go func() { // wakes parked pulls whose time is up
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				b.wake()
			case <-ended:
				return
			}
		}
	}()
	b.stop = sync.OnceFunc(func() {
		close(ended)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = server.Close(ctx)
	})
}

// client opens a client that lives on its own host.
func (f *fakeCluster) client(host string) *Client {
	f.t.Helper()
	c, err := Open(f.t.Context(), f.config(host))
	must(f.t, err)
	f.t.Cleanup(func() { must(f.t, c.Close()) })
	return c
}

func (f *fakeCluster) config(host string) Config {
	return Config{NameServers: []string{"ns:9876"}, Dial: f.net.Host(host).Dial, InstanceName: host, Logger: testLogger(host)}
}

// testLogger writes to the test's output when ORDERLY_TEST_LOG is set.
func testLogger(host string) *slog.Logger {
	if os.Getenv("ORDERLY_TEST_LOG") == "" {
		return nil
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("host", host)
}

func (f *fakeCluster) serveNames(c *transport.Conn, req *wire.Command) {
	var h header.GetRouteInfo
	_ = h.Decode(req.Ext)
	f.mu.Lock()
	defer f.mu.Unlock()
	n, ok := f.topics[h.Topic]
	if !ok {
		_ = c.Reply(req, wire.NewResponse(req, wire.TopicNotExist, "No topic route info"))
		return
	}
	data := body.TopicRouteData{OrderTopicConf: f.conf}
	for name := range f.brokers {
		data.Brokers = append(data.Brokers, body.BrokerData{BrokerName: name, BrokerAddrs: map[int64]string{0: name + ":10911"}})
		data.Queues = append(data.Queues, body.QueueData{BrokerName: name, ReadQueueNums: n, WriteQueueNums: n, Perm: 6})
	}
	resp := wire.NewResponse(req, wire.Success, "")
	resp.Body = data.Encode()
	_ = c.Reply(req, resp)
}

func (b *fakeBroker) serve(c *transport.Conn, req *wire.Command) {
	f := b.cluster
	f.mu.Lock()
	hook := f.hook
	f.mu.Unlock()
	if hook != nil && hook(b, c, req) {
		return
	}
	f.mu.Lock()
	resp := b.answer(c, req)
	f.mu.Unlock()
	if resp != nil {
		_ = c.Reply(req, resp)
	}
	b.wake()
}

func (b *fakeBroker) answer(c *transport.Conn, req *wire.Command) *wire.Command {
	resp := wire.NewResponse(req, wire.Success, "")
	switch req.Code {
	case wire.ReqHeartBeat:
		if !b.cluster.numbers.claim(req, resp) {
			return resp
		}
		var data body.HeartbeatData
		_ = data.Decode(req.Body)
		before := b.members[c]
		if len(data.Consumers) == 0 {
			data.Consumers = before.Consumers // a heartbeat takes no group away
		}
		b.members[c] = data
		if len(before.Consumers) != len(data.Consumers) {
			go b.notify(data)
		}
	case wire.ReqUnregisterClient:
		var h header.UnregisterClient
		_ = h.Decode(req.Ext)
		data := b.members[c]
		go b.notify(data)
		data.Consumers = slices.DeleteFunc(slices.Clone(data.Consumers), func(d body.ConsumerData) bool { return d.GroupName == h.ConsumerGroup })
		b.members[c] = data
	case wire.ReqGetConsumerListByGroup:
		var h header.GetConsumerList
		_ = h.Decode(req.Ext)
		list := body.ConsumerList{ClientIDs: b.group(h.ConsumerGroup)}
		resp.Body = list.Encode()
	case wire.ReqSendMessageV2, wire.ReqSendBatchMessage:
		return b.send(req, resp)
	case wire.ReqPullMessage:
		return b.pull(c, req, time.Now().Add(15*time.Second))
	case wire.ReqLockBatchMQ, wire.ReqUnlockBatchMQ:
		b.lock(req, resp)
	case wire.ReqQueryConsumerOffset, wire.ReqGetMaxOffset, wire.ReqGetMinOffset, wire.ReqSearchOffsetByTimestamp, wire.ReqUpdateConsumerOffset:
		b.offset(req, resp)
	default:
		return wire.NewResponse(req, wire.RequestCodeNotSupported, "not by this fake")
	}
	return resp
}

func (b *fakeBroker) group(name string) []string {
	var ids []string
	for _, data := range b.members {
		for _, g := range data.Consumers {
			if g.GroupName == name && !slices.Contains(ids, data.ClientID) {
				ids = append(ids, data.ClientID)
			}
		}
	}
	return ids
}

// notify tells all members of the groups of data.
func (b *fakeBroker) notify(data body.HeartbeatData) {
	b.cluster.mu.Lock()
	conns := make([]*transport.Conn, 0, len(b.members))
	for c := range b.members {
		conns = append(conns, c)
	}
	b.cluster.mu.Unlock()
	for _, g := range data.Consumers {
		for _, c := range conns {
			_ = c.Send(wire.NewRequest(wire.ReqNotifyConsumerIDsChanged, &header.NotifyConsumerIDsChanged{ConsumerGroup: g.GroupName}, nil))
		}
	}
}

func (b *fakeBroker) gone(c *transport.Conn) {
	b.cluster.mu.Lock()
	data := b.members[c]
	delete(b.members, c)
	b.parked = slices.DeleteFunc(b.parked, func(p fakePull) bool { return p.conn == c })
	b.cluster.mu.Unlock()
	b.notify(data)
}

func key(parts ...any) string { return fmt.Sprint(parts...) }

func (b *fakeBroker) send(req, resp *wire.Command) *wire.Command {
	h, err := header.DecodeSend(req.Code, req.Ext)
	if err != nil {
		return wire.NewResponse(req, wire.SystemError, err.Error())
	}
	ms := []msg.BatchMessage{{Body: req.Body, Properties: h.Properties}}
	if h.Batch {
		ms, _ = msg.DecodeBatch(req.Body, 0)
	}
	k := key(h.Topic, "/", h.QueueID)
	first := int64(len(b.logs[k]))
	if at, done := b.cluster.numbers.admit(req, resp, &h, len(ms), first); done {
		(&header.SendMessageResponse{MsgID: "00", QueueID: h.QueueID, QueueOffset: at}).Encode(&resp.Ext)
		return resp
	}
	for _, m := range ms {
		b.logs[k] = append(b.logs[k], &msg.Message{
			Topic: h.Topic, QueueID: h.QueueID, QueueOffset: int64(len(b.logs[k])), SysFlag: h.SysFlag, Properties: m.Properties,
			Body: slices.Clone(m.Body), BornTimestamp: h.BornTimestamp, StoreTimestamp: time.Now().UnixMilli(),
		})
	}
	r := header.SendMessageResponse{MsgID: "00", QueueID: h.QueueID, QueueOffset: first}
	r.Encode(&resp.Ext)
	return resp
}

func (b *fakeBroker) pull(c *transport.Conn, req *wire.Command, until time.Time) *wire.Command {
	var h header.PullMessage
	_ = h.Decode(req.Ext)
	log := b.logs[key(h.Topic, "/", h.QueueID)]
	filter, _ := msg.ParseTags(h.Subscription)
	r := header.PullMessageResponse{NextBeginOffset: h.QueueOffset, MaxOffset: int64(len(log))}
	resp := wire.NewResponse(req, wire.PullNotFound, "")
	switch n := int64(len(log)); {
	case h.QueueOffset > n:
		resp.Code, r.NextBeginOffset = wire.PullOffsetMoved, n
	case h.QueueOffset == n && time.Now().Before(until):
		b.parked = append(b.parked, fakePull{c, req, until})
		return nil
	case h.QueueOffset < n:
		resp.Code = wire.PullRetryImmediately
		for _, m := range log[h.QueueOffset:min(n, h.QueueOffset+int64(h.MaxMsgNums))] {
			r.NextBeginOffset = m.QueueOffset + 1
			if filter.MatchHash(msg.TagHash(m.Tag())) {
				resp.Body, _ = msg.AppendRecord(resp.Body, m)
				resp.Code = wire.Success
			}
		}
	}
	r.Encode(&resp.Ext)
	return resp
}

// wake answers parked pulls that have something now, or waited long enough.
func (b *fakeBroker) wake() {
	b.cluster.mu.Lock()
	parked := b.parked
	b.parked = nil
	type reply struct {
		fakePull
		resp *wire.Command
	}
	var replies []reply
	for _, p := range parked {
		if resp := b.pull(p.conn, p.req, p.until); resp != nil {
			replies = append(replies, reply{p, resp})
		}
	}
	b.cluster.mu.Unlock()
	for _, r := range replies {
		_ = r.conn.Reply(r.req, r.resp)
	}
}

func (b *fakeBroker) lock(req, resp *wire.Command) {
	var data body.LockBatch
	_ = data.Decode(req.Body)
	var got body.LockBatchResponse
	for _, q := range data.Queues {
		k := key(data.ConsumerGroup, "/", q.Topic, "/", q.QueueID)
		l, held := b.locks[k]
		mine := !held || l.client == data.ClientID || time.Since(l.at) > time.Minute
		switch {
		case !mine:
		case req.Code == wire.ReqUnlockBatchMQ:
			delete(b.locks, k)
		default:
			b.locks[k] = fakeLock{data.ClientID, time.Now()}
			got.Locked = append(got.Locked, q)
		}
	}
	if req.Code == wire.ReqLockBatchMQ {
		resp.Body = got.Encode()
	}
}

func (b *fakeBroker) offset(req, resp *wire.Command) {
	var h header.UpdateConsumerOffset
	topic := req.Ext.Value("topic")
	var queue, at int64
	_ = json.Unmarshal([]byte(req.Ext.Value("queueId")), &queue)
	log := b.logs[key(topic, "/", queue)]
	switch req.Code {
	case wire.ReqUpdateConsumerOffset:
		_ = h.Decode(req.Ext)
		b.offsets[key(h.ConsumerGroup, "/", topic, "/", queue)] = h.CommitOffset
		return
	case wire.ReqQueryConsumerOffset:
		n, ok := b.offsets[key(req.Ext.Value("consumerGroup"), "/", topic, "/", queue)]
		if !ok {
			resp.Code = wire.QueryNotFound
			return
		}
		at = n
	case wire.ReqGetMaxOffset:
		at = int64(len(log))
	case wire.ReqSearchOffsetByTimestamp:
		var s header.SearchOffset
		_ = s.Decode(req.Ext)
		for int(at) < len(log) && log[at].StoreTimestamp < s.Timestamp {
			at++
		}
	}
	(&header.OffsetResponse{Offset: at}).Encode(&resp.Ext)
}

// stored returns the bodies in a queue of a broker.
func (b *fakeBroker) stored(topic string, queue int) []string {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	var bodies []string
	for _, m := range b.logs[key(topic, "/", queue)] {
		bodies = append(bodies, string(m.Body))
	}
	return bodies
}

func (b *fakeBroker) committed(group, topic string, queue int) int64 {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	return b.offsets[key(group, "/", topic, "/", queue)]
}

func (f *fakeCluster) setHook(h func(b *fakeBroker, c *transport.Conn, req *wire.Command) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = h
}
