// SPDX-License-Identifier: Apache-2.0

package body

// SubscriptionGroupConfig is a consumer group: the body of
// UPDATE_AND_CREATE_SUBSCRIPTIONGROUP 200, A to B, and the answer to 352. Java:
// SubscriptionGroupConfig. NewSubscriptionGroupConfig has the class's defaults.
type SubscriptionGroupConfig struct {
	GroupName                      string
	ConsumeEnable                  bool
	ConsumeFromMinEnable           bool
	ConsumeBroadcastEnable         bool
	ConsumeMessageOrderly          bool
	RetryQueueNums                 int32
	RetryMaxTimes                  int32
	RetryPolicy                    GroupRetryPolicy
	BrokerID                       int64
	WhichBrokerWhenConsumeSlowly   int64
	NotifyConsumerIDsChangedEnable bool
	GroupSysFlag                   int32
	ConsumeTimeoutMinute           int32
	Subscriptions                  []SimpleSubscription // nil is absent
	Attributes                     map[string]string
}

// GroupRetryPolicy says when a failed message comes again.
type GroupRetryPolicy struct {
	Type        string            // CUSTOMIZED or EXPONENTIAL
	Exponential *ExponentialRetry // nil: the class's defaults
	Next        []int64           // CUSTOMIZED: ms; nil: the class's defaults
}

// ExponentialRetry has times in ms.
type ExponentialRetry struct{ Initial, Max, Multiplier int64 }

// SimpleSubscription is a subscription kept in the group's configuration. Java:
// SimpleSubscriptionData.
type SimpleSubscription struct {
	Topic, ExpressionType, Expression string
	Version                           int64
}

const (
	retryCustomized  = "CUSTOMIZED"
	retryExponential = "EXPONENTIAL"
)

// NewSubscriptionGroupConfig returns a group with the defaults of Java's class.
func NewSubscriptionGroupConfig(group string) SubscriptionGroupConfig {
	return SubscriptionGroupConfig{
		GroupName:     group,
		ConsumeEnable: true, ConsumeFromMinEnable: true, ConsumeBroadcastEnable: true,
		RetryQueueNums: 1, RetryMaxTimes: 16, RetryPolicy: GroupRetryPolicy{Type: retryCustomized},
		WhichBrokerWhenConsumeSlowly: 1, NotifyConsumerIDsChangedEnable: true, ConsumeTimeoutMinute: 15,
	}
}

// Encode returns the body.
func (g *SubscriptionGroupConfig) Encode() []byte { return encode(g.write) }

// Decode reads the body.
func (g *SubscriptionGroupConfig) Decode(data []byte) error {
	return decode("group config", data, g.read)
}

func (g *SubscriptionGroupConfig) write(w *writer) {
	w.open('{')
	w.keyStringMap("attributes", g.Attributes)
	w.keyInt("brokerId", g.BrokerID)
	w.keyBool("consumeBroadcastEnable", g.ConsumeBroadcastEnable)
	w.keyBool("consumeEnable", g.ConsumeEnable)
	w.keyBool("consumeFromMinEnable", g.ConsumeFromMinEnable)
	w.keyBool("consumeMessageOrderly", g.ConsumeMessageOrderly)
	w.keyInt("consumeTimeoutMinute", int64(g.ConsumeTimeoutMinute))
	w.keyOpt("groupName", g.GroupName)
	w.key("groupRetryPolicy")
	g.RetryPolicy.write(w)
	w.keyInt("groupSysFlag", int64(g.GroupSysFlag))
	w.keyBool("notifyConsumerIdsChangedEnable", g.NotifyConsumerIDsChangedEnable)
	w.keyInt("retryMaxTimes", int64(g.RetryMaxTimes))
	w.keyInt("retryQueueNums", int64(g.RetryQueueNums))
	if g.Subscriptions != nil {
		writeList(w, "subscriptionDataSet", g.Subscriptions, (*SimpleSubscription).write)
	}
	w.keyInt("whichBrokerWhenConsumeSlowly", g.WhichBrokerWhenConsumeSlowly)
	w.close('}')
}

func (g *SubscriptionGroupConfig) read(r *reader) {
	*g = NewSubscriptionGroupConfig("")
	r.object(func(key string) { g.field(r, key) })
}

func (g *SubscriptionGroupConfig) field(r *reader, key string) {
	switch key {
	case "groupName":
		g.GroupName = r.str()
	case "consumeEnable":
		g.ConsumeEnable = r.bool()
	case "consumeFromMinEnable":
		g.ConsumeFromMinEnable = r.bool()
	case "consumeBroadcastEnable":
		g.ConsumeBroadcastEnable = r.bool()
	case "consumeMessageOrderly":
		g.ConsumeMessageOrderly = r.bool()
	case "retryQueueNums":
		g.RetryQueueNums = r.int32()
	case "retryMaxTimes":
		g.RetryMaxTimes = r.int32()
	case "groupRetryPolicy":
		g.RetryPolicy.read(r)
	case "brokerId":
		g.BrokerID = r.int64()
	case "whichBrokerWhenConsumeSlowly":
		g.WhichBrokerWhenConsumeSlowly = r.int64()
	case "notifyConsumerIdsChangedEnable":
		g.NotifyConsumerIDsChangedEnable = r.bool()
	case "groupSysFlag":
		g.GroupSysFlag = r.int32()
	case "consumeTimeoutMinute":
		g.ConsumeTimeoutMinute = r.int32()
	case "subscriptionDataSet":
		g.Subscriptions = readList(r, (*SimpleSubscription).read)
	case "attributes":
		g.Attributes = r.stringMap()
	}
}

func (p *GroupRetryPolicy) write(w *writer) {
	w.open('{')
	if p.Next != nil {
		w.key("customizedRetryPolicy")
		w.open('{')
		w.key("next")
		w.open('[')
		for _, ms := range p.Next {
			w.int(ms)
		}
		w.close(']')
		w.close('}')
	}
	if e := p.Exponential; e != nil {
		w.key("exponentialRetryPolicy")
		w.open('{')
		w.keyInt("initial", e.Initial)
		w.keyInt("max", e.Max)
		w.keyInt("multiplier", e.Multiplier)
		w.close('}')
	}
	w.keyStr("type", orDefault(p.Type, retryCustomized))
	w.close('}')
}

func (p *GroupRetryPolicy) read(r *reader) {
	*p = GroupRetryPolicy{Type: retryCustomized}
	r.object(func(key string) {
		switch key {
		case "type":
			p.Type = orDefault(r.enum([]string{retryExponential, retryCustomized}), retryCustomized)
		case "exponentialRetryPolicy":
			if !r.isNull() {
				p.Exponential = &ExponentialRetry{}
				p.Exponential.read(r)
			}
		case "customizedRetryPolicy":
			r.object(func(key string) {
				if key == "next" {
					p.Next = []int64{}
					r.array(func() { p.Next = append(p.Next, r.int64()) })
				}
			})
		}
	})
}

func (e *ExponentialRetry) read(r *reader) {
	*e = ExponentialRetry{Initial: 5000, Max: 7_200_000, Multiplier: 2}
	r.object(func(key string) {
		switch key {
		case "initial":
			e.Initial = r.int64()
		case "max":
			e.Max = r.int64()
		case "multiplier":
			e.Multiplier = r.int64()
		}
	})
}

func (s *SimpleSubscription) write(w *writer) {
	w.open('{')
	w.keyOpt("expression", s.Expression)
	w.keyOpt("expressionType", s.ExpressionType)
	w.keyOpt("topic", s.Topic)
	w.keyInt("version", s.Version)
	w.close('}')
}

func (s *SimpleSubscription) read(r *reader) {
	r.object(func(key string) {
		switch key {
		case "topic":
			s.Topic = r.str()
		case "expressionType":
			s.ExpressionType = r.str()
		case "expression":
			s.Expression = r.str()
		case "version":
			s.Version = r.int64()
		}
	})
}
