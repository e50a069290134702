// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// Blocked is one thing that waits: a message and what is behind it, a queue, a
// member, or a whole broker. Fields that do not apply are empty; Queue and Offset
// are -1 then.
type Blocked struct {
	Group  string `json:"group,omitempty"`
	Topic  string `json:"topic,omitempty"`
	Broker string `json:"broker"`
	Queue  int    `json:"queue"`
	// Offset is that of the first message that waits, Key its ordering key.
	Offset int64  `json:"offset"`
	Key    string `json:"key,omitempty"`
	// Attempts have ended without success.
	Attempts int `json:"attempts"`
	// Owner is the client id of the member that has the queue, Member its name.
	Owner  string `json:"owner,omitempty"`
	Member string `json:"member,omitempty"`
	// Since is when it began to wait, by this host's clock if a member told it.
	Since time.Time `json:"since,omitzero"`
	Why   string    `json:"why"`
	// Next is when something happens by itself; zero: not by time.
	Next time.Time `json:"next,omitzero"`
	// Behind is how many messages wait behind it.
	Behind int64 `json:"behind"`
}

// longIdle is how long a stock member may have messages in hand and finish none
// before it is listed: what it does with them it does not tell.
const longIdle = 30 * time.Second

// Blocked lists what waits in the named groups, or in all: what the brokers
// know of queues and members, and what Orderly's members tell of the messages
// they have in hand. Handler calls that have not failed and take less than a
// second are not listed. Of RocketMQ's own clients only what a broker sees is
// known. A member or a broker that does not answer is listed with the reason.
func (c *Client) Blocked(ctx context.Context, groups ...string) ([]Blocked, error) {
	ms, err := c.masters(ctx)
	if err != nil {
		return nil, err
	}
	list := []Blocked{}
	found := map[string]bool{}
	for _, m := range ms {
		b := &blockedOn{c: c, m: m, found: found}
		if err := b.look(ctx, groups); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			b.list = append(b.list, Blocked{Broker: m.name, Queue: -1, Offset: -1, Why: "the broker does not answer: " + err.Error()})
		}
		list = append(list, b.list...)
	}
	for _, g := range groups {
		if !found[g] {
			return list, fmt.Errorf("%w: %s", ErrGroupNotFound, g)
		}
	}
	slices.SortStableFunc(list, func(a, b Blocked) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Broker, b.Broker),
			cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Offset, b.Offset))
	})
	return list, nil
}

// blockedOn gathers what waits on one broker.
type blockedOn struct {
	c     *Client
	m     master
	found map[string]bool // groups
	list  []Blocked
}

func (b *blockedOn) add(x Blocked) {
	x.Broker = b.m.name
	b.list = append(b.list, x)
}

func (b *blockedOn) look(ctx context.Context, only []string) error {
	if err := b.broker(ctx); err != nil {
		return err
	}
	all, err := b.c.groupsOf(ctx, b.m)
	if err != nil {
		return err
	}
	for name, g := range all {
		if msg.IsSystemGroup(name) || len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		b.found[name] = true
		if err := b.group(ctx, &g); err != nil {
			return err
		}
	}
	return nil
}

// broker tells what holds up everybody.
func (b *blockedOn) broker(ctx context.Context) error {
	h := BrokerHealth{Broker: b.m.name, Addr: b.m.addr}
	if err := b.c.fillHealth(ctx, &h); err != nil {
		return err
	}
	if h.State != "" && h.State != "healthy" {
		b.add(Blocked{Queue: -1, Offset: -1, Why: "no commit, lock or change is taken: the change log is " + h.State})
	}
	if h.Messages != "" && h.Messages != "open" {
		b.add(Blocked{Queue: -1, Offset: -1, Why: "no send is taken: the message log is " + h.Messages})
	}
	return nil
}

func (b *blockedOn) group(ctx context.Context, g *body.SubscriptionGroupConfig) error {
	stats, err := b.c.consumeStats(ctx, g.GroupName, "", b.m)
	if err != nil {
		return err
	}
	info := GroupInfo{Group: Group{Name: g.GroupName}}
	if err := b.c.addMembers(ctx, &info, b.m); err != nil {
		return err
	}
	lag := int64(0)
	for _, o := range stats.OffsetTable {
		lag += max(0, o.BrokerOffset-o.ConsumerOffset)
	}
	if !g.ConsumeEnable && lag > 0 {
		b.add(Blocked{Group: g.GroupName, Queue: -1, Offset: -1, Behind: lag, Why: "the group may not consume: it is switched off at the broker (consumeEnable)"})
	}
	b.queues(&info, stats)
	for _, m := range info.Members {
		b.member(ctx, g.GroupName, m, stats)
	}
	return nil
}

// queues tells of queues that have messages and nobody who may consume them.
func (b *blockedOn) queues(info *GroupInfo, stats *body.ConsumeStats) {
	holders := map[body.MessageQueue]body.QueueHolder{}
	for _, h := range stats.Holders {
		holders[body.MessageQueue{Topic: h.Topic, BrokerName: b.m.name, QueueID: h.QueueID}] = h
	}
	for q, o := range stats.OffsetTable {
		lag := o.BrokerOffset - o.ConsumerOffset
		h, leased := holders[q]
		if lag <= 0 && !h.Reset {
			continue
		}
		x := Blocked{
			Group: info.Name, Topic: q.Topic, Queue: int(q.QueueID), Offset: o.ConsumerOffset, Owner: h.Holder,
			Since: fromMillis(h.Since), Behind: max(0, lag-1),
		}
		switch {
		case len(info.Members) == 0:
			x.Why, x.Since = "no member of the group is running", time.Time{}
		case h.Holder == "" && leased && (h.Waiting > 0 || h.Epoch != 0):
			x.Why = "no member has taken the queue yet"
		case h.Why != "" && h.Why != "held":
			x.Why, x.Next = "its last holder may still have it ("+h.Why+")", fromMillis(h.Until)
		case h.Reset:
			x.Why = "the position was reset, and its members have not taken that up"
		default:
			continue
		}
		b.add(x)
	}
}

// member tells what one member says, or that it says nothing.
func (b *blockedOn) member(ctx context.Context, group string, m Member, stats *body.ConsumeStats) {
	h := &header.GetConsumerRunningInfo{ConsumerGroup: group, ClientID: m.ClientID}
	resp, err := b.c.call(ctx, b.m.addr, wire.ReqGetConsumerRunningInfo, h, nil)
	var info body.ConsumerRunningInfo
	if err == nil {
		err = info.Decode(resp.Body)
	}
	if refused(err, wire.SystemError) { // it has just left, or cannot be asked
		_, err = b.c.memberLink(ctx, group, m.ClientID, b.m)
		if errors.Is(err, errNotThere) {
			return
		}
	}
	if err != nil {
		b.add(Blocked{Group: group, Queue: -1, Offset: -1, Owner: m.ClientID, Why: "the member does not answer: " + err.Error()})
		return
	}
	text, ours := info.UserConsumerInfo[body.InfoWaits]
	if !ours {
		b.stock(group, m, &info, stats)
		return
	}
	waits, err := body.DecodeWaits(text)
	if err != nil {
		b.add(Blocked{Group: group, Queue: -1, Offset: -1, Owner: m.ClientID, Why: "the member's answer cannot be read: " + err.Error()})
		return
	}
	for _, w := range waits {
		if w.Broker != b.m.name {
			continue
		}
		b.add(Blocked{
			Group: group, Topic: w.Topic, Queue: int(w.Queue), Offset: w.Offset, Key: w.Key, Attempts: int(w.Attempts),
			Owner: m.ClientID, Member: info.UserConsumerInfo[body.InfoMember], Since: fromMillis(w.Since), Why: w.Why,
			Next: fromMillis(w.Next), Behind: int64(w.Behind),
		})
	}
}

// stock tells of the queues in which a client of RocketMQ has messages and
// finishes none.
func (b *blockedOn) stock(group string, m Member, info *body.ConsumerRunningInfo, stats *body.ConsumeStats) {
	for q, p := range info.Queues {
		last := fromMillis(p.LastConsumeTimestamp)
		if q.BrokerName != b.m.name || p.CachedMsgCount == 0 || time.Since(last) < longIdle {
			continue
		}
		b.add(Blocked{
			Group: group, Topic: q.Topic, Queue: int(q.QueueID), Offset: stats.OffsetTable[q].ConsumerOffset, Owner: m.ClientID,
			Since: last, Behind: int64(p.CachedMsgCount) - 1, Why: "a client of RocketMQ has messages of the queue and finishes none",
		})
	}
}

var errNotThere = errors.New("the member is not connected")

// memberLink finds a member among those connected to m.
func (c *Client) memberLink(ctx context.Context, group, clientID string, m master) (Member, error) {
	info := GroupInfo{Group: Group{Name: group}}
	if err := c.addMembers(ctx, &info, m); err != nil {
		return Member{}, err
	}
	i := slices.IndexFunc(info.Members, func(have Member) bool { return have.ClientID == clientID })
	if i < 0 {
		return Member{}, errNotThere
	}
	return info.Members[i], nil
}
