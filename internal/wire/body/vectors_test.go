// SPDX-License-Identifier: Apache-2.0

package body

import (
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/orderlymq/orderly/internal/wire"
)

// text is a body, both directions.
type text interface {
	Encode() []byte
	Decode([]byte) error
}

func fresh[T any, P interface {
	*T
	text
}]() text {
	return P(new(T))
}

// requestBodies has the body of each request that carries one.
func requestBodies() map[int32]func() text {
	return map[int32]func() text{
		18: fresh[TopicConfigList], 34: fresh[HeartbeatData], 41: fresh[LockBatch], 42: fresh[LockBatch],
		46: fresh[CheckClientConfig], 103: fresh[RegisterBroker], 200: fresh[SubscriptionGroupConfig],
		217: fresh[TopicRouteData], 220: fresh[ResetOffset], 225: fresh[SubscriptionGroupList],
		322: fresh[DataVersion], 400: fresh[QueryAssignment], 401: fresh[MessageRequestMode],
	}
}

// responseBodies has the body of each answer that carries one.
func responseBodies() map[int32]func() text {
	return map[int32]func() text{
		21: fresh[TopicConfigSerializeWrapper], 28: fresh[KVTable], 38: fresh[ConsumerList], 41: fresh[LockBatchResponse],
		43: fresh[ConsumerOffsets], 45: fresh[DelayOffsets], 103: fresh[KVTable], 105: fresh[TopicRouteData],
		106: fresh[ClusterInfo], 201: fresh[SubscriptionGroupWrapper], 202: fresh[TopicStatsTable],
		203: fresh[ConsumerConnection], 204: fresh[ProducerConnection], 206: fresh[TopicList], 208: fresh[ConsumeStats],
		219: fresh[KVTable], 221: fresh[ConsumerStatus], 222: fresh[ResetOffset], 223: fresh[ConsumerStatus],
		224: fresh[TopicList], 300: fresh[GroupList], 303: fresh[ConsumeTimeSpans], 304: fresh[TopicList],
		305: fresh[TopicList], 307: fresh[ConsumerRunningInfo], 308: fresh[CorrectionOffsets],
		309: fresh[ConsumeMessageDirectlyResult], 311: fresh[TopicList], 312: fresh[TopicList], 313: fresh[TopicList],
		315: fresh[BrokerStatsData], 317: fresh[ConsumeStatsList], 321: fresh[QueryConsumeQueue], 322: fresh[DataVersion],
		328: fresh[ProducerTable], 343: fresh[TopicList], 345: fresh[QuerySubscription], 351: fresh[TopicConfig],
		352: fresh[SubscriptionGroupConfig], 353: fresh[GroupForbidden], 400: fresh[QueryAssignmentResponse],
		402: fresh[MessageRequestModes], 901: fresh[BrokerMemberGroup], 907: fresh[HAStatus],
	}
}

// notKept are codes with a JSON body that this package has no type for: timer
// metrics, RocksDB progress, cold data, lite topics, POP acks, users and rules.
var notKept = []int32{61, 354, 2003, 200074, 200151, 3001, 3002, 3004, 3005, 3006, 3007, 3009, 3010}

type recorded struct {
	name     string
	code     int32 // of the request
	response bool
	kind     string // json or raw
	body     []byte
	version  int32
}

func recordings(t testing.TB) []recorded {
	t.Helper()
	file, err := os.Open("../testdata/frames.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []recorded
	for lines := json.NewDecoder(z); lines.More(); {
		var v struct {
			Scenario string `json:"scenario"`
			N        int    `json:"n"`
			ReqCode  *int32 `json:"req_code"`
			Kind     string `json:"body_kind"`
			FrameHex string `json:"frame_hex"`
		}
		if err := lines.Decode(&v); err != nil {
			t.Fatal(err)
		}
		frame, err := hex.DecodeString(v.FrameHex)
		if err != nil {
			t.Fatal(err)
		}
		c, err := wire.Decode(frame[4:])
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Body) == 0 || v.Kind == "records" {
			continue
		}
		r := recorded{
			name: fmt.Sprintf("%s/%d", v.Scenario, v.N), code: c.Code, response: c.IsResponse(),
			kind: v.Kind, body: c.Body, version: c.Version,
		}
		if r.response {
			if v.ReqCode == nil {
				continue
			}
			r.code = *v.ReqCode
		}
		all = append(all, r)
	}
	return all
}

func (r recorded) fresh() text {
	table := requestBodies()
	if r.response {
		table = responseBodies()
	}
	if f := table[r.code]; f != nil {
		return f()
	}
	return nil
}

// TestRecordedBodies: every recorded body of a known request decodes, and comes
// back as a body that means the same.
func TestRecordedBodies(t *testing.T) {
	n := 0
	for _, rec := range recordings(t) {
		if rec.kind != "json" {
			continue
		}
		b := rec.fresh()
		if b == nil {
			if !slices.Contains(notKept, rec.code) {
				t.Errorf("%s: code %d has a body without a type: %.80s", rec.name, rec.code, rec.body)
			}
			continue
		}
		if err := b.Decode(rec.body); err != nil {
			t.Errorf("%s: %v in %.200s", rec.name, err, rec.body)
			continue
		}
		n++
		encoded := b.Encode()
		checkSame(t, rec.name, parse(t, encoded), parse(t, rec.body))
		again := rec.fresh()
		if err := again.Decode(encoded); err != nil {
			t.Errorf("%s: what was encoded: %v", rec.name, err)
		}
		if s := string(again.Encode()); s != string(encoded) {
			t.Errorf("%s: encoded again:\n got %s\nwant %s", rec.name, s, encoded)
		}
	}
	if n < 500 {
		t.Errorf("only %d bodies", n)
	}
}

// TestRecordedNonsense: bodies that are no JSON, sent to see the answer.
func TestRecordedNonsense(t *testing.T) {
	n := 0
	for _, rec := range recordings(t) {
		if b := rec.fresh(); b != nil && rec.kind == "raw" {
			n++
			if err := b.Decode(rec.body); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s: %q: %v", rec.name, rec.body, err)
			}
		}
	}
	if n == 0 {
		t.Error("no such body in the recordings")
	}
}

// parse builds a tree of maps, slices and texts. A queue as a key is written in
// one way.
func parse(t testing.TB, data []byte) any {
	t.Helper()
	var v any
	if err := decode("test", data, func(r *reader) { v = r.tree() }); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

func (r *reader) tree() any {
	switch r.peek() {
	case '{':
		m := map[string]any{}
		r.object(func(key string) {
			if key != "" && key[0] == '{' {
				var q MessageQueue
				if err := decode("key", []byte(key), q.read); err != nil {
					r.bad(err.Error())
				}
				key = string(encode(q.write))
			}
			m[key] = r.tree()
		})
		return m
	case '[':
		l := []any{}
		r.array(func() { l = append(l, r.tree()) })
		return l
	}
	s := r.str()
	if f, err := strconv.ParseFloat(s, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<52 {
		return strconv.FormatInt(int64(f), 10) // 0.0 is 0
	}
	return s
}

// javaDefault returns the value that the Java class gives to a field that a
// stripped body may lack.
func javaDefault(key string) string {
	switch key {
	case "consumeTimeoutMinute":
		return "15"
	case "retryMaxTimes":
		return "16"
	case "retryQueueNums", "whichBrokerWhenConsumeSlowly":
		return "1"
	case "consumeEnable", "consumeFromMinEnable", "consumeBroadcastEnable", "notifyConsumerIdsChangedEnable":
		return "true"
	case "type":
		return "CUSTOMIZED"
	}
	return ""
}

// checkSame compares two trees. A field may be absent on one side if the other
// has its default.
func checkSame(t *testing.T, path string, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok && len(want) > 0 {
			t.Errorf("%s: got %v, want %v", path, got, want)
			return
		}
		for k, w := range want {
			if g, ok := got[k]; ok {
				checkSame(t, path+"."+k, g, w)
			} else if !isDefault(k, w) {
				t.Errorf("%s: lost %s=%v", path, k, w)
			}
		}
		for k, g := range got {
			if _, ok := want[k]; !ok && !isDefault(k, g) {
				t.Errorf("%s: made up %s=%v", path, k, g)
			}
		}
	case []any:
		got, _ := got.([]any)
		if len(got) != len(want) {
			t.Errorf("%s: %d items, want %d", path, len(got), len(want))
			return
		}
		for i := range want {
			checkSame(t, fmt.Sprintf("%s[%d]", path, i), got[i], want[i])
		}
	default:
		goWritesOrdinal := got == ResultSuccess && want == "0"
		if got != want && !goWritesOrdinal {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

func isDefault(key string, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, w := range v {
			if !isDefault(k, w) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return v == "" || v == "0" || v == "false" || v == "null" || v == javaDefault(key)
}
