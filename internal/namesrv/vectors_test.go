// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/orderlymq/orderly/internal/wire"
)

// deviations are answers in which this server differs from RocketMQ on
// purpose, by frame number of raw-namesrv: the code must be the same, the rest
// is not compared.
var deviations = map[int]string{
	60: "GET_NAMESRV_CONFIG lists our own keys",
	90: "the remark is a Java exception there",
}

// TestAnswersAsRecorded sends every request recorded from Apache RocketMQ 5.5.0
// and compares the answers.
func TestAnswersAsRecorded(t *testing.T) {
	for _, scenario := range []string{"raw-namesrv", "raw-routes", "broker-startup"} {
		t.Run(scenario, func(t *testing.T) {
			r := start(t, Config{})
			prepare(t, r, scenario)
			want := map[int32]int{}
			var req *wire.Command
			for _, v := range vectors(t, scenario) {
				if v.To == "namesrv" {
					req = v.cmd
					continue
				}
				want[req.Code]++
				got := call(t, r.conn, clone(req))
				compare(t, v, req, got, scenario == "raw-namesrv")
			}
			if len(want) == 0 {
				t.Fatal("no frames compared")
			}
		})
	}
}

// prepare registers the broker that was there before the recording.
func prepare(t *testing.T, r *rig, scenario string) {
	t.Helper()
	if scenario == "broker-startup" {
		return
	}
	first := clone(vectors(t, "broker-startup")[0].cmd)
	first.Ext.Set("bodyCrc32", "0")
	first.Body = bytes.Replace(first.Body, []byte(`"topicConfigTable":{`), []byte(`"topicConfigTable":{"VecSync":{"topicName":"VecSync","perm":6,"readQueueNums":4,"writeQueueNums":4},`), 1)
	first.Body = bytes.Replace(first.Body, []byte(`"dataVersion":{"counter":0,"stateVersion":0,"timestamp":1796077805624}`), []byte(`"dataVersion":{"counter":49,"stateVersion":0,"timestamp":1796078391626}`), 1)
	if resp := call(t, r.conn, first); resp.Code != 0 {
		t.Fatalf("prepare: %d %s", resp.Code, resp.Remark)
	}
}

func clone(c *wire.Command) *wire.Command {
	copied := *c
	copied.Ext = slices.Clone(c.Ext)
	return &copied
}

func compare(t *testing.T, v vector, req, got *wire.Command, deviate bool) {
	t.Helper()
	name := fmt.Sprintf("frame %d, answer to %s", v.N, req.Name())
	if got.Code != v.cmd.Code {
		t.Errorf("%s: code %d, recorded %d", name, got.Code, v.cmd.Code)
	}
	if _, differs := deviations[v.N]; differs && deviate {
		return
	}
	if got.Remark != v.cmd.Remark {
		t.Errorf("%s: remark %q, recorded %q", name, got.Remark, v.cmd.Remark)
	}
	if diff := cmp.Diff(fields(v.cmd), fields(got)); diff != "" {
		t.Errorf("%s: ext (-recorded +got):\n%s", name, diff)
	}
	if (got.Ext == nil) != (v.cmd.Ext == nil) {
		t.Errorf("%s: ext present %v, recorded %v", name, got.Ext != nil, v.cmd.Ext != nil)
	}
	if isRoute := req.Code == wire.ReqGetRouteInfoByTopic; isRoute && !bytes.Equal(got.Body, v.cmd.Body) {
		t.Errorf("%s: body\n%s\nrecorded\n%s", name, got.Body, v.cmd.Body)
	}
	if diff := cmp.Diff(tree(t, req, v.cmd.Body), tree(t, req, got.Body)); diff != "" {
		t.Errorf("%s: body (-recorded +got):\n%s", name, diff)
	}
}

func fields(c *wire.Command) map[string]string {
	m := map[string]string{}
	for _, f := range c.Ext {
		m[f.Key] = f.Value
	}
	// How many topics the recorded broker had is not known.
	if m["wipeTopicCount"] > "0" {
		m["wipeTopicCount"] = "some"
	}
	if m["addTopicCount"] > "0" {
		m["addTopicCount"] = "some"
	}
	return m
}

var bareKey = regexp.MustCompile(`([{,])(\d+):`)

// tree returns a JSON body as values, without what depends on the recorded
// broker's history and with lists sorted.
func tree(t *testing.T, req *wire.Command, b []byte) any {
	t.Helper()
	if len(b) == 0 {
		return nil
	}
	var v map[string]any
	if err := json.Unmarshal(bareKey.ReplaceAll(b, []byte(`$1"$2":`)), &v); err != nil {
		t.Fatalf("answer to %s: %v: %s", req.Name(), err, b)
	}
	list, isList := v["topicList"].([]any)
	if isList && (req.Code == wire.ReqGetAllTopicListFromNameServer || req.Code == wire.ReqGetTopicsByCluster) && len(list) > 0 {
		v["topicList"] = slices.Contains(list, any("TBW102"))
	} else if isList {
		slices.SortFunc(list, func(a, b any) int { return bytes.Compare([]byte(a.(string)), []byte(b.(string))) })
	}
	return maps.Clone(v)
}
