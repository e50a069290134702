// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/rebalance"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// named adds the session to a request.
func (b *broker) named(cmd *wire.Command) *wire.Command {
	header.Session{Token: b.token.Load()}.Encode(&cmd.Ext)
	return cmd
}

// fenced adds the session and the lease epoch to a request.
func (b *broker) fenced(cmd *wire.Command, epoch order.Epoch) *wire.Command {
	header.Fence{Session: header.Session{Token: b.token.Load()}, Epoch: uint64(epoch)}.Encode(&cmd.Ext)
	return cmd
}

// heartbeatAnswer is what the answer to a heartbeat says of the session.
type heartbeatAnswer struct {
	session bool // the broker has sessions, and this is ours
	members bool // the heartbeat named consumer groups
	token   uint64
	taken   []header.Named      // groups whose member name another client has, and that client
	names   []header.Named      // that the heartbeat named
	times   order.SessionConfig // the smallest of the groups

	policies map[string]header.GroupPolicy
}

// heartbeat tells the broker on conn which groups this client has. A client
// with consumers asks for a session, or names the one it has. It queues the
// request before it returns.
func (b *broker) heartbeat(conn *transport.Conn, done func(heartbeatAnswer, error)) {
	data := b.c.heartbeatData()
	cmd := wire.NewRequest(wire.ReqHeartBeat, nil, data.Encode())
	members := len(data.Consumers) > 0
	if members {
		token := b.token.Load()
		header.Session{New: token == 0, Token: token}.Encode(&cmd.Ext)
	}
	names := b.c.memberNames()
	header.EncodeNames(&cmd.Ext, header.ExtMember, names)
	conn.CallAsync(cmd, time.Now().Add(b.c.cfg.RequestTimeout), func(resp *wire.Command, err error) {
		resp, err = answerOf(conn, cmd, resp, err)
		answer := heartbeatAnswer{members: members, names: names}
		if err == nil {
			err = answer.decode(resp.Ext)
		}
		done(answer, err)
	})
}

func (a *heartbeatAnswer) decode(f wire.Fields) error {
	var s header.Session
	if err := s.Decode(f); err != nil {
		return err
	}
	groups, err := header.DecodeGroups(f)
	if err != nil {
		return err
	}
	if a.taken, err = header.DecodeNames(f, header.ExtTaken); err != nil {
		return err
	}
	if a.policies, err = header.DecodePolicies(f); err != nil {
		return err
	}
	a.session, a.token = s.Token != 0, s.Token
	for _, g := range groups {
		a.times.Grace = smaller(a.times.Grace, g.Grace)
		a.times.Lease = smaller(a.times.Lease, g.Lease)
	}
	return nil
}

// smaller is the smaller of two durations; 0 is none.
func smaller(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// memberNames are the names that the client's members have in their groups.
func (c *Client) memberNames() []header.Named {
	var names []header.Named
	for _, m := range c.memberList() {
		if m.cfg.MemberName != "" {
			names = append(names, header.Named{Group: m.cfg.Group, Name: m.cfg.MemberName})
		}
	}
	return names
}

func (c *Client) heartbeatData() *body.HeartbeatData {
	data := &body.HeartbeatData{ClientID: c.id, Producers: c.producerGroups()}
	for _, m := range c.memberList() {
		data.Consumers = append(data.Consumers, m.heartbeatData())
	}
	return data
}

func (m *member) heartbeatData() body.ConsumerData {
	d := body.ConsumerData{
		GroupName: m.cfg.Group, ConsumeType: body.ConsumePassively,
		MessageModel: body.Clustering, ConsumeFromWhere: body.ConsumeFromFirst,
		Subscriptions: []body.SubscriptionData{},
	}
	if m.pull != nil {
		d.ConsumeType = body.ConsumeActively
	}
	for _, s := range m.subscriptions() {
		d.Subscriptions = append(d.Subscriptions, m.subscriptionData(s.topic))
	}
	switch m.cfg.Start.kind {
	case startLast:
		d.ConsumeFromWhere = body.ConsumeFromLast
	case startTime:
		d.ConsumeFromWhere = body.ConsumeFromTimestamp
	}
	if m.cfg.Broadcast {
		d.MessageModel = body.Broadcasting
	} else {
		// The members of a group share one table of subscriptions at the
		// broker, and all stock ones list the retry topic.
		d.Subscriptions = append(d.Subscriptions, m.subscriptionData(msg.RetryTopic(m.cfg.Group)))
	}
	return d
}

func (m *member) subscriptionData(topic string) body.SubscriptionData {
	wants := m.wants(topic)
	s := body.SubscriptionData{
		Topic: topic, SubString: wants.expr, SubVersion: m.version, ExpressionType: body.ExpressionTag,
		TagsSet: []string{}, CodeSet: []int32{},
	}
	if !wants.tags.All() {
		s.TagsSet, s.CodeSet = wants.tags.Tags(), wants.tags.Codes()
	}
	return s
}

// ping sends ping n; pong runs when its answer was read. A ping without an
// answer says what it has to say by that.
func (b *broker) ping(conn *transport.Conn, n, ack uint64, pong func()) {
	cmd := b.named(wire.NewRequest(wire.ReqHeartBeat, header.Ping{N: n, Ack: ack}, nil))
	conn.CallAsyncWith(cmd, transport.CallOptions{Urgent: true, Deadline: time.Now().Add(time.Minute)},
		func(resp *wire.Command, err error) {
			var answer header.Ping
			if err == nil && resp.Code == wire.Success && answer.Decode(resp.Ext) == nil && answer.N == n {
				pong()
			}
		})
}

// members lists the client ids of a group.
func (b *broker) members(ctx context.Context, group string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, b.c.cfg.RequestTimeout)
	defer cancel()
	resp, err := b.request(ctx, wire.NewRequest(wire.ReqGetConsumerListByGroup, &header.GetConsumerList{ConsumerGroup: group}, nil))
	if err != nil {
		return nil, fmt.Errorf("broker %s: %w", b.name, err)
	}
	var list body.ConsumerList
	if err := list.Decode(resp.Body); err != nil {
		return nil, fmt.Errorf("broker %s: %w", b.name, err)
	}
	return list.ClientIDs, nil
}

// assignment asks for the member's part of the broker's queues of a topic.
// sticky is false if the group has to split them by the classic strategy.
func (b *broker) assignment(ctx context.Context, m *member, topic string) (queues []Queue, sticky bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.c.cfg.RequestTimeout)
	defer cancel()
	query := body.QueryAssignment{
		Topic: topic, ConsumerGroup: m.cfg.Group, ClientID: m.id,
		StrategyName: rebalance.NameSticky, MessageModel: body.Clustering,
	}
	resp, err := b.request(ctx, wire.NewRequest(wire.ReqQueryAssignment, nil, query.Encode()))
	if refused, ok := errors.AsType[*BrokerError](err); ok && int32(refused.Code) == wire.RequestCodeNotSupported {
		return nil, false, nil
	}
	var list body.QueryAssignmentResponse
	if err == nil {
		err = list.Decode(resp.Body)
	}
	if err != nil {
		return nil, false, fmt.Errorf("broker %s: %w", b.name, err)
	}
	for _, a := range list.Assignments {
		queues = append(queues, Queue{Topic: a.Queue.Topic, Broker: b.name, ID: int(a.Queue.QueueID)})
	}
	return queues, resp.Ext.Value(header.ExtStrategy) == rebalance.NameSticky, nil
}

func (b *broker) lockBody(m *member, queues []order.Queue) []byte {
	data := body.LockBatch{ConsumerGroup: m.cfg.Group, ClientID: m.id}
	for _, q := range queues {
		data.Queues = append(data.Queues, body.MessageQueue{Topic: q.Topic, BrokerName: b.name, QueueID: q.ID})
	}
	return data.Encode()
}

// lock asks for queues, held ones included, and returns those granted.
func (b *broker) lock(ctx context.Context, m *member, queues []order.Queue) ([]order.Grant, error) {
	cmd := b.named(wire.NewRequest(wire.ReqLockBatchMQ, nil, b.lockBody(m, queues)))
	if b.ours() {
		cmd.Ext.Set(header.ExtFrom, m.cfg.Start.wire())
	}
	resp, err := b.request(ctx, cmd)
	if err != nil {
		return nil, err
	}
	var data body.LockBatchResponse
	if err := data.Decode(resp.Body); err != nil {
		return nil, err
	}
	var more header.LockGrants
	if err := more.Decode(resp.Ext); err != nil {
		return nil, err
	}
	if n := len(more.Grants); n != 0 && n != len(data.Locked) {
		return nil, fmt.Errorf("lock answer: %d queues and %d grants", len(data.Locked), n)
	}
	grants := make([]order.Grant, len(data.Locked))
	for i, q := range data.Locked {
		grants[i] = order.Grant{Queue: order.Queue{Topic: q.Topic, ID: q.QueueID}, Offset: order.Unknown}
		if len(more.Grants) == 0 {
			continue
		}
		if err := complete(&grants[i], &more.Grants[i]); err != nil {
			return nil, fmt.Errorf("lock answer: %w", err)
		}
	}
	m.refusedBy(b, more.Refused)
	return grants, nil
}

// wire is the start position as a lock names it: our broker fixes the group's
// position when the group first meets a queue.
func (s Start) wire() string {
	switch s.kind {
	case startLast:
		return "last"
	case startTime:
		return fmt.Sprint("time:", s.at.UnixMilli())
	}
	return "first"
}

// complete adds to a grant what a broker of ours says of it.
func complete(g *order.Grant, more *header.LockGrant) (err error) {
	g.Epoch, g.Offset = order.Epoch(more.Epoch), more.Start
	if g.Settled, err = order.ParseRanges(nil, more.Progress.Ranges); err != nil {
		return err
	}
	g.Attempts, err = order.ParseAttempts(nil, more.Progress.Attempts)
	return err
}

func (m *member) refusedBy(b *broker, refused []header.LockRefusal) {
	for _, r := range refused {
		m.log.Debug("queue not granted", "topic", r.Topic, "queue", r.Queue, "holder", r.Holder, "why", r.Why)
		m.pull.refused(QueueHeldError{Queue: Queue{Topic: r.Topic, Broker: b.name, ID: int(r.Queue)}, Holder: r.Holder, Why: r.Why})
	}
}

// unlocking is what a broker of ours is told along with an unlock.
type unlocking struct {
	overrun bool // a handler of one of the queues still runs
	closing bool // the member wants no others
}

// unlock gives queues back.
func (b *broker) unlock(ctx context.Context, m *member, queues []order.Queue, how unlocking) error {
	cmd := b.named(wire.NewRequest(wire.ReqUnlockBatchMQ, nil, b.lockBody(m, queues)))
	if how.overrun {
		m.log.Error("queues are given back while handlers of them still run: calls may overlap", "queues", len(queues))
	}
	if b.ours() && how.overrun {
		cmd.Ext.Set(header.ExtOverrun, "1")
	}
	if b.ours() && how.closing {
		cmd.Ext.Set(header.ExtClosing, "1")
	}
	_, err := b.request(ctx, cmd)
	return err
}

// pullRequest asks for messages of one queue.
type pullRequest struct {
	group   string
	queue   Queue
	offset  int64
	epoch   order.Epoch
	max     int
	expr    string
	version int64
	now     bool // answer at once, even if nothing is there
}

// pullAnswer is the answer to it: messages, or none, or news of where the
// queue begins and ends.
type pullAnswer struct {
	moved          bool
	next, min, max int64
	body           []byte
	retry          time.Duration // after a failure; 0: the usual
}

const (
	pullHold     = 15 * time.Second // the broker may keep a pull waiting
	pullPatience = 30 * time.Second // for its answer
	pullBytes    = 1 << 20
	flowRetry    = 20 * time.Millisecond
	linkRetry    = 100 * time.Millisecond
)

// pull asks for messages; done runs on the connection's reader.
func (b *broker) pull(req pullRequest, done func(pullAnswer, error)) {
	h := &header.PullMessage{
		ConsumerGroup: req.group, Topic: req.queue.Topic, QueueID: int32(req.queue.ID), QueueOffset: req.offset,
		MaxMsgNums: int32(req.max), SysFlag: header.PullSuspend | header.PullSubscription,
		SuspendTimeoutMillis: pullHold.Milliseconds(), Subscription: req.expr, SubVersion: req.version,
		ExpressionType: body.ExpressionTag, MaxMsgBytes: header.Some(int32(pullBytes)), BrokerName: b.name,
	}
	if req.now {
		h.SysFlag, h.SuspendTimeoutMillis = header.PullSubscription, 0
	}
	cmd := b.fenced(wire.NewRequest(wire.ReqPullMessage, h, nil), req.epoch)
	b.requestAsync(cmd, pullPatience, func(resp *wire.Command, err error) { done(pulled(resp, err)) })
}

func pulled(resp *wire.Command, err error) (ans pullAnswer, _ error) {
	if resp == nil {
		return pullAnswer{retry: linkRetry}, err
	}
	switch resp.Code {
	case wire.Success:
		ans.body = resp.Body
	case wire.PullNotFound, wire.PullRetryImmediately:
	case wire.PullOffsetMoved:
		ans.moved = true
	case wire.FlowControl:
		return pullAnswer{retry: flowRetry}, err
	default:
		return ans, err
	}
	var h header.PullMessageResponse
	if err := h.Decode(resp.Ext); err != nil {
		return ans, err
	}
	ans.next, ans.min, ans.max = h.NextBeginOffset, h.MinOffset, h.MaxOffset
	return ans, nil
}

// commitRequest writes a group's position in a queue down.
type commitRequest struct {
	group    string
	queue    Queue
	offset   int64
	epoch    order.Epoch
	ranges   []order.Range
	attempts []order.Attempt
}

// commit sends a position, two-way; done runs on the connection's reader.
func (b *broker) commit(req commitRequest, done func(error)) {
	h := &header.UpdateConsumerOffset{
		ConsumerGroup: req.group, Topic: req.queue.Topic, QueueID: int32(req.queue.ID), CommitOffset: req.offset, BrokerName: b.name,
	}
	cmd := b.fenced(wire.NewRequest(wire.ReqUpdateConsumerOffset, h, nil), req.epoch)
	if b.ours() {
		header.Progress{
			Ranges:   string(order.AppendRanges(nil, req.ranges)),
			Attempts: string(order.AppendAttempts(nil, req.attempts)),
		}.Encode(&cmd.Ext)
	}
	b.requestAsync(cmd, b.c.cfg.RequestTimeout, func(_ *wire.Command, err error) { done(err) })
}

// isRetryTopic tells retry topics from the topics they belong to.
func isRetryTopic(topic string) bool { return strings.HasPrefix(topic, msg.RetryPrefix) }
