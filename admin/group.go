// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// CreateGroup creates a consumer group on every broker, or changes one to what
// g says; settings that g has no field for stay as they are.
func (c *Client) CreateGroup(ctx context.Context, g Group) error {
	if err := msg.CheckGroup(g.Name); err != nil {
		return fmt.Errorf("admin: create group: %w", err)
	}
	if err := g.Policy.Check(); err != nil {
		return fmt.Errorf("admin: create group %s: %w", g.Name, err)
	}
	return c.each(ctx, func(m master) error {
		all, err := c.groupsOf(ctx, m)
		if err != nil {
			return err
		}
		cfg, ok := all[g.Name]
		if !ok {
			cfg = body.NewSubscriptionGroupConfig(g.Name)
		}
		fresh := body.NewSubscriptionGroupConfig(g.Name)
		cfg.RetryMaxTimes = int32(cmp.Or(g.RetryMax, int(fresh.RetryMaxTimes)))
		cfg.RetryQueueNums = int32(cmp.Or(g.RetryQueues, int(fresh.RetryQueueNums)))
		if g.Ordered != orderedGroup(&cfg) {
			cfg.ConsumeMessageOrderly = g.Ordered
		}
		cfg.Attributes = g.Policy.attributes(cfg.Attributes)
		_, err = c.call(ctx, m.addr, wire.ReqUpdateAndCreateSubscriptionGroup, nil, cfg.Encode())
		return err
	})
}

// DeleteGroup deletes a group and all its positions.
func (c *Client) DeleteGroup(ctx context.Context, name string) error {
	return c.each(ctx, func(m master) error {
		_, err := c.call(ctx, m.addr, wire.ReqDeleteSubscriptionGroup, &header.DeleteSubscriptionGroup{GroupName: name, CleanOffset: true}, nil)
		return err
	})
}

// Groups lists the users' groups by name.
func (c *Client) Groups(ctx context.Context) ([]Group, error) {
	byName, err := c.groups(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Group, 0, len(byName))
	for _, g := range byName {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

func (c *Client) groups(ctx context.Context) (map[string]Group, error) {
	byName := map[string]Group{}
	return byName, c.each(ctx, func(m master) error {
		all, err := c.groupsOf(ctx, m)
		if err != nil {
			return err
		}
		for name, g := range all {
			if !msg.IsSystemGroup(name) {
				byName[name] = Group{
					Name: name, RetryMax: int(g.RetryMaxTimes), RetryQueues: int(g.RetryQueueNums),
					Ordered: orderedGroup(&g),
					Policy:  policyFrom(g.Attributes),
				}
			}
		}
		return nil
	})
}

func orderedGroup(g *body.SubscriptionGroupConfig) bool {
	return g.ConsumeMessageOrderly || g.Attributes[header.AttrOrdered] == "true"
}

// groupsOf returns the groups of one broker as it tells them.
func (c *Client) groupsOf(ctx context.Context, m master) (map[string]body.SubscriptionGroupConfig, error) {
	resp, err := c.call(ctx, m.addr, wire.ReqGetAllSubscriptionGroupConfig, nil, nil)
	if err != nil {
		return nil, err
	}
	var all body.SubscriptionGroupWrapper
	if err := all.Decode(resp.Body); err != nil {
		return nil, fmt.Errorf("admin: groups of %s: %w", m.name, err)
	}
	return all.Groups, nil
}

// Group tells of one group: its members, and how far it has come.
func (c *Client) Group(ctx context.Context, name string) (GroupInfo, error) {
	all, err := c.groups(ctx)
	if err != nil {
		return GroupInfo{}, err
	}
	g, ok := all[name]
	if !ok {
		return GroupInfo{}, fmt.Errorf("%w: %s", ErrGroupNotFound, name)
	}
	info := GroupInfo{Group: g, Members: []Member{}, Queues: []Position{}, Refused: []RefusedCommit{}}
	err = c.each(ctx, func(m master) error {
		if err := c.addMembers(ctx, &info, m); err != nil {
			return err
		}
		return c.addPositions(ctx, &info, m)
	})
	slices.SortFunc(info.Members, func(a, b Member) int { return cmp.Compare(a.ClientID, b.ClientID) })
	slices.SortFunc(info.Queues, func(a, b Position) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.ID, b.ID))
	})
	return info, err
}

// addMembers adds the members that m knows and another broker has not told.
func (c *Client) addMembers(ctx context.Context, info *GroupInfo, m master) error {
	resp, err := c.call(ctx, m.addr, wire.ReqGetConsumerConnectionList, &header.GetConsumerConnectionList{ConsumerGroup: info.Name}, nil)
	if refused(err, wire.ConsumerNotOnline) {
		return nil
	}
	if err != nil {
		return err
	}
	var list body.ConsumerConnection
	if err := list.Decode(resp.Body); err != nil {
		return fmt.Errorf("admin: members of %s: %w", info.Name, err)
	}
	for _, conn := range list.Connections {
		if !slices.ContainsFunc(info.Members, func(have Member) bool { return have.ClientID == conn.ClientID }) {
			info.Members = append(info.Members, Member{
				ClientID: conn.ClientID, Addr: conn.ClientAddr, Language: conn.Language.String(), Version: wire.VersionName(conn.Version),
			})
		}
	}
	return nil
}

func (c *Client) addPositions(ctx context.Context, info *GroupInfo, m master) error {
	stats, err := c.consumeStats(ctx, info.Name, "", m)
	if err != nil {
		return err
	}
	leases := map[body.MessageQueue]*Lease{}
	for _, h := range stats.Holders {
		leases[body.MessageQueue{Topic: h.Topic, BrokerName: m.name, QueueID: h.QueueID}] = &Lease{
			Holder: h.Holder, Ours: h.Ours, Epoch: h.Epoch, State: h.Why, Reset: h.Reset, Waiting: int(h.Waiting), Waiters: h.Waiters,
			Since: fromMillis(h.Since), Until: fromMillis(h.Until),
		}
	}
	lags := map[body.MessageQueue]body.QueueLag{}
	for _, l := range stats.Lags {
		lags[body.MessageQueue{Topic: l.Topic, BrokerName: m.name, QueueID: l.QueueID}] = l
	}
	for q, o := range stats.OffsetTable {
		p := Position{
			Topic: q.Topic, Broker: q.BrokerName, ID: int(q.QueueID),
			Committed: o.ConsumerOffset, Max: o.BrokerOffset, Lag: o.BrokerOffset - o.ConsumerOffset,
			LastConsumed: fromMillis(o.LastTimestamp), Lease: leases[q],
		}
		if l, told := lags[q]; told {
			p.Lag, p.LagEstimated, p.Delay = l.Messages, !l.Exact, time.Duration(l.Delay)*time.Millisecond
		}
		if q.Topic == retryTopic(info.Name) && p.Lag == 0 {
			continue // shown only if messages wait in it to come again
		}
		info.Queues = append(info.Queues, p)
	}
	for _, r := range stats.Refused {
		info.Refused = append(info.Refused, RefusedCommit{
			Topic: r.Topic, Broker: m.name, ID: int(r.QueueID), Client: r.Client, Host: r.Host, Why: r.Why,
			Offset: r.Offset, Committed: r.Position, Count: r.Count, First: fromMillis(r.First), Last: fromMillis(r.Last),
		})
	}
	return nil
}

func retryTopic(group string) string { return "%RETRY%" + group }

// consumeStats asks a broker how far a group is, in one topic or in all.
func (c *Client) consumeStats(ctx context.Context, group, topic string, m master) (*body.ConsumeStats, error) {
	h := &header.GetConsumeStats{ConsumerGroup: group, Topic: topic}
	resp, err := c.call(ctx, m.addr, wire.ReqGetConsumeStats, withHolders{h}, nil)
	if err != nil {
		return nil, err
	}
	var stats body.ConsumeStats
	if err := stats.Decode(resp.Body); err != nil {
		return nil, fmt.Errorf("admin: positions of %s: %w", group, err)
	}
	return &stats, nil
}

// withHolders asks for what only Orderly tells, too.
type withHolders struct{ *header.GetConsumeStats }

func (h withHolders) Encode(f *wire.Fields) {
	h.GetConsumeStats.Encode(f)
	f.Add(header.ExtHolders, "1")
}
