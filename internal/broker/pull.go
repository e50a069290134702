// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/route"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// pulling is one pull on its way: checked, decided on, then read or held.
type pulling struct {
	request
	b      *Broker
	h      header.PullMessage
	fence  header.Fence
	group  *group
	topic  *meta.Topic
	match  func(tagHash int64) bool
	until  order.Time // when a held pull is answered; 0: it may not wait
	waited bool       // it has been held, and is not held again
	goOn   int64      // where an empty answer sends the client: a reset position, or where it asked
}

func (p *pulling) queue() order.Queue { return order.Queue{Topic: p.h.Topic, ID: p.h.QueueID} }

// pullMessage handles PULL_MESSAGE 11 and LITE_PULL_MESSAGE 361. The checks and
// the decision about the lease are made in the connection's order; the disk is
// read elsewhere.
func (b *Broker) pullMessage(r request) {
	p := &pulling{request: r, b: b}
	if !r.decode(&p.h) || !r.decode(&p.fence) {
		return
	}
	if !b.admitPull(p) {
		return
	}
	if !r.c.remember(p.group) {
		r.fail(wire.SystemBusy, "this connection takes part in too many groups: open another one")
		return
	}
	if !r.c.known {
		r.c.becomeKnown()
	}
	if p.h.SysFlag&header.PullSuspend != 0 && p.h.SuspendTimeoutMillis > 0 {
		wait := min(time.Duration(p.h.SuspendTimeoutMillis)*time.Millisecond, maxHoldTime)
		p.until = b.clock.now().Add(wait)
	}
	if p.h.SysFlag&header.PullCommitOffset != 0 {
		b.commitOfPull(p)
	}
	p.decide()
}

// admitPull makes the checks of RocketMQ, in its order. If one fails it answers
// and reports false.
func (b *Broker) admitPull(p *pulling) bool {
	g, err := b.ensureGroup(b.ctx, p.h.ConsumerGroup)
	if err != nil {
		p.fail(errorCodeOr(err, wire.SubscriptionGroupNotExist), fmt.Sprintf("subscription group [%s] does not exist, %v%s", p.h.ConsumerGroup, err, faq))
		return false
	}
	p.group, p.goOn = g, p.h.QueueOffset
	cfg, ok := b.meta.View().Group(g.name)
	if !ok || !cfg.ConsumeEnable {
		return p.forbidden(header.ForbiddenGroup, "subscription group no permission, "+g.name)
	}
	if p.topic, ok = b.topic(p.h.Topic); !ok {
		p.fail(wire.TopicNotExist, fmt.Sprintf("topic[%s] not exist, apply first please! %s", p.h.Topic, faq))
		return false
	}
	if p.topic.Perm&route.PermRead == 0 {
		return p.forbidden(header.ForbiddenTopic, fmt.Sprintf("the topic[%s] pulling message is forbidden", p.h.Topic))
	}
	if p.h.QueueID < 0 || p.h.QueueID >= p.topic.ReadQueues {
		p.fail(wire.InvalidParameter, fmt.Sprintf("queueId[%d] is illegal, topic:[%s] topicConfig.readQueueNums:[%d] consumer:[%s]",
			p.h.QueueID, p.h.Topic, p.topic.ReadQueues, p.c.peer))
		return false
	}
	if cfg.Forbidden[p.h.Topic]&1 != 0 {
		return p.forbidden(header.ForbiddenSubscription, fmt.Sprintf("the consumer's group[%s] is forbidden for topic[%s]", g.name, p.h.Topic))
	}
	return p.subscribe(cfg)
}

func (p *pulling) forbidden(why int32, remark string) bool {
	resp := wire.NewResponse(p.cmd, wire.NoPermission, remark)
	resp.Ext.Add("forbiddenType", fmt.Sprint(why))
	p.reply(resp)
	return false
}

// subscribe works out the filter: from the request if it brings one, else from
// the group's heartbeats.
func (p *pulling) subscribe(cfg *meta.Group) bool {
	if p.h.SysFlag&header.PullSubscription != 0 {
		return p.filterBy(p.h.ExpressionType, p.h.Subscription)
	}
	p.group.mu.Lock()
	online, model, sub := len(p.group.members.links) > 0, p.group.members.model, p.group.members.subs[p.h.Topic]
	p.group.mu.Unlock()
	switch {
	case !online:
		p.fail(wire.SubscriptionNotExist, "the consumer's group info not exist"+faq)
	case model == broadcasting && !cfg.ConsumeBroadcastEnable:
		return p.forbidden(header.ForbiddenBroadcasting, fmt.Sprintf("the consumer group[%s] can not consume by broadcast way", p.group.name))
	case sub == nil:
		p.fail(wire.SubscriptionNotExist, "the consumer's subscription not exist"+faq)
	case sub.Version < p.h.SubVersion && !(p.topic.Ordered() && sub.filter.All()):
		// RocketMQ refuses always. But the Java client raises the version in each
		// rebalance and now and then fails to send the heartbeat that tells of it:
		// the keys of the queue would wait for 30 s. Where all messages are wanted
		// an older subscription lacks nothing, and clients filter again.
		p.fail(wire.SubscriptionNotLatest, "the consumer's subscription not latest")
	case sub.Type == msg.ExprSQL92:
		p.fail(wire.SystemError, "The broker does not support consumer to filter message by SQL92")
	default:
		if !sub.filter.All() {
			p.match = sub.filter.MatchHash
		}
		return true
	}
	return false
}

// filterBy sets the filter of a request's own expression. As in RocketMQ an
// expression of an unknown type filters nothing, and one that names no tag
// matches nothing.
func (p *pulling) filterBy(kind, expr string) bool {
	switch kind {
	case msg.ExprSQL92:
		p.fail(wire.SystemError, "The broker does not support consumer to filter message by SQL92")
		return false
	case "", msg.ExprTag:
	default:
		return true
	}
	f, err := msg.ParseTags(expr)
	switch {
	case err != nil:
		p.match = func(int64) bool { return false }
	case !f.All():
		p.match = f.MatchHash
	}
	return true
}

// decide asks the group's leases whether the pull may be served.
func (p *pulling) decide() {
	act, held := p.group.pull(&order.LeaseEvent{
		Link: p.c.id, Host: p.c.host, Session: order.Token(p.fence.Session.Token), Epoch: order.Epoch(p.fence.Epoch),
		Queue: p.queue(), Offset: p.h.QueueOffset, Known: true,
	})
	if !held && act.Kind == order.LeaseServe && p.topic.Ordered() {
		p.b.reportUnlocked(p)
	}
	switch act.Kind {
	case order.LeaseFence:
		p.fail(wire.CodeFenced, fmt.Sprintf("queue %d of %s is held under epoch %d by %q", p.h.QueueID, p.h.Topic, act.Epoch, act.Client))
	case order.LeasePark:
		if act.Why == order.WhyReset {
			p.awaitReset(act.Offset)
			return
		}
		p.park()
	default:
		p.serve()
	}
}

// serve answers from the store, or holds the pull if nothing is there.
func (p *pulling) serve() {
	if to, ok := p.b.pendingReset(p.group.name, p.queue()); ok && p.fence.Epoch == 0 && to != p.h.QueueOffset {
		p.moved(to)
		return
	}
	if _, max := p.b.store.Bounds(p.h.Topic, p.h.QueueID); p.h.QueueOffset == max && p.mayWait() {
		p.hold(false)
		return
	}
	if !p.b.pool.run(p.read) {
		p.failed(errClosing)
	}
}

func (p *pulling) mayWait() bool { return !p.waited && p.until > p.b.clock.now() }

// read reads the store and answers.
func (p *pulling) read() {
	buf := p.b.buffers.Get().(*[]byte)
	lim := store.ReadLimit{
		MaxMsgs:  clamp(int(p.h.MaxMsgNums), 1, p.b.cfg.MaxPullMsgs),
		MaxBytes: clamp(int(p.h.MaxMsgBytes.Or(pullBytes)), 1, p.b.cfg.MaxPullBytes),
		Buf:      (*buf)[:0],
	}
	res, err := p.b.store.Read(p.h.Topic, p.h.QueueID, p.h.QueueOffset, lim, p.match)
	if len(res.Records) == 0 {
		p.b.buffers.Put(buf)
		buf = nil
	}
	if err != nil {
		p.b.log.Error("messages cannot be read", "topic", p.h.Topic, "queue", p.h.QueueID, "offset", p.h.QueueOffset, "err", err)
		p.failed(err)
		return
	}
	code, next := pullCode(&res, p.h.QueueOffset)
	if code == wire.Success && p.fence.Epoch != 0 {
		p.group.delivered(p.queue(), order.Epoch(p.fence.Epoch), next)
	}
	if code == wire.PullNotFound && p.mayWait() {
		p.hold(false)
		return
	}
	p.answer(code, res.Status.String(), next, res.Min, res.Max, res.Records, buf)
	if code == wire.Success {
		p.b.stats.messagesOut.add(int64(res.Count))
		p.b.stats.bytesOut.add(int64(len(res.Records)))
	} else {
		p.b.stats.pullsEmpty.add(1)
	}
}

// pullCode translates the end of a read: response code and where to go on.
func pullCode(res *store.ReadResult, asked int64) (code int32, next int64) {
	switch res.Status {
	case store.Found:
		return wire.Success, res.Next
	case store.NoMatchedMessage:
		return wire.PullRetryImmediately, res.Next
	case store.OffsetOverflowOne:
		return wire.PullNotFound, asked
	case store.OffsetOverflowBadly:
		return wire.PullOffsetMoved, res.Max
	case store.OffsetTooSmall:
		return wire.PullOffsetMoved, res.Min
	default: // no such queue yet, or nothing in it
		if asked == 0 {
			return wire.PullNotFound, 0
		}
		return wire.PullOffsetMoved, res.Max
	}
}

// answer sends a pull's answer; every code carries the offsets, for clients
// fail without them. The buffer that the records are in, if there is one, is
// used again once they are written.
func (p *pulling) answer(code int32, status string, next, low, high int64, records []byte, buf *[]byte) {
	resp := wire.NewResponse(p.cmd, code, status)
	h := header.PullMessageResponse{
		NextBeginOffset: next, MinOffset: low, MaxOffset: high,
		TopicSysFlag: header.Some(p.topic.SysFlag), GroupSysFlag: header.Some(int32(0)),
	}
	h.Encode(&resp.Ext)
	resp.Body = records
	if buf == nil {
		p.reply(resp)
		return
	}
	*buf = records
	p.replyWith(resp, transport.WriteOptions{Written: func(error) { p.b.recycle(buf) }})
}

// maxRecycled is the largest buffer that is kept for another pull.
const maxRecycled = 1 << 20

func (b *Broker) recycle(buf *[]byte) {
	if cap(*buf) <= maxRecycled {
		b.buffers.Put(buf)
	}
}

// moved tells the client to go on elsewhere: the position was reset.
func (p *pulling) moved(to int64) {
	low, high := p.b.store.Bounds(p.h.Topic, p.h.QueueID)
	p.answer(wire.PullOffsetMoved, "OFFSET_RESET", to, low, high, nil, nil)
}

// empty tells the client that nothing is there.
func (p *pulling) empty(status string) {
	low, high := p.b.store.Bounds(p.h.Topic, p.h.QueueID)
	p.answer(wire.PullNotFound, status, p.goOn, low, high, nil, nil)
	p.b.stats.pullsEmpty.add(1)
}

func clamp(v, low, high int) int { return max(low, min(v, high)) }

// pendingReset returns the offset of a reset that the group's member has not
// taken up yet.
func (b *Broker) pendingReset(group string, q order.Queue) (int64, bool) {
	state, ok := b.meta.View().Queue(meta.QueueKey{Group: group, Topic: q.Topic, Queue: q.ID})
	if !ok || !state.Reset.Pending {
		return 0, false
	}
	return state.Reset.To, true
}
