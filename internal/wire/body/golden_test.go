// SPDX-License-Identifier: Apache-2.0

package body

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/orderlymq/orderly/internal/wire"
)

func queue(id int32) MessageQueue {
	return MessageQueue{Topic: "T1", BrokerName: "broker-a", QueueID: id}
}

// TestGolden has the bodies of the protocol reference, made by the real Java
// classes: what is written must be equal to the byte.
func TestGolden(t *testing.T) {
	for name, tc := range map[string]struct {
		b    text
		want string
	}{
		"heartbeat": {
			&HeartbeatData{
				ClientID: "10.0.0.9@DEFAULT", Producers: []string{"pg"},
				Consumers: []ConsumerData{{
					GroupName: "cg", ConsumeType: ConsumePassively, MessageModel: Clustering, ConsumeFromWhere: ConsumeFromLast,
					Subscriptions: []SubscriptionData{{
						Topic: "T1", SubString: "TagA || TagC", TagsSet: []string{"TagA", "TagC"}, CodeSet: []int32{2598919, 2598921},
						SubVersion: 1700000000001, ExpressionType: ExpressionTag,
					}},
				}},
			},
			`{"clientID":"10.0.0.9@DEFAULT","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET",` +
				`"consumeType":"CONSUME_PASSIVELY","groupName":"cg","messageModel":"CLUSTERING","subscriptionDataSet":[` +
				`{"classFilterMode":false,"codeSet":[2598919,2598921],"expressionType":"TAG","subString":"TagA || TagC",` +
				`"subVersion":1700000000001,"tagsSet":["TagA","TagC"],"topic":"T1"}],"unitMode":false}],` +
				`"heartbeatFingerprint":0,"producerDataSet":[{"groupName":"pg"}],"withoutSub":false}`,
		},
		"lock": {
			&LockBatch{ConsumerGroup: "cg", ClientID: "cid", Queues: []MessageQueue{queue(0)}},
			`{"clientId":"cid","consumerGroup":"cg","mqSet":[{"brokerName":"broker-a","queueId":0,"topic":"T1"}],"onlyThisBroker":false}`,
		},
		"lock answer": {
			&LockBatchResponse{Locked: []MessageQueue{queue(0)}},
			`{"lockOKMQSet":[{"brokerName":"broker-a","queueId":0,"topic":"T1"}]}`,
		},
		"consumer list": {&ConsumerList{ClientIDs: []string{"a@1", "b@2"}}, `{"consumerIdList":["a@1","b@2"]}`},
		"registration": {
			&RegisterBroker{Topics: TopicConfigSerializeWrapper{
				DataVersion:        DataVersion{Counter: 3, Timestamp: 1700000000000},
				MappingDataVersion: DataVersion{Counter: 1, Timestamp: 1700000000000},
				Topics:             map[string]TopicConfig{"T1": {TopicName: "T1", ReadQueueNums: 4, WriteQueueNums: 4, Perm: 6, TopicFilterType: "SINGLE_TAG"}},
			}},
			`{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":{"counter":3,"stateVersion":0,"timestamp":1700000000000},` +
				`"mappingDataVersion":{"counter":1,"stateVersion":0,"timestamp":1700000000000},"topicConfigTable":{"T1":{"attributes":{},` +
				`"order":false,"perm":6,"readQueueNums":4,"topicFilterType":"SINGLE_TAG","topicName":"T1","topicSysFlag":0,"writeQueueNums":4}},` +
				`"topicQueueMappingDetailMap":{},"topicQueueMappingInfoMap":{}}}`,
		},
		"topic stats": {
			&TopicStatsTable{OffsetTable: map[MessageQueue]TopicOffset{queue(0): {MaxOffset: 10}}},
			`{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"T1"}:{"lastUpdateTimestamp":0,"maxOffset":10,"minOffset":0}},"topicPutTps":0.0}`,
		},
		"reset offsets": {
			&ResetOffset{OffsetTable: map[MessageQueue]int64{queue(0): 100}},
			`{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"T1"}:100}}`,
		},
		"consumer status": {
			&ConsumerStatus{Queues: map[MessageQueue]int64{queue(0): 5}, Consumers: map[string]map[MessageQueue]int64{"cid": {queue(0): 5}}},
			`{"consumerTable":{"cid":{{"brokerName":"broker-a","queueId":0,"topic":"T1"}:5}},` +
				`"messageQueueTable":{{"brokerName":"broker-a","queueId":0,"topic":"T1"}:5}}`,
		},
		"group": {
			func() text { g := NewSubscriptionGroupConfig("cg"); return &g }(),
			`{"attributes":{},"brokerId":0,"consumeBroadcastEnable":true,"consumeEnable":true,"consumeFromMinEnable":true,` +
				`"consumeMessageOrderly":false,"consumeTimeoutMinute":15,"groupName":"cg","groupRetryPolicy":{"type":"CUSTOMIZED"},` +
				`"groupSysFlag":0,"notifyConsumerIdsChangedEnable":true,"retryMaxTimes":16,"retryQueueNums":1,"whichBrokerWhenConsumeSlowly":1}`,
		},
		"direct consumption": {
			&ConsumeMessageDirectlyResult{AutoCommit: true, ConsumeResult: ResultSuccess},
			`{"autoCommit":true,"consumeResult":"CR_SUCCESS","order":false,"spentTimeMills":0}`,
		},
		"assignment": {
			&QueryAssignmentResponse{Assignments: []QueueAssignment{{Queue: queue(0), Mode: ModePull}}},
			`{"messageQueueAssignments":[{"messageQueue":{"brokerName":"broker-a","queueId":0,"topic":"T1"},"mode":"PULL"}]}`,
		},
		"connections": {
			&ProducerConnection{Connections: []Connection{{ClientAddr: "10.0.0.9:5000", ClientID: "10.0.0.9@1#2", Version: 475}}},
			`{"connectionSet":[{"clientAddr":"10.0.0.9:5000","clientId":"10.0.0.9@1#2","language":"JAVA","version":475}]}`,
		},
		// Numbers as keys are quoted here, where Java writes none: both read it.
		"correction": {&CorrectionOffsets{Offsets: map[int32]int64{0: 5, -1: 2}}, `{"correctionOffsets":{"-1":2,"0":5}}`},
		"member group": {
			&BrokerMemberGroup{Cluster: "C", BrokerName: "broker-a", BrokerAddrs: map[int64]string{0: "10.0.0.1:10911"}},
			`{"brokerMemberGroup":{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"broker-a","cluster":"C"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(tc.b.Encode()); got != tc.want {
				t.Errorf("\n got %s\nwant %s", got, tc.want)
			}
		})
	}
}

func route() TopicRouteData {
	return TopicRouteData{
		Brokers: []BrokerData{{
			Cluster: "DefaultCluster", BrokerName: "broker-a",
			BrokerAddrs: map[int64]string{1: "10.0.0.2:10911", 0: "10.0.0.1:10911"},
		}},
		Queues: []QueueData{{BrokerName: "broker-a", ReadQueueNums: 4, WriteQueueNums: 4, Perm: 6}},
	}
}

func TestRouteForms(t *testing.T) {
	r := route()
	legacy := `{"brokerDatas":[{"brokerAddrs":{0:"10.0.0.1:10911",1:"10.0.0.2:10911"},"brokerName":"broker-a",` +
		`"cluster":"DefaultCluster","enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a",` +
		`"perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}`
	if got := string(r.EncodeLegacy()); got != legacy {
		t.Errorf("\n got %s\nwant %s", got, legacy)
	}
	r.OrderTopicConf = "broker-ä😀:4"
	r.Brokers[0].ZoneName = "z\"\u007f"
	strict := r.Encode()
	if !json.Valid(strict) {
		t.Errorf("no strict JSON: %s", strict)
	}
	want := `{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911","1":"10.0.0.2:10911"},"brokerName":"broker-a",` +
		`"cluster":"DefaultCluster","enableActingMaster":false,"zoneName":"z\"` + "\u007f" + `"}],"filterServerTable":{},` +
		`"orderTopicConf":"broker-\u00E4\uD83D\uDE00:4","queueDatas":[{"brokerName":"broker-a",` +
		`"perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}`
	if string(strict) != want {
		t.Errorf("\n got %s\nwant %s", strict, want)
	}
	for _, b := range [][]byte{strict, r.EncodeLegacy()} {
		var got TopicRouteData
		err := got.Decode(b)
		if d := cmp.Diff(r, got, cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Errorf("%v %s", err, d)
		}
	}
}

// TestStrictReaders: bodies that the Go client reads with a strict reader.
func TestStrictReaders(t *testing.T) {
	r := route()
	groups := SubscriptionGroupWrapper{
		Groups:    map[string]SubscriptionGroupConfig{"g": NewSubscriptionGroupConfig("g")},
		Forbidden: map[string]map[string]int32{"g": {"T": 1}},
	}
	for name, b := range map[string]interface{ Encode() []byte }{
		"201": &groups, "206": &TopicList{Topics: []string{"ü\x01\u2028"}}, "38": &ConsumerList{}, "41": &LockBatchResponse{},
		"34": &HeartbeatData{}, "105": &r, "106": &ClusterInfo{BrokerAddrTable: map[string]BrokerData{"b": r.Brokers[0]}},
		"43": &ConsumerOffsets{OffsetTable: map[string]map[int32]int64{"T@g": {0: 1}}}, "28": &KVTable{Table: map[string]string{"k": "v"}},
	} {
		if text := b.Encode(); !json.Valid(text) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestResetForms: the three forms of a table of offsets.
func TestResetForms(t *testing.T) {
	want := ResetOffset{OffsetTable: map[MessageQueue]int64{queue(0): 100, queue(1): -1}}
	for name, text := range map[string]string{
		"object keys":  string(want.Encode()),
		"list for C++": string(want.EncodeList()),
		"text keys": `{"offsetTable":{"{\"topic\":\"T1\",\"brokerName\":\"broker-a\",\"queueId\":0}":100,` +
			`"{\"brokerName\":\"broker-a\",\"queueId\":1,\"topic\":\"T1\",\"x\":[]}":-1}}`,
		"pairs": `{"offsetTable":[[{"topic":"T1","brokerName":"broker-a","queueId":0},100],[{"topic":"T1","brokerName":"broker-a","queueId":1},"-1"]]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var got ResetOffset
			if err := got.Decode([]byte(text)); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
	const forC = `{"offsetTable":[{"brokerName":"broker-a","offset":100,"queueId":0,"topic":"T1"}]}`
	one := ResetOffset{OffsetTable: map[MessageQueue]int64{queue(0): 100}}
	if got := string(one.EncodeList()); got != forC {
		t.Errorf("\n got %s\nwant %s", got, forC)
	}
}

func TestCompressedRegistration(t *testing.T) {
	want := RegisterBroker{
		FilterServers: []string{"10.0.0.1:1"},
		Topics: TopicConfigSerializeWrapper{
			DataVersion: DataVersion{StateVersion: 1, Timestamp: 2, Counter: 3},
			Topics: map[string]TopicConfig{
				"T1":       {TopicName: "T1", ReadQueueNums: 4, WriteQueueNums: 3, Perm: 6, TopicFilterType: "SINGLE_TAG"},
				"%RETRY%g": {TopicName: "%RETRY%g", ReadQueueNums: 1, WriteQueueNums: 1, Perm: 2, TopicFilterType: "MULTI_TAG", Attributes: map[string]string{"a b": "{ }"}},
			},
		},
	}
	for _, mapping := range []bool{true, false} {
		data, err := want.EncodeCompressed(mapping)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeRegisterBroker(data, wire.Version, true)
		if d := cmp.Diff(&want, got, cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Errorf("%v %s", err, d)
		}
		for _, cut := range []int{0, 1, 10, len(data) / 2, len(data) - 1} {
			if _, err := DecodeRegisterBroker(data[:cut], wire.Version, true); err == nil {
				t.Errorf("cut at %d: no error", cut)
			}
		}
	}
	t1 := want.Topics.Topics["T1"]
	if line := string(t1.line()); line != "T1 4 3 6 SINGLE_TAG {}" {
		t.Error(line)
	}
	old, err := DecodeRegisterBroker(want.Topics.Encode(), 36, false)
	if err != nil || old.Topics.Topics["T1"].ReadQueueNums != 4 {
		t.Errorf("before version 37: %+v, %v", old, err)
	}
	plain, err := DecodeRegisterBroker(want.Encode(), 37, false)
	if d := cmp.Diff(&want, plain, cmpopts.EquateEmpty()); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
}

func TestCompressedTopicLines(t *testing.T) {
	for line, ok := range map[string]bool{
		"T 1 2 6":                              true,
		"T 1 2 6 SINGLE_TAG":                   true,
		"T 1 2 6 SINGLE_TAG {\"a\":\"b c\"}":   true,
		"T 1 2":                                false,
		"T x 2 6 SINGLE_TAG {}":                false,
		"T 1 99999999999 6 SINGLE_TAG {}":      false,
		"T 1 2 6 SINGLE_TAG {":                 false,
		"":                                     false,
		"T 1 2 6 SINGLE_TAG {\"a\":{\"b\":1}}": true,
	} {
		var got TopicConfig
		if err := got.parseLine(line); (err == nil) != ok {
			t.Errorf("%q: %+v, %v", line, got, err)
		}
	}
}
