// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readConfig reads a file that RocketMQ 5.5.0 wrote, numeric keys and all.
func readConfig(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "rocketmq", name))
	if err != nil {
		t.Fatal(err)
	}
	b = regexp.MustCompile(`(?m)^(\s*)(\d+):`).ReplaceAll(b, []byte(`$1"$2":`))
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// sameExport compares an export with the file it should be, but for keys that
// are ours to leave out.
func sameExport(t *testing.T, name string, got []byte, leave ...string) {
	t.Helper()
	var want, have map[string]any
	readConfig(t, name, &want)
	for _, k := range leave {
		delete(want, k)
	}
	if err := json.Unmarshal(got, &have); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("%s (-rocketmq +ours):\n%s", name, d)
	}
}

func TestExportTopicsIsRocketMQsFile(t *testing.T) {
	var file struct {
		DataVersion      dataVersionJSON
		TopicConfigTable map[string]topicJSON
	}
	readConfig(t, "topics.json", &file)
	v := newView()
	for _, j := range file.TopicConfigTable {
		PutTopic{Topic: Topic{
			Name: j.TopicName, ReadQueues: j.ReadQueueNums, WriteQueues: j.WriteQueueNums, Perm: j.Perm,
			SysFlag: j.TopicSysFlag, Order: j.Order, Attributes: j.Attributes,
		}}.apply(v)
	}
	v.topicVersion = DataVersion{Timestamp: file.DataVersion.Timestamp, Counter: file.DataVersion.Counter}
	b, err := ExportTopics(v)
	if err != nil {
		t.Fatal(err)
	}
	sameExport(t, "topics.json", b)
}

func TestExportGroupsIsRocketMQsFile(t *testing.T) {
	var file struct {
		DataVersion            dataVersionJSON
		SubscriptionGroupTable map[string]groupJSON
	}
	readConfig(t, "subscriptionGroup.json", &file)
	v := newView()
	for name := range file.SubscriptionGroupTable { // all of them have the defaults
		PutGroup{Group: DefaultGroup(name)}.apply(v)
	}
	v.groupVersion = DataVersion{Timestamp: file.DataVersion.Timestamp, Counter: file.DataVersion.Counter}
	b, err := ExportGroups(v)
	if err != nil {
		t.Fatal(err)
	}
	sameExport(t, "subscriptionGroup.json", b)
}

func TestExportOffsetsIsRocketMQsFile(t *testing.T) {
	var file struct {
		DataVersion dataVersionJSON
		OffsetTable map[string]map[string]int64
	}
	readConfig(t, "consumerOffset.json", &file)
	v := newView()
	for pair, queues := range file.OffsetTable {
		topic, group, _ := strings.Cut(pair, "@")
		for q, offset := range queues {
			n, err := strconv.Atoi(q)
			if err != nil {
				t.Fatal(err)
			}
			Commit{QueueKey: QueueKey{group, topic, int32(n)}, Offset: offset}.apply(v)
		}
	}
	FixStart{QueueKey: QueueKey{"not", "committed", 0}, Offset: 5}.apply(v)
	v.offsetVersion = DataVersion{Timestamp: file.DataVersion.Timestamp, Counter: file.DataVersion.Counter}
	b, err := ExportOffsets(v)
	if err != nil {
		t.Fatal(err)
	}
	sameExport(t, "consumerOffset.json", b, "pullOffsetTable")
}

func TestExportGroupPolicies(t *testing.T) {
	v := newView()
	g := DefaultGroup("G")
	g.RetryPolicy = RetryPolicy{Exponential: true, InitialMs: 5000, MaxMs: 7200000, Multiplier: 2}
	g.Forbidden = map[string]int32{"T": 1}
	g.Subscriptions = []Subscription{{Topic: "T", ExpressionType: "TAG", Expression: "A || <B>", Version: 7}}
	PutGroup{Group: g}.apply(v)
	g.Name, g.RetryPolicy = "H", RetryPolicy{NextMs: []int64{1000, 2000}}
	PutGroup{Group: g}.apply(v)
	b, err := ExportGroups(v)
	if err != nil {
		t.Fatal(err)
	}
	compact := strings.NewReplacer("\n", "", "\t", "", `": `, `":`).Replace(string(b))
	for _, want := range []string{
		`"groupRetryPolicy":{"exponentialRetryPolicy":{"initial":5000,"max":7200000,"multiplier":2},"type":"EXPONENTIAL"}`,
		`"groupRetryPolicy":{"customizedRetryPolicy":{"next":[1000,2000]},"type":"CUSTOMIZED"}`,
		`"forbiddenTable":{"G":{"T":1},"H":{"T":1}}`,
		`"subscriptionDataSet":[{"expression":"A || <B>","expressionType":"TAG","topic":"T","version":7}]`,
	} {
		if !strings.Contains(compact, want) {
			t.Errorf("no %s in %s", want, compact)
		}
	}
}
