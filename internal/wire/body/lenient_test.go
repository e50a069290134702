// SPDX-License-Identifier: Apache-2.0

package body

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestLenient is the table of the protocol reference, section 4.2, and more that
// fastjson forgives.
func TestLenient(t *testing.T) {
	one := TopicRouteData{Brokers: []BrokerData{{BrokerName: "b", BrokerAddrs: map[int64]string{0: "[::1]:10911", 1: "h:2"}}}}
	beat := HeartbeatData{ClientID: "c", Consumers: []ConsumerData{{
		GroupName: "g", ConsumeType: ConsumePop, MessageModel: Clustering, ConsumeFromWhere: ConsumeFromFirst, UnitMode: true,
		Subscriptions: []SubscriptionData{{Topic: "T", SubString: "A", CodeSet: []int32{65, -66}, SubVersion: 5, ExpressionType: ExpressionTag}},
	}}}
	lock := LockBatch{ConsumerGroup: "g", ClientID: "c", Queues: []MessageQueue{queue(3)}}
	for _, tc := range []struct {
		name, text string
		want       text
	}{
		{"bare numbers as keys", `{"brokerDatas":[{"brokerAddrs":{0:"[::1]:10911",1:"h:2"},"brokerName":"b"}]}`, &one},
		{"quoted numbers as keys", `{"brokerDatas":[{"brokerAddrs":{"0":"[::1]:10911","1":"h:2"},"brokerName":"b"}]}`, &one},
		{"white space", " {\n\t\"brokerDatas\" : [ { \"brokerAddrs\" : { 0 : \"[::1]:10911\" , 1 :\"h:2\" } , \"brokerName\": \"b\" } ] }\r\n", &one},
		{"unknown fields", `{"x":{"y":[1,{"z":"}"}]},"brokerDatas":[{"u":null,"brokerAddrs":{0:"[::1]:10911",1:"h:2"},"v":-1.5e3,"brokerName":"b"}]}`, &one},
		{"nothing but an object", `{}`, &TopicRouteData{}},
		{"null", `null`, &TopicRouteData{}},
		{"nulls inside", `{"brokerDatas":null,"queueDatas":[null],"orderTopicConf":null}`, &TopicRouteData{Queues: []QueueData{{}}}},
		{"commas too many", `{,"queueDatas":[,{},],}`, &TopicRouteData{Queues: []QueueData{{}}}},
		{
			"ordinals and numbers as text",
			`{"clientID":"c","consumerDataSet":[{"groupName":"g","consumeType":2,"messageModel":"1","consumeFromWhere":4,"unitMode":"TRUE",` +
				`"subscriptionDataSet":[{"topic":"T","subString":"A","codeSet":["65",-66],"subVersion":"5","tagsSet":null}]}]}`, &beat,
		},
		{"a text of Go: spared fields", `{"clientID":"c"}`, &HeartbeatData{ClientID: "c"}},
		{"single quotes and bare names", `{clientId:'c',consumerGroup:"g",mqSet:[{topic:'T1',brokerName:'broker-a',queueId:3}]}`, &lock},
		{"an integer as a float", `{"clientId":"c","consumerGroup":"g","mqSet":[{"topic":"T1","brokerName":"broker-a","queueId":3.0}]}`, &lock},
		{"escapes", `{"consumerIdList":["\u00e4\ud83d\ude00\/\"\n"]}`, &ConsumerList{ClientIDs: []string{"ä😀/\"\n"}}},
		{"no number in Java", `{"statsDay":{"tps":null,"avgpt":"","sum":"7"}}`, &BrokerStatsData{Day: BrokerStatsItem{Sum: 7}}},
		{"numbers as texts", `{"table":{"a":1,"b":true,"c":null,"d":{"e":2}}}`, &KVTable{Table: map[string]string{"a": "1", "b": "true", "c": "", "d": `{"e":2}`}}},
		{"topic defaults", `{"topicName":"T"}`, &TopicConfig{TopicName: "T", ReadQueueNums: 16, WriteQueueNums: 16, Perm: 6, TopicFilterType: "SINGLE_TAG"}},
		{"Go's spelling", `{"queueDatas":[{"topicSynFlag":1}]}`, &TopicRouteData{Queues: []QueueData{{TopicSysFlag: 1}}}},
		{"ordinal result", `{"consumeResult":4,"autoCommit":null}`, &ConsumeMessageDirectlyResult{ConsumeResult: ResultThrowException}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := newLike(tc.want)
			if err := got.Decode([]byte(tc.text)); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

func newLike(b text) text {
	for _, table := range []map[int32]func() text{requestBodies(), responseBodies()} {
		for _, fresh := range table {
			if f := fresh(); fmt.Sprintf("%T", f) == fmt.Sprintf("%T", b) {
				return f
			}
		}
	}
	return nil
}

func TestRefused(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 100)
	for name, tc := range map[string]struct {
		b    text
		text string
	}{
		"empty":            {new(HeartbeatData), ""},
		"only space":       {new(HeartbeatData), " \n"},
		"no JSON":          {new(HeartbeatData), "hello world"},
		"an array":         {new(HeartbeatData), "[]"},
		"a number":         {new(HeartbeatData), "1"},
		"cut":              {new(HeartbeatData), `{"clientID":"c"`},
		"cut string":       {new(HeartbeatData), `{"clientID":"c`},
		"cut escape":       {new(HeartbeatData), `{"clientID":"c\`},
		"bad escape":       {new(HeartbeatData), `{"clientID":"\q"}`},
		"text after it":    {new(HeartbeatData), `{}{}`},
		"no colon":         {new(HeartbeatData), `{"clientID" "c"}`},
		"no list":          {new(HeartbeatData), `{"consumerDataSet":"x"}`},
		"object for list":  {new(HeartbeatData), `{"consumerDataSet":{"a":1}}`},
		"list for object":  {new(HeartbeatData), `{"consumerDataSet":[[]]}`},
		"crossed braces":   {new(HeartbeatData), `{"x":[}]}`},
		"no integer":       {new(HeartbeatData), `{"heartbeatFingerprint":"x"}`},
		"a fraction":       {new(HeartbeatData), `{"heartbeatFingerprint":1.5}`},
		"above 32 bits":    {new(HeartbeatData), `{"heartbeatFingerprint":2147483648}`},
		"above 64 bits":    {new(DataVersion), `{"counter":1e30}`},
		"no float":         {new(BrokerStatsData), `{"statsDay":{"tps":"NaN"}}`},
		"key no queue":     {new(ResetOffset), `{"offsetTable":{"x":1}}`},
		"key half a queue": {new(ResetOffset), `{"offsetTable":{{"topic":"T"}x:1}}`},
		"key no number":    {new(TopicRouteData), `{"brokerDatas":[{"brokerAddrs":{"x":"y"}}]}`},
		"key above int":    {new(CorrectionOffsets), `{"correctionOffsets":{"4294967296":1}}`},
		"nested too deep":  {new(ConsumeStatsList), `{"consumeStatsList":[` + deep},
		"a list of refs":   {new(HeartbeatData), `{"consumerDataSet":{"$ref":"$"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.b.Decode([]byte(tc.text)); !errors.Is(err, ErrMalformed) {
				t.Errorf("got %+v, %v", tc.b, err)
			}
		})
	}
}

func TestRefs(t *testing.T) {
	v := DataVersion{Counter: 1, Timestamp: 2}
	shared := map[string]string{"message.type": "FIFO"}
	for name, tc := range map[string]struct {
		text string
		want TopicConfigSerializeWrapper
	}{
		"data version": {
			`{"dataVersion":{"counter":1,"timestamp":2},"mappingDataVersion":{"$ref":"$.dataVersion"}}`,
			TopicConfigSerializeWrapper{DataVersion: v, MappingDataVersion: v},
		},
		"before its target": {
			`{"mappingDataVersion":{"$ref":"$.dataVersion"},"dataVersion":{"counter":1,"timestamp":2}}`,
			TopicConfigSerializeWrapper{DataVersion: v, MappingDataVersion: v},
		},
		"attributes, escaped path": {
			`{"topicConfigTable":{"%RETRY%g.x":{"attributes":{"message.type":"FIFO"}},"b":{"attributes":{"$ref":"$.topicConfigTable.\\%RETRY\\%g\\.x.attributes"}}}}`,
			TopicConfigSerializeWrapper{Topics: map[string]TopicConfig{"%RETRY%g.x": topicWith(shared), "b": topicWith(shared)}},
		},
		"index":         {`{"l":[[],[{"counter":1,"timestamp":2}]],"dataVersion":{"$ref":"$.l[1][0]"}}`, TopicConfigSerializeWrapper{DataVersion: v}},
		"to nowhere":    {`{"dataVersion":{"$ref":"$.nothing.x"}}`, TopicConfigSerializeWrapper{}},
		"to the parent": {`{"dataVersion":{"$ref":".."}}`, TopicConfigSerializeWrapper{}},
		"to itself":     {`{"dataVersion":{"$ref":"$.dataVersion"}}`, TopicConfigSerializeWrapper{}},
		"in a circle":   {`{"a":{"$ref":"$.b"},"b":{"$ref":"$.a"},"dataVersion":{"$ref":"$.a"}}`, TopicConfigSerializeWrapper{}},
		"index beyond":  {`{"l":[1],"dataVersion":{"$ref":"$.l[7]"}}`, TopicConfigSerializeWrapper{}},
		"bad index":     {`{"dataVersion":{"$ref":"$[x"}}`, TopicConfigSerializeWrapper{}},
		"no path":       {`{"dataVersion":{"$ref":7}}`, TopicConfigSerializeWrapper{}},
	} {
		t.Run(name, func(t *testing.T) {
			var got TopicConfigSerializeWrapper
			if err := got.Decode([]byte(tc.text)); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
	var beat HeartbeatData
	err := beat.Decode([]byte(`{"clientID":"c","consumerDataSet":[{"groupName":"a","subscriptionDataSet":[{"topic":"T"}]},` +
		`{"groupName":"b","subscriptionDataSet":{"$ref":"$.consumerDataSet[0].subscriptionDataSet"}}]}`))
	if err != nil || len(beat.Consumers) != 2 || len(beat.Consumers[1].Subscriptions) != 1 {
		t.Errorf("a shared list: %+v, %v", beat, err)
	}
}

func topicWith(attributes map[string]string) TopicConfig {
	return TopicConfig{ReadQueueNums: 16, WriteQueueNums: 16, Perm: 6, TopicFilterType: "SINGLE_TAG", Attributes: attributes}
}

// TestBombs: bodies made to cost many times their length are refused, or read
// for a small multiple.
func TestBombs(t *testing.T) {
	const n = 256 << 10
	fill := func(head, unit, tail string) []byte {
		return []byte(head + strings.Repeat(unit, (n-len(head)-len(tail))/len(unit)) + tail)
	}
	for name, tc := range map[string]struct {
		b    text
		text []byte
	}{
		"empty objects":   {new(TopicConfigList), fill(`{"topicConfigList":[`, `{},`, `]}`)},
		"empty topics":    {new(TopicConfigSerializeWrapper), fill(`{"topicConfigTable":{`, `"":{},`, `}}`)},
		"empty strings":   {new(ConsumerList), fill(`{"consumerIdList":[`, `"",`, `]}`)},
		"references":      {new(TopicConfigList), fill(`{"a":{"attributes":{"k":"v"}},"topicConfigList":[`, `{"$ref":"$.a"},`, `]}`)},
		"long references": {new(TopicConfigList), fill(`{"a":{"attributes":{"k":"`+strings.Repeat("v", 1<<16)+`"}},"topicConfigList":[`, `{"$ref":"$.a"},`, `]}`)},
		"brackets":        {new(HeartbeatData), fill(`{"x":`, `[`, ``)},
		"keys":            {new(HeartbeatData), fill(`{`, `"a":1,`, `}`)},
		"queue keys":      {new(ResetOffset), fill(`{"offsetTable":{`, `{}:1,`, `}}`)},
		"backslashes":     {new(ConsumerList), fill(`{"consumerIdList":["`, `\\`, `"]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			err := tc.b.Decode(tc.text)
			runtime.ReadMemStats(&after)
			if grew := after.TotalAlloc - before.TotalAlloc; grew > 32*n { // with the garbage of growing lists
				t.Errorf("%d KiB allocated for %d KiB (%v)", grew>>10, n>>10, err)
			}
		})
	}
}

// TestDifferentReferences: each names another path, so each walks the document,
// until the budget for that is used up.
func TestDifferentReferences(t *testing.T) {
	const n = 5000
	var b strings.Builder
	b.WriteString(`{"topicConfigList":[`)
	for i := range n {
		fmt.Fprintf(&b, `{"$ref":"$.topicConfigList[%d]"},`, n-i)
	}
	b.WriteString(`{"topicName":"T"}]}`)
	f := refs{budget: refBudget, at: map[string]int{}}
	walked := 0
	for i := range n {
		if f.locate([]byte(b.String()), fmt.Sprintf("$.topicConfigList[%d]", i)) >= 0 {
			walked++
		}
	}
	if walked == 0 || walked == n {
		t.Errorf("%d of %d references walked", walked, n)
	}
	var l TopicConfigList
	if err := l.Decode([]byte(b.String())); err != nil || len(l.Topics) != n+1 {
		t.Errorf("%d topics, %v", len(l.Topics), err)
	}
}

func TestFloats(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 1: "1.0", -2.5: "-2.5", 0.058333333333333334: "0.058333333333333334", math.Inf(1): "null", 1e21: "1000000000000000000000.0",
	} {
		if got := string(encode(func(w *writer) { w.float(f) })); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
	if got := string(encode(func(w *writer) { w.float(math.NaN()) })); got != "null" {
		t.Error(got)
	}
}
