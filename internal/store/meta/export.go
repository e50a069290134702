// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The exports are the files of RocketMQ's config directory: its field names,
// in its order, with map keys quoted, which it reads as well as its own form.

type dataVersionJSON struct {
	Counter      int64 `json:"counter"`
	StateVersion int64 `json:"stateVersion"`
	Timestamp    int64 `json:"timestamp"`
}

func (d DataVersion) json() dataVersionJSON {
	return dataVersionJSON{d.Counter, d.StateVersion, d.Timestamp}
}

type topicJSON struct {
	Attributes      map[string]string `json:"attributes"`
	Order           bool              `json:"order"`
	Perm            int32             `json:"perm"`
	ReadQueueNums   int32             `json:"readQueueNums"`
	TopicFilterType string            `json:"topicFilterType"`
	TopicName       string            `json:"topicName"`
	TopicSysFlag    int32             `json:"topicSysFlag"`
	WriteQueueNums  int32             `json:"writeQueueNums"`
}

// ExportTopics is the content of RocketMQ's config/topics.json. Lane functions,
// lane maps and check modes have no place there.
func ExportTopics(v *View) ([]byte, error) {
	topics := map[string]topicJSON{}
	for t := range v.Topics() {
		topics[t.Name] = topicJSON{
			Attributes: orEmpty(t.Attributes), Order: t.Order, Perm: t.Perm,
			ReadQueueNums: t.ReadQueues, WriteQueueNums: t.WriteQueues,
			TopicFilterType: t.FilterType.String(), TopicName: t.Name, TopicSysFlag: t.SysFlag,
		}
	}
	return export(struct {
		DataVersion      dataVersionJSON      `json:"dataVersion"`
		TopicConfigTable map[string]topicJSON `json:"topicConfigTable"`
	}{v.topicVersion.json(), topics})
}

type groupJSON struct {
	Attributes                     map[string]string  `json:"attributes"`
	BrokerID                       int64              `json:"brokerId"`
	ConsumeBroadcastEnable         bool               `json:"consumeBroadcastEnable"`
	ConsumeEnable                  bool               `json:"consumeEnable"`
	ConsumeFromMinEnable           bool               `json:"consumeFromMinEnable"`
	ConsumeMessageOrderly          bool               `json:"consumeMessageOrderly"`
	ConsumeTimeoutMinute           int32              `json:"consumeTimeoutMinute"`
	GroupName                      string             `json:"groupName"`
	GroupRetryPolicy               retryPolicyJSON    `json:"groupRetryPolicy"`
	GroupSysFlag                   int32              `json:"groupSysFlag"`
	NotifyConsumerIDsChangedEnable bool               `json:"notifyConsumerIdsChangedEnable"`
	RetryMaxTimes                  int32              `json:"retryMaxTimes"`
	RetryQueueNums                 int32              `json:"retryQueueNums"`
	SubscriptionDataSet            []subscriptionJSON `json:"subscriptionDataSet,omitempty"`
	WhichBrokerWhenConsumeSlowly   int64              `json:"whichBrokerWhenConsumeSlowly"`
}

type retryPolicyJSON struct {
	Customized  *customizedJSON  `json:"customizedRetryPolicy,omitempty"`
	Exponential *exponentialJSON `json:"exponentialRetryPolicy,omitempty"`
	Type        string           `json:"type"`
}

type customizedJSON struct {
	Next []int64 `json:"next"`
}

type exponentialJSON struct {
	Initial    int64 `json:"initial"`
	Max        int64 `json:"max"`
	Multiplier int64 `json:"multiplier"`
}

type subscriptionJSON struct {
	Expression     string `json:"expression"`
	ExpressionType string `json:"expressionType"`
	Topic          string `json:"topic"`
	Version        int64  `json:"version"`
}

// ExportGroups is the content of RocketMQ's config/subscriptionGroup.json.
func ExportGroups(v *View) ([]byte, error) {
	groups := map[string]groupJSON{}
	forbidden := map[string]map[string]int32{}
	for g := range v.Groups() {
		groups[g.Name] = g.json()
		if len(g.Forbidden) > 0 {
			forbidden[g.Name] = g.Forbidden
		}
	}
	return export(struct {
		DataVersion            dataVersionJSON             `json:"dataVersion"`
		ForbiddenTable         map[string]map[string]int32 `json:"forbiddenTable"`
		SubscriptionGroupTable map[string]groupJSON        `json:"subscriptionGroupTable"`
	}{v.groupVersion.json(), forbidden, groups})
}

func (g *Group) json() groupJSON {
	j := groupJSON{
		Attributes: orEmpty(g.Attributes), BrokerID: g.BrokerID,
		ConsumeBroadcastEnable: g.ConsumeBroadcastEnable, ConsumeEnable: g.ConsumeEnable,
		ConsumeFromMinEnable: g.ConsumeFromMinEnable, ConsumeMessageOrderly: g.ConsumeMessageOrderly,
		ConsumeTimeoutMinute: g.ConsumeTimeoutMinute, GroupName: g.Name,
		GroupRetryPolicy: g.RetryPolicy.json(), GroupSysFlag: g.GroupSysFlag,
		NotifyConsumerIDsChangedEnable: g.NotifyConsumerIDsChangedEnable,
		RetryMaxTimes:                  g.RetryMaxTimes, RetryQueueNums: g.RetryQueueNums,
		WhichBrokerWhenConsumeSlowly: g.WhichBrokerWhenConsumeSlowly,
	}
	for _, s := range g.Subscriptions {
		j.SubscriptionDataSet = append(j.SubscriptionDataSet,
			subscriptionJSON{s.Expression, s.ExpressionType, s.Topic, s.Version})
	}
	return j
}

func (p RetryPolicy) json() retryPolicyJSON {
	switch {
	case p.Exponential:
		return retryPolicyJSON{Type: "EXPONENTIAL", Exponential: &exponentialJSON{p.InitialMs, p.MaxMs, p.Multiplier}}
	case p.NextMs != nil:
		return retryPolicyJSON{Type: "CUSTOMIZED", Customized: &customizedJSON{p.NextMs}}
	}
	return retryPolicyJSON{Type: "CUSTOMIZED"}
}

// ExportOffsets is the content of RocketMQ's config/consumerOffset.json.
// Settled ranges, attempts, epochs and leases have no place there: what was
// settled above the committed offset is consumed again.
func ExportOffsets(v *View) ([]byte, error) {
	offsets := map[string]map[int32]int64{}
	topics := map[string][]string{}
	for k, q := range v.AllQueues() {
		if q.Committed == None {
			continue
		}
		pair := k.Topic + "@" + k.Group
		if offsets[pair] == nil {
			offsets[pair] = map[int32]int64{}
			topics[k.Group] = append(topics[k.Group], k.Topic)
		}
		offsets[pair][k.Queue] = q.Committed
	}
	return export(struct {
		DataVersion   dataVersionJSON            `json:"dataVersion"`
		GroupTopicMap map[string][]string        `json:"groupTopicMap"`
		OffsetTable   map[string]map[int32]int64 `json:"offsetTable"`
	}{v.offsetVersion.json(), topics, offsets})
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func export(content any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	if err := e.Encode(content); err != nil {
		return nil, fmt.Errorf("export broker state: %w", err)
	}
	return b.Bytes(), nil
}
