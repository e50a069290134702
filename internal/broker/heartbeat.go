// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// Bounds of what one heartbeat may bring.
const (
	maxClientID      = 512
	maxGroupsOfBeat  = 4096
	maxSubsOfGroup   = 1024
	maxSubExpression = 64 << 10
)

// heartbeat handles HEART_BEAT 34: who is connected, which groups it produces
// for and consumes with, and what it reads. Our client's names its session, or
// asks for one.
func (b *Broker) heartbeat(r request) {
	var data body.HeartbeatData
	var session header.Session
	if err := data.Decode(r.cmd.Body); err != nil {
		r.fail(wire.SystemError, fmt.Sprintf("heartbeat: %v", err))
		return
	}
	if !r.decode(&session) {
		return
	}
	claim := header.ProducerClaim{}
	if !r.decode(&claim) {
		return
	}
	names, err := memberNames(r.cmd.Ext)
	if err != nil {
		r.fail(wire.InvalidParameter, err.Error())
		return
	}
	if len(data.ClientID) > maxClientID || len(data.Producers)+len(data.Consumers) > maxGroupsOfBeat {
		r.fail(wire.InvalidParameter, fmt.Sprintf("heartbeat: client id of %d bytes, %d groups: at most %d and %d",
			len(data.ClientID), len(data.Producers)+len(data.Consumers), maxClientID, maxGroupsOfBeat))
		return
	}
	if data.ClientID == "" && len(data.Consumers) > 0 {
		r.fail(wire.SystemError, "heartbeat: consumers without a client id")
		return
	}
	if session.New {
		session = header.Session{Token: mintToken()}
	}
	c := r.c
	c.client, c.session, c.names = data.ClientID, order.Token(session.Token), names
	c.heard.Store(int64(b.clock.now()))
	b.producers.update(c, &data, r.cmd, b.cfg.Clock().UnixMilli())
	beat := &beat{request: r, session: session, subChanged: data.Fingerprint == 0, claim: claim}
	beat.open.Add(1)
	for i := range data.Consumers {
		b.joinGroup(beat, &data, &data.Consumers[i])
	}
	c.becomeKnown()
	b.claimNumbers(beat, data.ClientID)
	beat.one(nil)
}

// memberNames reads the names of a client in its groups.
func memberNames(f wire.Fields) (map[string]string, error) {
	list, err := header.DecodeNames(f, header.ExtMember)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	names := make(map[string]string, len(list))
	for _, n := range list {
		if len(n.Name) > maxClientID || len(names) == maxGroupsOfBeat {
			return nil, fmt.Errorf("heartbeat: member names: at most %d of %d bytes", maxGroupsOfBeat, maxClientID)
		}
		names[n.Group] = n.Name
	}
	return names, nil
}

// mintToken makes a session token: unguessable, so that nobody takes another's
// session by accident.
func mintToken() uint64 {
	for {
		var raw [8]byte
		_, _ = rand.Read(raw[:]) // never fails (crypto/rand)
		if t := binary.BigEndian.Uint64(raw[:]); t != 0 {
			return t
		}
	}
}

// beat is a heartbeat being answered: the answer goes out when the lease
// tables of all its groups have taken it in.
type beat struct {
	request
	session header.Session

	mu         sync.Mutex
	subChanged bool
	times      []header.GroupTimes
	policied   []string // groups that have a policy
	policies   []header.GroupPolicy
	claim      header.ProducerClaim
	grant      *header.ProducerGrant
	err        error
	taken      []header.Named // groups whose member name another session has

	open counterDown
}

// joinGroup takes in what the heartbeat says of one consumer group. A group
// that does not exist and is not made by itself is skipped, as in RocketMQ.
func (b *Broker) joinGroup(beat *beat, data *body.HeartbeatData, cd *body.ConsumerData) {
	c := beat.c
	g, err := b.ensureGroup(b.ctx, cd.GroupName)
	if err != nil || !c.remember(g) {
		b.log.Warn("group of a heartbeat is skipped", "group", cd.GroupName, "peer", c.peer.String(), "err", err)
		return
	}
	cfg, ok := b.meta.View().Group(g.name)
	if !ok {
		return
	}
	if cd.MessageModel != body.Broadcasting {
		if _, err := b.ensureOwned(b.ctx, msg.RetryTopic(g.name), max(1, cfg.RetryQueueNums)); err != nil {
			b.log.Error("retry topic cannot be created", "group", g.name, "err", err)
		}
	}
	if c.session != 0 {
		c.join(g)
		beat.times = append(beat.times, header.GroupTimes{Group: g.name, Grace: cfg.Grace(), Lease: cfg.Lease()})
		beat.policy(cfg)
	}
	b.inheritOrder(g.name, cfg, cd)
	changed := g.takeBeat(beat, data, cd)
	beat.open.Add(1)
	g.feed(&order.LeaseEvent{
		Kind: order.LeaseJoin, Link: c.id, Host: c.host, Port: c.port, Client: data.ClientID,
		Session: c.session, Name: c.names[g.name],
	}, &ask{done: func(acts []order.LeaseAction, err error) { beat.joined(g.name, acts, err) }})
	if changed {
		g.announce()
	}
}

// policy takes what the group asks of its members into the answer, if anything.
func (bt *beat) policy(g *meta.Group) {
	if g.MaxAttempts == 0 && len(g.BackoffMs) == 0 && g.Poison == meta.PoisonBlock && g.MaxHandlerMs == 0 {
		return
	}
	p := header.GroupPolicy{
		MaxAttempts: g.MaxAttempts, Poison: g.Poison.String(),
		MaxHandler: time.Duration(g.MaxHandlerMs) * time.Millisecond, Overrun: g.Overrun.String(),
	}
	for _, ms := range g.BackoffMs {
		p.Backoff = append(p.Backoff, time.Duration(ms)*time.Millisecond)
	}
	bt.policied, bt.policies = append(bt.policied, g.Name), append(bt.policies, p)
}

// takeBeat updates the group's members and reports whether its subscriptions
// have changed.
func (g *group) takeBeat(beat *beat, data *body.HeartbeatData, cd *body.ConsumerData) bool {
	j := &joining{
		consumeType: cd.ConsumeType, model: cd.MessageModel, from: cd.ConsumeFromWhere,
		subs: subscriptionsOf(cd), keepSubs: data.WithoutSub,
	}
	link := memberLink{
		conn: beat.c, client: data.ClientID, language: beat.cmd.Language, version: beat.cmd.Version,
		updated: g.b.cfg.Clock().UnixMilli(), ours: beat.session.Token != 0,
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if fp := data.Fingerprint; fp != 0 {
		m := &g.members
		if m.fingerprint != fp && (m.fingerprint != 0 || data.WithoutSub) {
			beat.subChanged = true
		}
		m.fingerprint = fp
	}
	return g.members.update(link, j)
}

// subscriptionsOf reads the subscriptions of a heartbeat, within bounds.
func subscriptionsOf(cd *body.ConsumerData) []msg.Subscription {
	var subs []msg.Subscription
	for _, s := range cd.Subscriptions {
		if len(subs) == maxSubsOfGroup || len(s.SubString) > maxSubExpression || msg.CheckTopic(s.Topic) != nil {
			continue
		}
		kind := s.ExpressionType
		if kind == "" {
			kind = msg.ExprTag
		}
		subs = append(subs, msg.Subscription{
			Topic: s.Topic, Expr: s.SubString, Type: kind, Tags: s.TagsSet, Codes: s.CodeSet,
			Version: s.SubVersion, ClassFilter: s.ClassFilterMode,
		})
	}
	return subs
}

// inheritOrder gives a group that reads an ordered topic the rules of order.
func (b *Broker) inheritOrder(name string, cfg *meta.Group, cd *body.ConsumerData) {
	if cfg.Ordered || cd.MessageModel == body.Broadcasting {
		return
	}
	for _, s := range cd.Subscriptions {
		if t, ok := b.topic(s.Topic); ok && t.Ordered() {
			b.orderGroup(name, s.Topic)
			return
		}
	}
}

func (b *Broker) orderGroup(name, topic string) {
	err := b.meta.Update(b.ctx, func(v *meta.View) ([]meta.Change, error) {
		cfg, ok := v.Group(name)
		if !ok || cfg.Ordered {
			return nil, nil
		}
		altered := *cfg
		altered.Ordered = true
		return []meta.Change{meta.PutGroup{Group: altered, At: b.clock.at()}}, nil
	})
	if err != nil {
		b.log.Error("group cannot be marked as ordered", "group", name, "err", err)
		return
	}
	b.log.Info("group reads an ordered topic and inherits its rules", "group", name, "topic", topic)
}

// joined notes that one group's lease table has taken the heartbeat in.
func (bt *beat) joined(group string, acts []order.LeaseAction, err error) {
	for _, act := range acts {
		if act.Kind == order.LeaseJoinRefused {
			bt.mu.Lock()
			bt.taken = append(bt.taken, header.Named{Group: group, Name: act.Client})
			bt.mu.Unlock()
		}
	}
	bt.one(err)
}

// one ends one part of the heartbeat; the last one answers.
func (bt *beat) one(err error) {
	bt.mu.Lock()
	if bt.err == nil {
		bt.err = err
	}
	bt.mu.Unlock()
	if !bt.open.Done() {
		return
	}
	if bt.err != nil {
		bt.fail(sendErrorCode(bt.err), bt.err.Error())
		return
	}
	bt.answer()
}

func (bt *beat) answer() {
	resp := wire.NewResponse(bt.cmd, wire.Success, "")
	h := header.HeartBeatResponse{SupportV2: header.Some(true), SubChange: header.Some(bt.subChanged)}
	h.Encode(&resp.Ext)
	bt.session.Encode(&resp.Ext)
	header.EncodeGroups(&resp.Ext, bt.times)
	header.EncodePolicies(&resp.Ext, bt.policied, bt.policies)
	header.EncodeNames(&resp.Ext, header.ExtTaken, bt.taken)
	if bt.grant != nil {
		bt.grant.Encode(&resp.Ext)
	}
	bt.reply(resp)
}
