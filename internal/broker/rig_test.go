// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/orderlymq/orderly/internal/memnet"
	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/vfs"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testAddr = "broker-a:10911"

// rig is a broker on a memory network, its disk in memory too.
type rig struct {
	t   *testing.T
	net *memnet.Network
	fs  *vfs.Faulty
	cfg Config
	b   *Broker
}

func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	return newRigOn(t, memnet.New(), change)
}

// newRigOn is newRig on a network that is there already.
func newRigOn(t *testing.T, n *memnet.Network, change func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, net: n, fs: vfs.NewFaulty(vfs.NewMem())}
	host := r.net.Host("broker-a")
	r.cfg = Config{
		ListenAddr: testAddr, Dir: "data", FS: r.fs, Listen: host.Listen, Dial: host.Dial,
		SegmentSize: 1 << 20, SyncMode: store.Async,
		Store:  func(o *store.Options) { o.FillAhead = 64 << 10; o.TailCache = 1 << 20 },
		Limits: Limits{MaxMessageSize: 256 << 10},
	}
	if testing.Verbose() {
		r.cfg.Logger = slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if change != nil {
		change(&r.cfg)
	}
	r.start()
	t.Cleanup(r.stop)
	return r
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(string(p))
	return len(p), nil
}

var _ io.Writer = testWriter{}

func (r *rig) start() {
	r.t.Helper()
	b, err := New(r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := b.Start(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	r.b = b
}

func (r *rig) stop() {
	r.t.Helper()
	ctx, cancel := closeContext()
	defer cancel()
	if err := r.b.Close(ctx); err != nil {
		r.t.Errorf("close: %v", err)
	}
}

func closeContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 5*time.Minute)
}

// restart closes the broker and starts it again on the same data.
func (r *rig) restart() {
	r.t.Helper()
	r.stop()
	r.start()
}

// peer is a client's connection.
type peer struct {
	t        *testing.T
	conn     *transport.Conn
	language wire.Language
	version  int32
	session  uint64
	pings    uint64
	acked    uint64

	mu    sync.Mutex
	asked []*wire.Command // what the broker asked of the client
}

// connect opens a connection from a host of that name.
func (r *rig) connect(host string) *peer {
	r.t.Helper()
	p := &peer{t: r.t, language: wire.LanguageJava, version: wire.Version}
	d := &transport.Dialer{Dial: r.net.Host(host).Dial, Handler: transport.HandlerFunc(p.serve)}
	conn, err := d.Connect(context.Background(), testAddr)
	if err != nil {
		r.t.Fatal(err)
	}
	p.conn = conn
	r.t.Cleanup(p.close)
	return p
}

func (p *peer) close() {
	p.conn.Close(nil)
	p.conn.Wait()
}

func (p *peer) serve(c *transport.Conn, req *wire.Command) {
	p.mu.Lock()
	p.asked = append(p.asked, req)
	p.mu.Unlock()
	if !req.IsOneway() {
		resp := wire.NewResponse(req, wire.Success, "")
		resp.Body = []byte(`{"answer":"of client"}`)
		_ = c.Reply(req, resp)
	}
}

// notices counts the notices of changed members for a group.
func (p *peer) notices(group string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, req := range p.asked {
		if req.Code == wire.ReqNotifyConsumerIDsChanged && req.Ext.Value("consumerGroup") == group {
			n++
		}
	}
	return n
}

// do sends a request and returns the answer, whatever it is.
func (p *peer) do(code int32, h wire.Encoder, data []byte, ext ...string) *wire.Command {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	resp, err := p.conn.Call(ctx, p.request(code, h, data, ext...))
	if err != nil {
		p.t.Fatalf("%s: %v", wire.RequestName(code), err)
	}
	return resp
}

func (p *peer) request(code int32, h wire.Encoder, data []byte, ext ...string) *wire.Command {
	req := wire.NewRequest(code, h, data)
	req.Language, req.Version = p.language, p.version
	for i := 0; i < len(ext); i += 2 {
		req.Ext.Add(ext[i], ext[i+1])
	}
	return req
}

// want is do for an answer that has to have a code.
func (p *peer) want(want int32, code int32, h wire.Encoder, data []byte, ext ...string) *wire.Command {
	p.t.Helper()
	resp := p.do(code, h, data, ext...)
	if resp.Code != want {
		p.t.Fatalf("%s: answered %s %q, want %s", wire.RequestName(code), wire.ResponseName(resp.Code), resp.Remark, wire.ResponseName(want))
	}
	return resp
}

// later sends a request and gives its answer on the channel.
func (p *peer) later(code int32, h wire.Encoder, data []byte, ext ...string) <-chan *wire.Command {
	answer := make(chan *wire.Command, 1)
	p.conn.CallAsync(p.request(code, h, data, ext...), time.Time{}, func(resp *wire.Command, err error) { answer <- resp })
	return answer
}

func sendHeader(topic string, queue int32, props ...string) *header.SendMessageV2 {
	var raw []byte
	for i := 0; i < len(props); i += 2 {
		raw = msg.AppendProperty(raw, props[i], props[i+1])
	}
	return &header.SendMessageV2{SendMessage: header.SendMessage{
		ProducerGroup: "PG", Topic: topic, DefaultTopic: msg.TopicAutoCreate, DefaultTopicQueueNums: 4, QueueID: queue,
		BornTimestamp: 1_700_000_000_000, Properties: string(raw),
	}}
}

// send sends one message and returns what the answer says.
func (p *peer) send(topic string, queue int32, text string, props ...string) header.SendMessageResponse {
	p.t.Helper()
	resp := p.want(wire.Success, wire.ReqSendMessageV2, sendHeader(topic, queue, props...), []byte(text))
	var h header.SendMessageResponse
	if err := h.Decode(resp.Ext); err != nil {
		p.t.Fatal(err)
	}
	return h
}

func pullHeader(group, topic string, queue int32, offset int64) *header.PullMessage {
	return &header.PullMessage{
		ConsumerGroup: group, Topic: topic, QueueID: queue, QueueOffset: offset, MaxMsgNums: 32,
		SysFlag: header.PullSubscription, Subscription: "*", SuspendTimeoutMillis: 15_000,
	}
}

// pull pulls and returns code, header and messages.
func (p *peer) pull(h *header.PullMessage, ext ...string) (int32, header.PullMessageResponse, []msg.Message) {
	p.t.Helper()
	return pulled(p.t, p.do(wire.ReqPullMessage, h, nil, ext...))
}

func pulled(t *testing.T, resp *wire.Command) (int32, header.PullMessageResponse, []msg.Message) {
	t.Helper()
	var h header.PullMessageResponse
	switch resp.Code {
	case wire.Success, wire.PullNotFound, wire.PullRetryImmediately, wire.PullOffsetMoved:
		if err := h.Decode(resp.Ext); err != nil {
			t.Fatalf("answer %d: %v", resp.Code, err)
		}
	}
	msgs, err := msg.DecodeRecords(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Code, h, msgs
}

// texts are the bodies of messages.
func texts(msgs []msg.Message) []string {
	var out []string
	for i := range msgs {
		out = append(out, string(msgs[i].Body))
	}
	return out
}

// beat sends a heartbeat of a consumer of one topic.
func (p *peer) beat(client, group, topic, expr string, ext ...string) *wire.Command {
	p.t.Helper()
	sub, err := msg.NewSubscription(topic, expr, 1)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.beatWith(client, body.ConsumerData{
		GroupName: group, ConsumeType: body.ConsumePassively, MessageModel: body.Clustering, ConsumeFromWhere: body.ConsumeFromLast,
		Subscriptions: []body.SubscriptionData{{Topic: topic, SubString: sub.Expr, TagsSet: sub.Tags, CodeSet: sub.Codes, SubVersion: 1, ExpressionType: "TAG"}},
	}, ext...)
}

func (p *peer) beatWith(client string, cd body.ConsumerData, ext ...string) *wire.Command {
	p.t.Helper()
	data := (&body.HeartbeatData{ClientID: client, Consumers: []body.ConsumerData{cd}}).Encode()
	if p.session != 0 {
		ext = append(ext, header.ExtSession, strconv.FormatUint(p.session, 16))
	}
	return p.want(wire.Success, wire.ReqHeartBeat, nil, data, ext...)
}

// openSession makes the peer a client of ours.
func (p *peer) openSession(client, group, topic string) {
	p.t.Helper()
	p.language = wire.LanguageGo
	resp := p.beat(client, group, topic, "*", header.ExtSession, header.SessionNew)
	var s header.Session
	if err := s.Decode(resp.Ext); err != nil || s.Token == 0 {
		p.t.Fatalf("session %+v, %v", s, err)
	}
	p.session = s.Token
}

// ping sends one ping and reads its answer.
func (p *peer) ping() {
	p.t.Helper()
	p.pings++
	var f wire.Fields
	header.Ping{N: p.pings, Ack: p.acked}.Encode(&f)
	req := p.request(wire.ReqHeartBeat, nil, nil, header.ExtSession, p.token())
	req.Ext = append(req.Ext, f...)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	resp, err := p.conn.Call(ctx, req)
	if err != nil {
		p.t.Fatalf("ping: %v", err)
	}
	if resp.Ext.Value(header.ExtPing) != strconv.FormatUint(p.pings, 10) {
		p.t.Fatalf("ping %d answered %v", p.pings, resp.Ext)
	}
	p.acked = p.pings
}

func (p *peer) token() string { return strconv.FormatUint(p.session, 16) }

// lock asks for queues of a topic and returns those granted and what ours are
// told of it.
func (p *peer) lock(client, group, topic string, queues ...int32) ([]int32, header.LockGrants) {
	p.t.Helper()
	var ext []string
	if p.session != 0 {
		ext = []string{header.ExtSession, p.token()}
	}
	resp := p.want(wire.Success, wire.ReqLockBatchMQ, nil, lockBody(client, group, topic, queues...), ext...)
	var granted body.LockBatchResponse
	if err := granted.Decode(resp.Body); err != nil {
		p.t.Fatal(err)
	}
	var ids []int32
	for _, q := range granted.Locked {
		ids = append(ids, q.QueueID)
	}
	var grants header.LockGrants
	if err := grants.Decode(resp.Ext); err != nil {
		p.t.Fatal(err)
	}
	return ids, grants
}

func (p *peer) unlock(client, group, topic string, queues ...int32) {
	p.t.Helper()
	var ext []string
	if p.session != 0 {
		ext = []string{header.ExtSession, p.token()}
	}
	p.want(wire.Success, wire.ReqUnlockBatchMQ, nil, lockBody(client, group, topic, queues...), ext...)
}

func lockBody(client, group, topic string, queues ...int32) []byte {
	req := body.LockBatch{ConsumerGroup: group, ClientID: client}
	for _, id := range queues {
		req.Queues = append(req.Queues, body.MessageQueue{Topic: topic, BrokerName: "broker-a", QueueID: id})
	}
	return req.Encode()
}

// commit commits an offset and returns the answer.
func (p *peer) commit(group, topic string, queue int32, offset int64, epoch uint64) *wire.Command {
	p.t.Helper()
	var ext []string
	if p.session != 0 {
		ext = []string{header.ExtSession, p.token(), header.ExtEpoch, strconv.FormatUint(epoch, 10)}
	}
	return p.do(wire.ReqUpdateConsumerOffset, &header.UpdateConsumerOffset{ConsumerGroup: group, Topic: topic, QueueID: queue, CommitOffset: offset}, nil, ext...)
}

// position returns the group's committed offset, -1 if there is none.
func (p *peer) position(group, topic string, queue int32) int64 {
	p.t.Helper()
	resp := p.do(wire.ReqQueryConsumerOffset, &header.QueryConsumerOffset{ConsumerGroup: group, Topic: topic, QueueID: queue, SetZeroIfNotFound: header.Some(false)}, nil)
	if resp.Code == wire.QueryNotFound {
		return -1
	}
	var h header.OffsetResponse
	if err := h.Decode(resp.Ext); err != nil || resp.Code != wire.Success {
		p.t.Fatalf("query offset: %d %q %v", resp.Code, resp.Remark, err)
	}
	return h.Offset
}

// createTopic makes a topic as a tool would.
func (p *peer) createTopic(name string, queues int32, attrs string) {
	p.t.Helper()
	p.want(wire.Success, wire.ReqUpdateAndCreateTopic, &header.CreateTopic{
		Topic: name, DefaultTopic: msg.TopicAutoCreate, ReadQueueNums: queues, WriteQueueNums: queues, Perm: 6,
		TopicFilterType: "SINGLE_TAG", Attributes: attrs,
	}, nil)
}

func epochText(g header.LockGrants, i int) string {
	return strconv.FormatUint(g.Grants[i].Epoch, 10)
}
