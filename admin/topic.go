// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// permReadWrite is the permission that topics are created with.
const permReadWrite = 6

// CreateTopic creates a topic, or changes one to what t says, and returns when
// the name servers know it. An ordered topic that has another number of queues
// or another lane function is left as it is, because its keys would move, and
// so is one that is to be plain.
func (c *Client) CreateTopic(ctx context.Context, t Topic) error {
	t, err := c.checkTopic(t)
	if err != nil {
		return err
	}
	if err := c.checkExisting(ctx, t); err != nil {
		return err
	}
	targets, err := c.targets(ctx, t)
	if err != nil {
		return err
	}
	h := &header.CreateTopic{
		Topic: t.Name, DefaultTopic: "TBW102",
		ReadQueueNums: int32(t.Queues), WriteQueueNums: int32(t.Queues),
		Perm: permReadWrite, TopicFilterType: "SINGLE_TAG",
		Order: t.Ordered, Attributes: attributes(t),
	}
	for _, m := range targets {
		if _, err := c.call(ctx, m.addr, wire.ReqUpdateAndCreateTopic, h, nil); err != nil {
			return err
		}
	}
	return c.awaitRoute(ctx, t, targets)
}

func (c *Client) checkTopic(t Topic) (Topic, error) {
	t.Queues = cmp.Or(t.Queues, 8)
	if err := msg.CheckTopic(t.Name); err != nil {
		return t, fmt.Errorf("admin: create topic: %w", err)
	}
	if t.Queues < 1 || t.Queues > 65535 {
		return t, fmt.Errorf("admin: create topic %s: %d queues: use 1 to 65535", t.Name, t.Queues)
	}
	switch t.LaneFunction {
	case "", "orderly", "java-string", "go-fnv":
	default:
		return t, fmt.Errorf("admin: create topic %s: lane function %q: use orderly, java-string or go-fnv", t.Name, t.LaneFunction)
	}
	if t.LaneFunction != "" && !t.Ordered {
		return t, fmt.Errorf("admin: create topic %s: only an ordered topic has a lane function", t.Name)
	}
	return t, nil
}

// checkExisting refuses what would take the order from an ordered topic.
func (c *Client) checkExisting(ctx context.Context, t Topic) error {
	old, err := c.Topic(ctx, t.Name)
	if errors.Is(err, ErrTopicNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case !old.Ordered:
		return nil
	case !t.Ordered:
		return fmt.Errorf("admin: create topic %s: it is there and ordered; a plain topic needs another name", t.Name)
	case old.Queues != t.Queues:
		return fmt.Errorf("admin: create topic %s: it is ordered and has %d queues; with %d its keys would move to other queues", t.Name, old.Queues, t.Queues)
	case t.LaneFunction != "" && t.LaneFunction != cmp.Or(old.LaneFunction, "orderly"):
		return fmt.Errorf("admin: create topic %s: its lane function is %s; with %s its keys would move to other queues", t.Name, cmp.Or(old.LaneFunction, "orderly"), t.LaneFunction)
	}
	return nil
}

// attributes says what we add to RocketMQ's topic settings, in its notation.
func attributes(t Topic) string {
	if !t.Ordered {
		return ""
	}
	list := []string{"+" + header.AttrMessageType + "=FIFO"}
	if t.LaneFunction != "" {
		list = append(list, "+"+header.AttrLaneFunction+"="+t.LaneFunction)
	}
	return strings.Join(list, ",")
}

// targets are the brokers to create t on: an ordered topic lives on one.
func (c *Client) targets(ctx context.Context, t Topic) ([]master, error) {
	ms, err := c.masters(ctx)
	if err != nil {
		return nil, err
	}
	if t.Broker != "" {
		i := slices.IndexFunc(ms, func(m master) bool { return m.name == t.Broker })
		if i < 0 {
			return nil, fmt.Errorf("admin: create topic %s on %s: %w", t.Name, t.Broker, ErrNoBroker)
		}
		return ms[i : i+1], nil
	}
	if t.Ordered {
		return ms[:1], nil
	}
	return ms, nil
}

// awaitRoute returns when the name servers show the topic as it was created.
func (c *Client) awaitRoute(ctx context.Context, t Topic, on []master) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := c.route(ctx, t.Name)
		if err == nil && shows(r, t, on) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("admin: topic %s was created, but the name server does not show it: %w", t.Name, errors.Join(err, ctx.Err()))
		}
	}
}

func shows(r *body.TopicRouteData, t Topic, on []master) bool {
	for _, m := range on {
		if !slices.ContainsFunc(r.Queues, func(q body.QueueData) bool {
			return q.BrokerName == m.name && int(q.WriteQueueNums) == t.Queues
		}) {
			return false
		}
	}
	return true
}

func (c *Client) route(ctx context.Context, topic string) (*body.TopicRouteData, error) {
	resp, err := c.ask(ctx, wire.ReqGetRouteInfoByTopic, &header.GetRouteInfo{Topic: topic})
	if refused(err, wire.TopicNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrTopicNotFound, topic)
	}
	if err != nil {
		return nil, err
	}
	var r body.TopicRouteData
	if err := r.Decode(resp.Body); err != nil {
		return nil, fmt.Errorf("admin: route of %s: %w", topic, err)
	}
	return &r, nil
}

// DeleteTopic deletes a topic, its messages and all positions in it.
func (c *Client) DeleteTopic(ctx context.Context, name string) error {
	r, err := c.route(ctx, name)
	if err != nil {
		return err
	}
	h := &header.DeleteTopic{Topic: name}
	for _, b := range r.Brokers {
		if addr, ok := b.BrokerAddrs[0]; ok {
			if _, err := c.call(ctx, addr, wire.ReqDeleteTopicInBroker, h, nil); err != nil {
				return err
			}
		}
	}
	return c.forgetTopic(ctx, h)
}

// forgetTopic tells the name servers. One is enough: those that do not answer
// hear it from the broker, or know nothing when they start again.
func (c *Client) forgetTopic(ctx context.Context, h *header.DeleteTopic) error {
	var failed []error
	for _, addr := range c.servers {
		if _, err := c.call(ctx, addr, wire.ReqDeleteTopicInNamesrv, h, nil); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) < len(c.servers) {
		return nil
	}
	return errors.Join(failed...)
}

// Topics lists the users' topics by name, without the system's own and the
// retry and dead-letter topics of groups.
func (c *Client) Topics(ctx context.Context) ([]Topic, error) {
	byName := map[string]Topic{}
	err := c.each(ctx, func(m master) error {
		resp, err := c.call(ctx, m.addr, wire.ReqGetAllTopicConfig, nil, nil)
		if err != nil {
			return err
		}
		var all body.TopicConfigSerializeWrapper
		if err := all.Decode(resp.Body); err != nil {
			return fmt.Errorf("admin: topics of %s: %w", m.name, err)
		}
		for name, t := range all.Topics {
			if !isSystemTopic(name, m.name) {
				byName[name] = fromConfig(name, t)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	topics := make([]Topic, 0, len(byName))
	for _, t := range byName {
		topics = append(topics, t)
	}
	slices.SortFunc(topics, func(a, b Topic) int { return cmp.Compare(a.Name, b.Name) })
	return topics, nil
}

func fromConfig(name string, t body.TopicConfig) Topic {
	return Topic{
		Name: name, Queues: int(t.WriteQueueNums),
		Ordered:      t.Order || t.Attributes[header.AttrMessageType] == "FIFO",
		LaneFunction: t.Attributes[header.AttrLaneFunction],
	}
}

// isSystemTopic knows the topics that a broker makes for itself and for groups.
func isSystemTopic(name, broker string) bool {
	return msg.IsSystemTopic(name) || strings.HasPrefix(name, "%RETRY%") || strings.HasPrefix(name, "%DLQ%") ||
		strings.HasSuffix(name, "_REPLY_TOPIC") || name == broker || name == "DefaultCluster"
}

// Topic tells of one topic.
func (c *Client) Topic(ctx context.Context, name string) (TopicInfo, error) {
	r, err := c.route(ctx, name)
	if err != nil {
		return TopicInfo{}, err
	}
	info := TopicInfo{Topic: Topic{Name: name}}
	for _, b := range r.Brokers {
		addr, ok := b.BrokerAddrs[0]
		if !ok {
			continue
		}
		if err := c.addTopicOf(ctx, &info, addr); err != nil {
			return info, err
		}
	}
	slices.SortFunc(info.QueueList, func(a, b QueueInfo) int {
		return cmp.Or(cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.ID, b.ID))
	})
	return info, nil
}

// addTopicOf adds what one broker knows of the topic.
func (c *Client) addTopicOf(ctx context.Context, info *TopicInfo, addr string) error {
	resp, err := c.call(ctx, addr, wire.ReqGetTopicConfig, &header.GetTopicConfig{Topic: info.Name}, nil)
	if refused(err, wire.TopicNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var t body.TopicConfig
	if err := t.Decode(resp.Body); err != nil {
		return fmt.Errorf("admin: topic %s: %w", info.Name, err)
	}
	info.Topic = fromConfig(info.Name, t)
	info.Perm = permString(t.Perm)
	resp, err = c.call(ctx, addr, wire.ReqGetTopicStatsInfo, &header.GetTopicStatsInfo{Topic: info.Name}, nil)
	if err != nil {
		return err
	}
	var stats body.TopicStatsTable
	if err := stats.Decode(resp.Body); err != nil {
		return fmt.Errorf("admin: queues of %s: %w", info.Name, err)
	}
	for q, o := range stats.OffsetTable {
		info.QueueList = append(info.QueueList, QueueInfo{
			Broker: q.BrokerName, ID: int(q.QueueID), Min: o.MinOffset, Max: o.MaxOffset, LastStored: fromMillis(o.LastUpdateTimestamp),
		})
	}
	return nil
}

// permString shows the permission bits the way mqadmin does.
func permString(perm int32) string {
	s := ""
	if perm&4 != 0 {
		s += "R"
	}
	if perm&2 != 0 {
		s += "W"
	}
	return cmp.Or(s, "-")
}

func fromMillis(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
