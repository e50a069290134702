// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// recorded is one request that a client sent to Apache RocketMQ 5.5.0, and
// what the answer was.
type recorded struct {
	Scenario string   `json:"s"`
	N        int      `json:"n"` // number of the frame in its scenario
	Conn     int      `json:"c"`
	Frame    string   `json:"f"`
	Code     *int32   `json:"code"` // nil: no answer was recorded
	Ext      []string `json:"ext"`  // names of the answer's custom header
}

func readRecorded(t *testing.T) map[string][]recorded {
	t.Helper()
	f, err := os.Open("testdata/recorded.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]recorded{}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out[r.Scenario] = append(out[r.Scenario], r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func (r *recorded) request(t *testing.T) *wire.Command {
	t.Helper()
	raw, err := hex.DecodeString(r.Frame)
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := wire.Decode(raw[4:])
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestRecordedRequests plays what RocketMQ's clients sent and compares codes
// and names of the answers' ext fields with what RocketMQ's broker answered.
// Each scenario begins with the topics and messages that it found; what we
// answer otherwise, and why, is listed.
func TestRecordedRequests(t *testing.T) {
	for name, frames := range readRecorded(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil)
				prepareRecorded(r, name)
				play(t, r, frames)
			})
		})
	}
}

// prepareRecorded makes what a scenario found when it began.
func prepareRecorded(r *rig, name string) {
	p := r.connect("setup")
	for _, topic := range []string{"VecPush", "VecSync", "VecOrder", "VecTag", "VecPull", "VecRetry", "VecBin", "VecGo", "VecTx"} {
		p.createTopic(topic, 4, "")
	}
	if name == "raw-offsets" || name == "raw-pull-errors" || name == "raw-admin-writes" || name == "raw-admin-reads" {
		for q, n := range []int{2, 3, 3, 2} {
			for i := range n {
				p.send("VecPush", int32(q), "x", msg.PropTags, []string{"TagA", "TagC"}[i%2])
			}
		}
		p.beat("setup@1", "CG_PUSH", "VecPush", "*")
		p.commit("CG_PUSH", "VecPush", 0, 2, 0)
		p.want(wire.Success, wire.ReqUnregisterClient, &header.UnregisterClient{ClientID: "setup@1", ConsumerGroup: "CG_PUSH"}, nil)
	}
	p.close()
}

// difference is a group of requests that we answer with another code than
// RocketMQ's broker did, and why.
type difference struct {
	why    string
	code   int32
	frames []string // scenario/number
}

// otherwise lists all of them.
var otherwise = []difference{
	{"configuration does not change while the broker runs", wire.NoPermission, []string{
		"raw-send-errors/59", "raw-send-errors/65", "raw-send-errors/67", "raw-send-errors/71", "raw-send-errors/73",
		"raw-send-errors/77", "raw-send-errors/83", "raw-send-errors/87", "raw-pull-errors/81", "raw-pull-errors/95",
		"raw-pull-errors/105", "raw-pull-errors/109", "raw-admin-writes/61", "raw-admin-writes/63", "raw-admin-writes/65",
		"raw-admin-writes/69", "raw-admin-writes/71", "raw-admin-writes/89", "raw-admin-writes/93",
	}},
	{"so the limit, auto-creation and permission that the recording changed are as they were", wire.Success, []string{
		"raw-send-errors/63", "raw-send-errors/69", "raw-pull-errors/83", "raw-pull-errors/85", "raw-pull-errors/89",
		"raw-pull-errors/93", "raw-pull-errors/107", "raw-admin-writes/91",
	}},
	{"timer messages are not served", wire.SystemError, []string{"raw-send-errors/29", "raw-send-errors/31", "go-producer/15"}},
	{"transactions are not served", wire.NoPermission, []string{"raw-send-errors/55", "raw-send-errors/57"}},
	{"SQL92 is not served (RocketMQ's default too; the recording had it on)", wire.SystemError, []string{
		"raw-pull-errors/26", "raw-pull-errors/28", "raw-pull-errors/121", "raw-pull-errors/123",
	}},
	{"a forbidden group is kept from its topic whatever the pull brings", wire.NoPermission, []string{"raw-admin-reads/99"}},
	{"counters by topic are not kept", wire.SystemError, []string{"raw-admin-reads/57"}},
	{"parts of RocketMQ that we do not have", wire.RequestCodeNotSupported, []string{
		"raw-admin-reads/15", "raw-admin-reads/17", "raw-admin-reads/49", "raw-admin-reads/51", "raw-admin-reads/73",
		"raw-admin-reads/75", "raw-admin-reads/105", "raw-admin-reads/107", "raw-admin-reads/109", "raw-admin-reads/111",
		"raw-admin-reads/113", "raw-admin-reads/115", "raw-admin-reads/117",
	}},
	{"the message looked for was stored in another scenario", wire.QueryNotFound, []string{"raw-query/3", "raw-query/5"}},
	{"the same, by its place in the log", wire.SystemError, []string{
		"raw-query/15", "raw-query/17", "serialize-binary/51", "serialize-binary/52", "raw-sendback/5",
	}},
	{"the recording left repeated sends out, so the queue is empty here", wire.QueryNotFound, []string{
		"go-push/10", "push-concurrent/20", "push-orderly/22", "push-tag-filter/20", "push-tag-filter/36",
		"push-tag-filter/51", "heartbeat-v2/10", "lite-pull-subscribe/8",
	}},
	{"the same, pulled beyond its end", wire.PullOffsetMoved, []string{"push-concurrent/24", "push-orderly/28"}},
	{"the same, with other tags", wire.PullRetryImmediately, []string{"push-tag-filter/23"}},
	{"the topic was made in another scenario", wire.TopicNotExist, []string{"go-push/12", "go-push/13", "go-push/19"}},
}

// extOtherwise lists ext fields that only one side answers with.
var extOtherwise = map[string]string{
	"totalTopicNum": "left out, which tools take for: this is all",
	"totalGroupNum": "the same",
	"MSG_REGION":    "in errors of the header too, as in all other answers to sends",
	"TRACE_ON":      "the same",
}

// expected is the code that an answer ought to have.
func (f *recorded) expected() int32 {
	name := fmt.Sprintf("%s/%d", f.Scenario, f.N)
	for _, d := range otherwise {
		if slices.Contains(d.frames, name) {
			return d.code
		}
	}
	return *f.Code
}

func play(t *testing.T, r *rig, frames []recorded) {
	peers := map[int]*peer{}
	for i := range frames {
		f := &frames[i]
		p := peers[f.Conn]
		if p == nil {
			p = r.connect(fmt.Sprintf("client-%d", f.Conn))
			peers[f.Conn] = p
		}
		req := f.request(t)
		if req.Ext.Has("subVersion") && f.Code != nil && *f.Code != wire.SubscriptionNotLatest {
			req.Ext.Set("subVersion", "0") // the recording left repeated heartbeats out, whose versions these are
		}
		if req.IsOneway() {
			if err := p.conn.Send(req); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // until it is stored
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
		resp, err := p.conn.Call(ctx, req)
		cancel()
		if err != nil || f.Code == nil {
			if err != nil && !waits(req) {
				t.Errorf("frame %d, %s: %v", f.N, wire.RequestName(req.Code), err)
			}
			continue
		}
		compare(t, f, req, resp)
	}
}

// waits reports whether a request may wait for a message.
func waits(req *wire.Command) bool {
	var h header.PullMessage
	return (req.Code == wire.ReqPullMessage || req.Code == wire.ReqLitePullMessage) && h.Decode(req.Ext) == nil && h.SysFlag&header.PullSuspend != 0
}

func compare(t *testing.T, f *recorded, req, resp *wire.Command) {
	want := f.expected()
	where := fmt.Sprintf("%s/%d, %s", f.Scenario, f.N, wire.RequestName(req.Code))
	if resp.Code != want {
		t.Errorf("%s: answered %s %q, want %s", where, wire.ResponseName(resp.Code), resp.Remark, wire.ResponseName(want))
		return
	}
	if want != *f.Code {
		return
	}
	for _, name := range f.Ext {
		if !resp.Ext.Has(name) && extOtherwise[name] == "" {
			t.Errorf("%s: no ext %s in the answer %v", where, name, resp.Ext)
		}
	}
	for _, e := range resp.Ext {
		if !slices.Contains(f.Ext, e.Key) && extOtherwise[e.Key] == "" {
			t.Errorf("%s: ext %s is new in the answer", where, e.Key)
		}
	}
}
