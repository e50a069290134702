// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"slices"
	"strings"
	"testing"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func (p *peer) topicConfig(name string) body.TopicConfig {
	p.t.Helper()
	var cfg body.TopicConfig
	if err := cfg.Decode(p.want(wire.Success, wire.ReqGetTopicConfig, &header.GetTopicConfig{Topic: name}, nil).Body); err != nil {
		p.t.Fatal(err)
	}
	return cfg
}

func TestTopicsAreCreatedChangedAndDeleted(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("tool")
	p.createTopic("T", 2, "")
	p.createTopic("T", 4, "")
	if cfg := p.topicConfig("T"); cfg.WriteQueueNums != 4 || cfg.Order {
		t.Errorf("%+v", cfg)
	}
	p.send("T", 3, "x")
	p.beat("c1", "G", "T", "*")
	p.commit("G", "T", 3, 1, 0)
	p.want(wire.Success, wire.ReqDeleteTopicInBroker, &header.DeleteTopic{Topic: "T"}, nil)
	p.want(wire.TopicNotExist, wire.ReqGetTopicConfig, &header.GetTopicConfig{Topic: "T"}, nil)
	p.want(wire.Success, wire.ReqDeleteTopicInBroker, &header.DeleteTopic{Topic: "T"}, nil)
	p.want(wire.InvalidParameter, wire.ReqDeleteTopicInBroker, &header.DeleteTopic{Topic: msg.TopicSchedule}, nil)
	p.want(wire.InvalidParameter, wire.ReqDeleteTopicInBroker, nil, nil)
	p.createTopic("T", 4, "")
	if got := p.position("G", "T", 3); got != -1 {
		t.Errorf("position %d in a topic that was deleted and made again", got)
	}
	if _, _, msgs := p.pull(pullHeader("G", "T", 3, 0)); len(msgs) != 0 {
		t.Error("messages of a deleted topic are back")
	}
}

func TestOrderedTopics(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("tool")
	p.createTopic("Fifo", 8, "+message.type=FIFO,+"+header.AttrLaneFunction+"=java-string")
	cfg := p.topicConfig("Fifo")
	if !cfg.Order || cfg.Attributes["message.type"] != "FIFO" || cfg.Attributes[header.AttrLaneFunction] != "java-string" || cfg.Attributes[header.AttrLaneCheck] != "warn" {
		t.Errorf("%+v", cfg)
	}
	p.want(wire.Success, wire.ReqUpdateAndCreateTopic, &header.CreateTopic{
		Topic: "ByFlag", ReadQueueNums: 2, WriteQueueNums: 2, Perm: 6, TopicFilterType: "SINGLE_TAG", Order: true,
	}, nil)
	if cfg := p.topicConfig("ByFlag"); !cfg.Order || cfg.Attributes["message.type"] != "FIFO" {
		t.Errorf("%+v", cfg)
	}
	p.want(wire.InvalidParameter, wire.ReqUpdateAndCreateTopic, &header.CreateTopic{
		Topic: "Fifo", ReadQueueNums: 9, WriteQueueNums: 9, Perm: 6, TopicFilterType: "SINGLE_TAG",
	}, nil)
}

func TestBadTopicsAreRefused(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("tool")
	topic := func(change func(*header.CreateTopic)) *header.CreateTopic {
		h := &header.CreateTopic{Topic: "T", ReadQueueNums: 2, WriteQueueNums: 2, Perm: 6, TopicFilterType: "SINGLE_TAG"}
		change(h)
		return h
	}
	tests := []struct {
		name string
		h    *header.CreateTopic
		want int32
	}{
		{"name", topic(func(h *header.CreateTopic) { h.Topic = "bad name!" }), wire.InvalidParameter},
		{"system", topic(func(h *header.CreateTopic) { h.Topic = msg.TopicSchedule }), wire.InvalidParameter},
		{"queues", topic(func(h *header.CreateTopic) { h.WriteQueueNums = 1 << 30 }), wire.InvalidParameter},
		{"no queues", topic(func(h *header.CreateTopic) { h.ReadQueueNums = 0 }), wire.InvalidParameter},
		{"ordered, and not all are read", topic(func(h *header.CreateTopic) { h.Order, h.ReadQueueNums = true, 1 }), wire.InvalidParameter},
		{"negative", topic(func(h *header.CreateTopic) { h.WriteQueueNums = -1 }), wire.InvalidParameter},
		{"perm", topic(func(h *header.CreateTopic) { h.Perm = 8 }), wire.InvalidParameter},
		{"filter", topic(func(h *header.CreateTopic) { h.TopicFilterType = "NO_FILTER" }), wire.SystemError},
		{"unknown attribute", topic(func(h *header.CreateTopic) { h.Attributes = "+no.such=1" }), wire.SystemError},
		{"twice", topic(func(h *header.CreateTopic) { h.Attributes = "+message.type=NORMAL,-message.type" }), wire.SystemError},
		{"remove at creation", topic(func(h *header.CreateTopic) { h.Attributes = "-message.type" }), wire.SystemError},
		{"odd value", topic(func(h *header.CreateTopic) { h.Attributes = "+message.type=ODD" }), wire.SystemError},
		{"no value", topic(func(h *header.CreateTopic) { h.Attributes = "+message.type" }), wire.SystemError},
	}
	for _, tt := range tests {
		if resp := p.do(wire.ReqUpdateAndCreateTopic, tt.h, nil); resp.Code != tt.want || resp.Remark == "" {
			t.Errorf("%s: %s %q", tt.name, wire.ResponseName(resp.Code), resp.Remark)
		}
	}
	p.want(wire.SystemError, wire.ReqUpdateAndCreateTopic, nil, nil, "topic", "T")
	p.want(wire.TopicNotExist, wire.ReqGetTopicConfig, &header.GetTopicConfig{Topic: "T"}, nil)
	list := body.TopicConfigList{Topics: []body.TopicConfig{
		{TopicName: "L1", ReadQueueNums: 1, WriteQueueNums: 1, Perm: 6, TopicFilterType: "SINGLE_TAG"},
		{TopicName: "L2", ReadQueueNums: 1, WriteQueueNums: 1, Perm: 6, TopicFilterType: "SINGLE_TAG", Attributes: map[string]string{"message.type": "FIFO"}},
	}}
	p.want(wire.Success, wire.ReqUpdateAndCreateTopicList, nil, list.Encode())
	if cfg := p.topicConfig("L2"); !cfg.Order {
		t.Errorf("%+v", cfg)
	}
}

func TestGroupsAreCreatedChangedAndDeleted(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("tool")
	cfg := body.NewSubscriptionGroupConfig("G")
	cfg.RetryMaxTimes, cfg.ConsumeMessageOrderly = 3, true
	cfg.Attributes = map[string]string{header.AttrGraceMs: "500", header.AttrPoison: "dead-letter", header.AttrBackoffMs: "100,2000", "other": "kept"}
	p.want(wire.Success, wire.ReqUpdateAndCreateSubscriptionGroup, nil, cfg.Encode())
	get := func(name string) (got body.SubscriptionGroupConfig) {
		t.Helper()
		if err := got.Decode(p.want(wire.Success, wire.ReqGetSubscriptionGroupConfig, &header.GetSubscriptionGroupConfig{Group: name}, nil).Body); err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := get("G")
	if got.RetryMaxTimes != 3 || !got.ConsumeMessageOrderly || got.Attributes[header.AttrGraceMs] != "500" || got.Attributes["other"] != "kept" ||
		got.Attributes[header.AttrBackoffMs] != "100,2000" || got.Attributes[header.AttrPoison] != "dead-letter" {
		t.Errorf("%+v", got)
	}
	for _, bad := range []map[string]string{
		{header.AttrGraceMs: "5"},
		{"+" + header.AttrGraceMs: "60001"},
		{header.AttrLeaseMs: "900"},
		{header.AttrStockFastRelease: "yes"},
		{header.AttrGraceMs: "5000", header.AttrLeaseMs: "9999"},
		{header.AttrPoison: "skip"},
		{header.AttrBackoffMs: "1,x"},
	} {
		cfg.Attributes = bad
		p.want(wire.InvalidParameter, wire.ReqUpdateAndCreateSubscriptionGroup, nil, cfg.Encode())
	}
	cfg.Attributes = map[string]string{"-" + header.AttrGraceMs: "", "+" + header.AttrLeaseMs: "4000", "-other": ""}
	p.want(wire.Success, wire.ReqUpdateAndCreateSubscriptionGroup, nil, cfg.Encode())
	got = get("G")
	if len(got.Attributes) != 3 || got.Attributes[header.AttrLeaseMs] != "4000" || got.Attributes[header.AttrPoison] != "dead-letter" {
		t.Errorf("after a change: %v", got.Attributes)
	}
	cfg.GroupName = "bad name!"
	p.want(wire.InvalidParameter, wire.ReqUpdateAndCreateSubscriptionGroup, nil, cfg.Encode())
	p.want(wire.InvalidParameter, wire.ReqUpdateAndCreateSubscriptionGroup, nil, []byte("{}"))
	p.want(wire.Success, wire.ReqUpdateAndCreateSubscriptionGroup, nil, nil)
	if got := get("Unknown"); got.RetryMaxTimes != 16 {
		t.Errorf("a group that is made by being asked for: %+v", got)
	}
	p.createTopic("T", 1, "")
	p.beat("c1", "G", "T", "*")
	p.send("T", 0, "x")
	p.commit("G", "T", 0, 1, 0)
	p.want(wire.Success, wire.ReqDeleteSubscriptionGroup, &header.DeleteSubscriptionGroup{GroupName: "G"}, nil)
	if got := p.position("G", "T", 0); got != 1 {
		t.Errorf("position %d: positions were to stay", got)
	}
	get("G")
	p.want(wire.Success, wire.ReqDeleteSubscriptionGroup, &header.DeleteSubscriptionGroup{GroupName: "G", CleanOffset: true}, nil)
	if got := p.position("G", "T", 0); got != -1 {
		t.Errorf("position %d: positions were to go", got)
	}
	p.want(wire.Success, wire.ReqDeleteSubscriptionGroup, &header.DeleteSubscriptionGroup{GroupName: "Nobody"}, nil)
	var all body.SubscriptionGroupWrapper
	if err := all.Decode(p.want(wire.Success, wire.ReqGetAllSubscriptionGroupConfig, nil, nil).Body); err != nil || len(all.Groups) < 7 {
		t.Errorf("%d groups, %v", len(all.Groups), err)
	}
}

func TestForbiddenAndDisabledGroups(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("tool")
	p.createTopic("T", 1, "")
	p.pull(pullHeader("G", "T", 0, 0))
	p.want(wire.Success, wire.ReqUpdateAndGetGroupForbidden, &header.UpdateGroupForbidden{Group: "G", Topic: "T", Readable: header.Some(false)}, nil)
	if resp := p.want(wire.NoPermission, wire.ReqPullMessage, pullHeader("G", "T", 0, 0), nil); resp.Ext.Value("forbiddenType") != "5" {
		t.Errorf("%v", resp.Ext)
	}
	cfg := body.NewSubscriptionGroupConfig("Off")
	cfg.ConsumeEnable = false
	p.want(wire.Success, wire.ReqUpdateAndCreateSubscriptionGroup, nil, cfg.Encode())
	if resp := p.want(wire.NoPermission, wire.ReqPullMessage, pullHeader("Off", "T", 0, 0), nil); resp.Ext.Value("forbiddenType") != "2" {
		t.Errorf("%v", resp.Ext)
	}
}

func TestToolsReadWhatIsThere(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("tool")
	p.createTopic("T", 2, "")
	p.beat("c1", "G", "T", "*")
	sent := p.send("T", 1, "find me", msg.PropKeys, "K1 K2", msg.PropUniqueKey, "UNIQUE")
	p.commit("G", "T", 1, 1, 0)

	var stats body.TopicStatsTable
	if err := stats.Decode(p.want(wire.Success, wire.ReqGetTopicStatsInfo, &header.GetTopicStatsInfo{Topic: "T"}, nil).Body); err != nil ||
		stats.OffsetTable[r.b.queueName("T", 1)].MaxOffset != 1 || len(stats.OffsetTable) != 2 {
		t.Errorf("topic stats %+v, %v", stats, err)
	}
	p.want(wire.TopicNotExist, wire.ReqGetTopicStatsInfo, &header.GetTopicStatsInfo{Topic: "None"}, nil)
	var consume body.ConsumeStats
	if err := consume.Decode(p.want(wire.Success, wire.ReqGetConsumeStats, &header.GetConsumeStats{ConsumerGroup: "G"}, nil).Body); err != nil {
		t.Fatal(err)
	}
	if o := consume.OffsetTable[r.b.queueName("T", 1)]; o.BrokerOffset != 1 || o.ConsumerOffset != 1 || o.LastTimestamp == 0 {
		t.Errorf("consume stats %+v", consume)
	}
	var who body.GroupList
	if err := who.Decode(p.want(wire.Success, wire.ReqQueryTopicConsumeByWho, &header.QueryTopicConsumeByWho{Topic: "T"}, nil).Body); err != nil || !slices.Equal(who.Groups, []string{"G"}) {
		t.Errorf("groups %v, %v", who.Groups, err)
	}
	var topics body.TopicList
	if err := topics.Decode(p.want(wire.Success, wire.ReqQueryTopicsByConsumer, &header.QueryTopicsByConsumer{Group: "G"}, nil).Body); err != nil || !slices.Equal(topics.Topics, []string{"T"}) {
		t.Errorf("topics %v, %v", topics.Topics, err)
	}
	_, at, err := msg.ParseOffsetID(sent.MsgID)
	if err != nil {
		t.Fatal(err)
	}
	view := p.want(wire.Success, wire.ReqViewMessageByID, &header.ViewMessage{Offset: at}, nil)
	if m, _, err := msg.DecodeRecord(view.Body); err != nil || string(m.Body) != "find me" {
		t.Errorf("viewed %q, %v", m.Body, err)
	}
	p.want(wire.SystemError, wire.ReqViewMessageByID, &header.ViewMessage{Offset: 1 << 40}, nil)
	query := &header.QueryMessage{Topic: "T", Key: "UNIQUE", MaxNum: 32, EndTimestamp: 1 << 60, UniqueKey: header.Some(true)}
	if hits, err := msg.DecodeRecords(p.want(wire.Success, wire.ReqQueryMessage, query, nil).Body); err != nil || len(hits) != 1 {
		t.Errorf("%d hits, %v", len(hits), err)
	}
	query.Key = "NOTHING"
	p.want(wire.QueryNotFound, wire.ReqQueryMessage, query, nil)

	var kv body.KVTable
	if err := kv.Decode(p.want(wire.Success, wire.ReqGetBrokerRuntimeInfo, nil, nil).Body); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"putTps", "getTransferredTps", "earliestMessageTimeStamp", "commitLogDiskRatio", "brokerVersionDesc", "sendThreadPoolQueueSize"} {
		if kv.Table[key] == "" {
			t.Errorf("runtime info without %s", key)
		}
	}
	conf := p.want(wire.Success, wire.ReqGetBrokerConfig, nil, nil)
	if !strings.Contains(string(conf.Body), "brokerName=broker-a\n") || conf.Ext.Value("version") == "" {
		t.Errorf("configuration %q %v", conf.Body, conf.Ext)
	}
	var all body.TopicConfigSerializeWrapper
	if err := all.Decode(p.want(wire.Success, wire.ReqGetAllTopicConfig, nil, nil).Body); err != nil || all.Topics["T"].WriteQueueNums != 2 || len(all.Topics) < 8 {
		t.Errorf("%d topics, %v", len(all.Topics), err)
	}
	var offsets body.ConsumerOffsets
	if err := offsets.Decode(p.want(wire.Success, wire.ReqGetAllConsumerOffset, nil, nil).Body); err != nil || offsets.OffsetTable["T@G"][1] != 1 {
		t.Errorf("offsets %+v, %v", offsets, err)
	}
	p.want(wire.Success, wire.ReqCloneGroupOffset, &header.CloneGroupOffset{SrcGroup: "G", DestGroup: "Clone", Topic: "T"}, nil)
	if got := p.position("Clone", "T", 1); got != 1 {
		t.Errorf("cloned position %d", got)
	}
	for _, code := range []int32{wire.ReqGetAllProducerInfo, wire.ReqGetAllDelayOffset, wire.ReqGetSystemTopicListFromBroker, wire.ReqGetBrokerHAStatus, wire.ReqCleanUnusedTopic} {
		p.want(wire.Success, code, nil, nil)
	}
	p.want(wire.Success, wire.ReqQueryConsumeTimeSpan, &header.QueryConsumeTimeSpan{Topic: "T", Group: "G"}, nil)
	p.want(wire.Success, wire.ReqQuerySubscriptionByConsumer, &header.QuerySubscriptionByConsumer{Topic: "T", Group: "G"}, nil)
}

func TestUnknownCodesAreAnsweredAndTheLinkStays(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("odd")
	for _, code := range []int32{9999, 13, 22, 200999, 1500, -5} {
		if resp := p.want(wire.RequestCodeNotSupported, code, nil, nil); !strings.Contains(resp.Remark, "not supported") {
			t.Errorf("%d: %q", code, resp.Remark)
		}
	}
	p.send("T", 0, "still there")
}

func TestAssignmentIsStickyForOurs(t *testing.T) {
	r := newRig(t, nil)
	p, q := r.connect("one"), r.connect("two")
	p.createTopic("T", 5, "+message.type=FIFO")
	share := func(c *peer, client, strategy string) (ids []int32) {
		t.Helper()
		req := body.QueryAssignment{Topic: "T", ConsumerGroup: "G", ClientID: client, StrategyName: strategy, MessageModel: body.Clustering}
		var resp body.QueryAssignmentResponse
		if err := resp.Decode(c.want(wire.Success, wire.ReqQueryAssignment, nil, req.Encode()).Body); err != nil {
			t.Fatal(err)
		}
		for _, a := range resp.Assignments {
			ids = append(ids, a.Queue.QueueID)
		}
		return ids
	}
	p.openSession("c2", "G", "T")
	if ids := share(p, "c2", "ORDERLY_STICKY"); len(ids) != 5 {
		t.Fatalf("alone: %v", ids)
	}
	q.openSession("c1", "G", "T")
	kept := share(p, "c2", "ORDERLY_STICKY")
	given := share(q, "c1", "ORDERLY_STICKY")
	if len(kept)+len(given) != 5 || len(kept) < 2 || len(given) < 2 {
		t.Errorf("shares %v and %v", kept, given)
	}
	if again := share(p, "c2", "ORDERLY_STICKY"); !slices.Equal(again, kept) {
		t.Errorf("share %v, then %v", kept, again)
	}
	stock := r.connect("three")
	stock.beat("c3", "G", "T", "*")
	if ids := share(q, "c1", "ORDERLY_STICKY"); !slices.Equal(ids, []int32{0, 1}) {
		t.Errorf("beside a stock member: %v, want the first block", ids)
	}
	p.want(wire.SystemError, wire.ReqQueryAssignment, nil, (&body.QueryAssignment{Topic: "None", ConsumerGroup: "G"}).Encode())
}
