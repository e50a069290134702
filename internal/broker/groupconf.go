// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// Bounds of a group's back-off.
const (
	maxBackoffs  = 64
	maxBackoffMs = 24 * 3600 * 1000
)

// groupBody is a group as it is told to others. Our own settings travel as
// attributes, those that are not the default.
func groupBody(g *meta.Group) body.SubscriptionGroupConfig {
	attrs := maps.Clone(g.Attributes)
	if attrs == nil {
		attrs = map[string]string{}
	}
	set := func(key, value string, unless bool) {
		if !unless {
			attrs[key] = value
		}
	}
	set(header.AttrOrdered, "true", !g.Ordered)
	set(header.AttrGraceMs, strconv.Itoa(int(g.GraceMs)), g.GraceMs == 0)
	set(header.AttrLeaseMs, strconv.Itoa(int(g.LeaseMs)), g.LeaseMs == 0)
	set(header.AttrStockFastRelease, "true", !g.StockFastRelease)
	set(header.AttrMaxAttempts, strconv.Itoa(int(g.MaxAttempts)), g.MaxAttempts == 0)
	set(header.AttrBackoffMs, joinInts(g.BackoffMs), len(g.BackoffMs) == 0)
	set(header.AttrPoison, g.Poison.String(), g.Poison == meta.PoisonBlock)
	set(header.AttrMaxHandlerMs, strconv.FormatInt(g.MaxHandlerMs, 10), g.MaxHandlerMs == 0)
	set(header.AttrOverrun, g.Overrun.String(), g.Overrun == meta.OverrunKeep)
	c := body.SubscriptionGroupConfig{
		GroupName: g.Name, ConsumeEnable: g.ConsumeEnable, ConsumeFromMinEnable: g.ConsumeFromMinEnable,
		ConsumeBroadcastEnable: g.ConsumeBroadcastEnable, ConsumeMessageOrderly: g.ConsumeMessageOrderly,
		RetryQueueNums: g.RetryQueueNums, RetryMaxTimes: g.RetryMaxTimes, BrokerID: g.BrokerID,
		WhichBrokerWhenConsumeSlowly:   g.WhichBrokerWhenConsumeSlowly,
		NotifyConsumerIDsChangedEnable: g.NotifyConsumerIDsChangedEnable, GroupSysFlag: g.GroupSysFlag,
		ConsumeTimeoutMinute: g.ConsumeTimeoutMinute, Attributes: attrs, RetryPolicy: policyBody(&g.RetryPolicy),
	}
	for _, s := range g.Subscriptions {
		c.Subscriptions = append(c.Subscriptions, body.SimpleSubscription(s))
	}
	return c
}

func policyBody(p *meta.RetryPolicy) body.GroupRetryPolicy {
	if p.Exponential {
		return body.GroupRetryPolicy{Type: "EXPONENTIAL", Exponential: &body.ExponentialRetry{Initial: p.InitialMs, Max: p.MaxMs, Multiplier: p.Multiplier}}
	}
	return body.GroupRetryPolicy{Type: "CUSTOMIZED", Next: p.NextMs}
}

// groupFrom reads a group as somebody wants it; what only we know and the
// request does not name stays as in old, which is nil for a new group.
func groupFrom(c *body.SubscriptionGroupConfig, old *meta.Group) (meta.Group, error) {
	g := meta.DefaultGroup(c.GroupName)
	if old != nil {
		g = *old
	}
	g.ConsumeEnable, g.ConsumeFromMinEnable = c.ConsumeEnable, c.ConsumeFromMinEnable
	g.ConsumeBroadcastEnable, g.ConsumeMessageOrderly = c.ConsumeBroadcastEnable, c.ConsumeMessageOrderly
	g.RetryQueueNums, g.RetryMaxTimes, g.BrokerID = c.RetryQueueNums, c.RetryMaxTimes, c.BrokerID
	g.WhichBrokerWhenConsumeSlowly = c.WhichBrokerWhenConsumeSlowly
	g.NotifyConsumerIDsChangedEnable, g.GroupSysFlag = c.NotifyConsumerIDsChangedEnable, c.GroupSysFlag
	g.ConsumeTimeoutMinute = c.ConsumeTimeoutMinute
	g.RetryPolicy = meta.RetryPolicy{NextMs: c.RetryPolicy.Next}
	if e := c.RetryPolicy.Exponential; e != nil && c.RetryPolicy.Type == "EXPONENTIAL" {
		g.RetryPolicy = meta.RetryPolicy{Exponential: true, InitialMs: e.Initial, MaxMs: e.Max, Multiplier: e.Multiplier}
	}
	g.Subscriptions = nil
	for _, s := range c.Subscriptions {
		g.Subscriptions = append(g.Subscriptions, meta.Subscription(s))
	}
	if c.RetryQueueNums < 0 || c.RetryQueueNums > 1024 {
		return g, fmt.Errorf("retryQueueNums %d of group %s: 0 to 1024 are possible", c.RetryQueueNums, c.GroupName)
	}
	g.Attributes = map[string]string{}
	for key, value := range c.Attributes {
		name := strings.TrimLeft(key, "+-")
		if strings.HasPrefix(key, "-") {
			value = ""
		}
		if err := groupAttr(&g, name, value); err != nil {
			return g, fmt.Errorf("group %s: %w", c.GroupName, err)
		}
	}
	if lease := time.Duration(g.LeaseMs) * time.Millisecond; lease != 0 && lease < 2*g.Grace() {
		return g, fmt.Errorf("group %s: a lease time of %v is less than twice the grace of %v", c.GroupName, lease, g.Grace())
	}
	return g, nil
}

// groupAttr sets one attribute; without a value it becomes what it is by
// default. Keys that are not ours are kept as they are.
func groupAttr(g *meta.Group, key, value string) error {
	ok := true
	if value == "" {
		clearAttr(g, key)
		return nil
	}
	switch key {
	case header.AttrOrdered:
		g.Ordered, ok = value == "true", value == "true" || value == "false"
	case header.AttrStockFastRelease:
		g.StockFastRelease, ok = value == "true", value == "true" || value == "false"
	case header.AttrGraceMs:
		g.GraceMs, ok = parseNumber(value, 250, 60_000)
	case header.AttrLeaseMs:
		g.LeaseMs, ok = parseNumber(value, 500, 3_600_000)
	case header.AttrMaxAttempts:
		g.MaxAttempts, ok = parseNumber(value, 0, 1<<30)
	case header.AttrMaxHandlerMs:
		var ms int32
		ms, ok = parseNumber(value, 0, 1<<30)
		g.MaxHandlerMs = int64(ms)
	case header.AttrBackoffMs:
		g.BackoffMs, ok = splitInts(value)
	case header.AttrPoison:
		g.Poison, ok = meta.ParsePoisonPolicy(value)
	case header.AttrOverrun:
		g.Overrun, ok = meta.ParseOverrunPolicy(value)
	default:
		g.Attributes[key] = value
	}
	if !ok {
		return fmt.Errorf("value %.64q of attribute %s is not possible", value, key)
	}
	return nil
}

func clearAttr(g *meta.Group, key string) {
	switch key {
	case header.AttrOrdered:
		g.Ordered = false
	case header.AttrStockFastRelease:
		g.StockFastRelease = false
	case header.AttrGraceMs:
		g.GraceMs = 0
	case header.AttrLeaseMs:
		g.LeaseMs = 0
	case header.AttrMaxAttempts:
		g.MaxAttempts = 0
	case header.AttrMaxHandlerMs:
		g.MaxHandlerMs = 0
	case header.AttrBackoffMs:
		g.BackoffMs = nil
	case header.AttrPoison:
		g.Poison = meta.PoisonBlock
	case header.AttrOverrun:
		g.Overrun = meta.OverrunKeep
	default:
		delete(g.Attributes, key)
	}
}

func parseNumber(text string, low, high int32) (int32, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), err == nil && int32(n) >= low && int32(n) <= high
}

func joinInts(list []int32) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.Itoa(int(n))
	}
	return strings.Join(texts, ",")
}

func splitInts(text string) ([]int32, bool) {
	var list []int32
	for item := range strings.SplitSeq(text, ",") {
		n, ok := parseNumber(strings.TrimSpace(item), 0, maxBackoffMs)
		if !ok || len(list) == maxBackoffs {
			return nil, false
		}
		list = append(list, n)
	}
	return list, true
}
