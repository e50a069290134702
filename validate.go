// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
)

// faults collects everything that is wrong with a configuration, so that a
// user mends it in one go.
type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

func (f *faults) check(field string, err error) {
	if err != nil {
		f.add("%s: %v", field, err)
	}
}

// within adds a fault unless v lies between low and high.
func (f *faults) within(field string, v, low, high int) {
	if v < low || v > high {
		f.add("%s: %d is not within %d and %d", field, v, low, high)
	}
}

func (f *faults) notNegative(field string, d time.Duration) {
	if d < 0 {
		f.add("%s: %v is negative", field, d)
	}
}

func (f faults) err(what string) error {
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("%w %s: %s", ErrInvalid, what, strings.Join(f, "; "))
}

// or is v, or def if v is zero.
func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// complete returns c with its defaults filled in, or what is wrong with it.
func (c Config) complete() (Config, error) {
	var f faults
	var names []string
	for _, entry := range c.NameServers {
		for _, addr := range strings.Split(entry, ";") {
			if addr = strings.TrimSpace(addr); addr != "" {
				names = append(names, addr)
			}
		}
	}
	if len(names) == 0 {
		f.add("NameServers: name at least one, as host:port")
	}
	for _, addr := range names {
		if !strings.Contains(addr, ":") {
			f.add("NameServers: %q has no port", addr)
		}
	}
	f.notNegative("RequestTimeout", c.RequestTimeout)
	f.notNegative("RouteRefresh", c.RouteRefresh)
	f.notNegative("Heartbeat", c.Heartbeat)
	c.NameServers = names
	c.RequestTimeout = or(c.RequestTimeout, 3*time.Second)
	c.RouteRefresh = or(c.RouteRefresh, 30*time.Second)
	c.Heartbeat = or(c.Heartbeat, 30*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, f.err("client configuration")
}

// complete returns c with its defaults filled in, or what is wrong with it.
func (c ProducerConfig) complete(request time.Duration) (ProducerConfig, error) {
	var f faults
	c.Group = or(c.Group, "orderly-producer")
	c.DeliveryTimeout = or(c.DeliveryTimeout, 2*time.Minute)
	c.AttemptTimeout = or(c.AttemptTimeout, request)
	c.MaxStoppedKeys = or(c.MaxStoppedKeys, 10_000)
	c.MaxPending = or(c.MaxPending, 10_000)
	c.MaxPendingBytes = or(c.MaxPendingBytes, 64<<20)
	c.MaxMessageSize = or(c.MaxMessageSize, 4<<20)
	c.CompressAbove = or(c.CompressAbove, 4096)
	f.check("Group", msg.CheckGroup(c.Group))
	f.notNegative("DeliveryTimeout", c.DeliveryTimeout)
	f.notNegative("AttemptTimeout", c.AttemptTimeout)
	f.within("MaxStoppedKeys", c.MaxStoppedKeys, 1, 1<<30)
	f.within("MaxPending", c.MaxPending, 1, 1<<30)
	f.within("MaxPendingBytes", c.MaxPendingBytes, 1, math.MaxInt)
	f.within("MaxMessageSize", c.MaxMessageSize, 1, 15<<20)
	switch c.Lane {
	case LaneOfTopic, LaneOrderly, LaneJavaString, LaneGoFNV:
	default:
		f.add("Lane: %q is none of %q, %q, %q", c.Lane, LaneOrderly, LaneJavaString, LaneGoFNV)
	}
	for topic, queues := range c.Queues {
		if len(queues) == 0 {
			f.add("Queues: no queue for topic %s", topic)
		}
		for _, q := range queues {
			if q.Topic != topic {
				f.add("Queues: %v is not of topic %s", q, topic)
			}
		}
	}
	return c, f.err("producer configuration")
}

// complete returns c with its defaults filled in, or what is wrong with it.
func (c ConsumerConfig) complete() (ConsumerConfig, error) {
	var f faults
	f.check("Topic", msg.CheckTopic(c.Topic))
	return c.fill(f)
}

// fill is complete for a consumer that says its topics later.
func (c ConsumerConfig) fill(f faults) (ConsumerConfig, error) {
	f.check("Group", msg.CheckGroup(c.Group))
	c.Strategy = or(c.Strategy, StrategySticky)
	c.Concurrency = or(c.Concurrency, 20)
	c.MaxBatch = or(c.MaxBatch, 1)
	c.HandlerTimeout = or(c.HandlerTimeout, 15*time.Minute)
	c.CloseTimeout = or(c.CloseTimeout, 30*time.Second)
	c.PullBatch = or(c.PullBatch, 32)
	c.MaxCached = or(c.MaxCached, 1000)
	c.MaxCachedBytes = or(c.MaxCachedBytes, 100<<20)
	if c.Backoff == nil {
		c.Backoff = func(int) time.Duration { return time.Second }
	}
	f.within("Concurrency", c.Concurrency, 1, 1<<20)
	f.within("MaxBatch", c.MaxBatch, 1, 1024)
	f.within("PullBatch", c.PullBatch, 1, 1024)
	f.within("MaxCached", c.MaxCached, 1, 65535)
	f.within("MaxCachedBytes", c.MaxCachedBytes, 1, 1<<30)
	f.within("MaxAttempts", c.MaxAttempts, 0, 1<<30)
	f.notNegative("CloseTimeout", c.CloseTimeout)
	f.notNegative("PullInterval", c.PullInterval)
	f.notNegative("CommitInterval", c.CommitInterval)
	if c.Order < ByQueue || c.Order > Unordered {
		f.add("Order: %d is none of ByQueue, ByKey, Unordered", c.Order)
	}
	if c.KeyOf != nil && c.Order != ByKey {
		f.add("KeyOf: it is for Order: ByKey")
	}
	switch c.Strategy {
	case StrategySticky, StrategyAverage, StrategyCircle, StrategyConsistentHash:
	default:
		f.add("Strategy: %q is not known", c.Strategy)
	}
	if c.MemberName != "" {
		f.check("MemberName", msg.CheckGroup(c.MemberName))
	}
	return c, f.err("consumer configuration")
}
