// SPDX-License-Identifier: Apache-2.0

package meta

import "time"

// Group is the configuration of one consumer group: RocketMQ's fields, and
// ours for ordered consumption. A Group in a View is read-only.
type Group struct {
	Name string

	ConsumeEnable                  bool
	ConsumeFromMinEnable           bool
	ConsumeBroadcastEnable         bool
	ConsumeMessageOrderly          bool
	RetryQueueNums                 int32
	RetryMaxTimes                  int32
	RetryPolicy                    RetryPolicy
	BrokerID                       int64
	WhichBrokerWhenConsumeSlowly   int64
	NotifyConsumerIDsChangedEnable bool
	GroupSysFlag                   int32
	ConsumeTimeoutMinute           int32
	Subscriptions                  []Subscription
	Attributes                     map[string]string
	// Forbidden bits per topic; bit 0 set means the group may not read it.
	Forbidden map[string]int32

	// Ordered says that the rules of an ordered topic hold for the group.
	Ordered bool
	// GraceMs is the grace G in milliseconds, 250 to 60,000; 0 means 1,000.
	GraceMs int32
	// LeaseMs is the lease time L; 0 means the larger of 10 s and 2 G.
	LeaseMs int32
	// StockFastRelease frees a stock client's queues 5 s after its link closed.
	StockFastRelease bool
	// MaxAttempts ends retrying in place; 0 means without end.
	MaxAttempts int32
	// BackoffMs are the pauses before attempts 2, 3, ...; the last one repeats.
	BackoffMs []int32
	// Poison says what happens after MaxAttempts.
	Poison PoisonPolicy
	// MaxHandlerMs is max_handler_time; 0 means without end.
	MaxHandlerMs int64
	// Overrun says what happens to a queue whose handler ran longer.
	Overrun OverrunPolicy
}

// Limits and defaults of a group's times.
const (
	MinGrace     = 250 * time.Millisecond
	MaxGrace     = 60 * time.Second
	DefaultGrace = time.Second
	DefaultLease = 10 * time.Second
)

// DefaultGroup is the configuration RocketMQ gives a group nobody configured.
func DefaultGroup(name string) Group {
	return Group{
		Name:                           name,
		ConsumeEnable:                  true,
		ConsumeFromMinEnable:           true,
		ConsumeBroadcastEnable:         true,
		RetryQueueNums:                 1,
		RetryMaxTimes:                  16,
		WhichBrokerWhenConsumeSlowly:   1,
		NotifyConsumerIDsChangedEnable: true,
		ConsumeTimeoutMinute:           15,
	}
}

// Grace is the group's grace G.
func (g *Group) Grace() time.Duration {
	if g.GraceMs == 0 {
		return DefaultGrace
	}
	return min(max(time.Duration(g.GraceMs)*time.Millisecond, MinGrace), MaxGrace)
}

// Lease is the group's lease time L, at least 2 G.
func (g *Group) Lease() time.Duration {
	l := time.Duration(g.LeaseMs) * time.Millisecond
	if g.LeaseMs == 0 {
		l = DefaultLease
	}
	return max(l, 2*g.Grace())
}

// RetryPolicy is RocketMQ's groupRetryPolicy.
type RetryPolicy struct {
	Exponential bool
	NextMs      []int64 // customised: the steps; nil means RocketMQ's ladder
	InitialMs   int64   // exponential
	MaxMs       int64
	Multiplier  int64
}

// Subscription is one entry of RocketMQ's subscriptionDataSet.
type Subscription struct {
	Topic, ExpressionType, Expression string
	Version                           int64
}

// PoisonPolicy says what happens to a message whose attempts are used up.
type PoisonPolicy uint8

// The poison policies.
const (
	PoisonBlock      PoisonPolicy = iota // go on trying: nothing behind it moves
	PoisonDeadLetter                     // copy it to the dead-letter topic and go on
	PoisonPark                           // set its key aside, go on with the others
)

func (p PoisonPolicy) String() string {
	switch p {
	case PoisonDeadLetter:
		return "dead-letter"
	case PoisonPark:
		return "park"
	default:
		return "block"
	}
}

// ParsePoisonPolicy reads the name of a poison policy; "" is the default.
func ParsePoisonPolicy(s string) (PoisonPolicy, bool) {
	for _, p := range []PoisonPolicy{PoisonBlock, PoisonDeadLetter, PoisonPark} {
		if s == p.String() {
			return p, true
		}
	}
	return PoisonBlock, s == ""
}

// OverrunPolicy says what happens after max_handler_time.
type OverrunPolicy uint8

// The overrun policies.
const (
	OverrunKeep    OverrunPolicy = iota // wait for the handler
	OverrunRelease                      // give the queue away; calls may overlap
)

func (o OverrunPolicy) String() string {
	if o == OverrunRelease {
		return "release"
	}
	return "keep"
}

// ParseOverrunPolicy reads the name of an overrun policy; "" is the default.
func ParseOverrunPolicy(s string) (OverrunPolicy, bool) {
	switch s {
	case "release":
		return OverrunRelease, true
	case "keep", "":
		return OverrunKeep, true
	}
	return OverrunKeep, false
}
