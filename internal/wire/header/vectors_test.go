// SPDX-License-Identifier: Apache-2.0

package header_test

import (
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// custom is a custom header, both directions.
type custom interface {
	wire.Encoder
	Decode(wire.Fields) error
}

// requests has the header of each request code.
func requests() map[int32]func() custom {
	return map[int32]func() custom{
		10:     func() custom { return new(header.SendMessage) },
		11:     func() custom { return new(header.PullMessage) },
		12:     func() custom { return new(header.QueryMessage) },
		14:     func() custom { return new(header.QueryConsumerOffset) },
		15:     func() custom { return new(header.UpdateConsumerOffset) },
		17:     func() custom { return new(header.CreateTopic) },
		21:     func() custom { return new(header.GetAllTopicConfig) },
		29:     func() custom { return new(header.SearchOffset) },
		30:     func() custom { return new(header.GetMaxOffset) },
		31:     func() custom { return new(header.GetMinOffset) },
		32:     func() custom { return new(header.GetEarliestMsgStoreTime) },
		33:     func() custom { return new(header.ViewMessage) },
		35:     func() custom { return new(header.UnregisterClient) },
		36:     func() custom { return new(header.ConsumerSendMsgBack) },
		37:     func() custom { return new(header.EndTransaction) },
		38:     func() custom { return new(header.GetConsumerList) },
		39:     func() custom { return new(header.CheckTransactionState) },
		40:     func() custom { return new(header.NotifyConsumerIDsChanged) },
		100:    func() custom { return new(header.PutKVConfig) },
		101:    func() custom { return new(header.GetKVConfig) },
		102:    func() custom { return new(header.DeleteKVConfig) },
		103:    func() custom { return new(header.RegisterBroker) },
		104:    func() custom { return new(header.UnregisterBroker) },
		105:    func() custom { return new(header.GetRouteInfo) },
		201:    func() custom { return new(header.GetAllSubscriptionGroupConfig) },
		202:    func() custom { return new(header.GetTopicStatsInfo) },
		203:    func() custom { return new(header.GetConsumerConnectionList) },
		204:    func() custom { return new(header.GetProducerConnectionList) },
		205:    func() custom { return new(header.WipeWritePerm) },
		207:    func() custom { return new(header.DeleteSubscriptionGroup) },
		208:    func() custom { return new(header.GetConsumeStats) },
		215:    func() custom { return new(header.DeleteTopic) },
		216:    func() custom { return new(header.DeleteTopic) },
		217:    func() custom { return new(header.RegisterTopic) },
		219:    func() custom { return new(header.GetKVList) },
		220:    func() custom { return new(header.ResetConsumerClientOffset) },
		221:    func() custom { return new(header.GetConsumerStatus) },
		222:    func() custom { return new(header.InvokeBrokerToResetOffset) },
		223:    func() custom { return new(header.GetConsumerStatus) },
		224:    func() custom { return new(header.GetTopicsByCluster) },
		300:    func() custom { return new(header.QueryTopicConsumeByWho) },
		303:    func() custom { return new(header.QueryConsumeTimeSpan) },
		307:    func() custom { return new(header.GetConsumerRunningInfo) },
		308:    func() custom { return new(header.QueryCorrectionOffset) },
		309:    func() custom { return new(header.ConsumeMessageDirectly) },
		310:    func() custom { return new(header.SendMessageV2) },
		314:    func() custom { return new(header.CloneGroupOffset) },
		315:    func() custom { return new(header.ViewBrokerStatsData) },
		317:    func() custom { return new(header.GetBrokerConsumeStats) },
		320:    func() custom { return new(header.SendMessageV2) },
		321:    func() custom { return new(header.QueryConsumeQueue) },
		322:    func() custom { return new(header.QueryDataVersion) },
		323:    func() custom { return new(header.ResumeCheckHalfMessage) },
		324:    func() custom { return new(header.SendMessage) },
		325:    func() custom { return new(header.SendMessageV2) },
		326:    func() custom { return new(header.PushReplyMessage) },
		327:    func() custom { return new(header.AddWritePerm) },
		343:    func() custom { return new(header.QueryTopicsByConsumer) },
		345:    func() custom { return new(header.QuerySubscriptionByConsumer) },
		351:    func() custom { return new(header.GetTopicConfig) },
		352:    func() custom { return new(header.GetSubscriptionGroupConfig) },
		353:    func() custom { return new(header.UpdateGroupForbidden) },
		361:    func() custom { return new(header.PullMessage) },
		370:    func() custom { return new(header.RecallMessage) },
		901:    func() custom { return new(header.GetBrokerMemberGroup) },
		904:    func() custom { return new(header.BrokerHeartbeat) },
		200050: func() custom { return new(header.PopMessage) },
		200051: func() custom { return new(header.AckMessage) },
		200052: func() custom { return new(header.PeekMessage) },
		200053: func() custom { return new(header.ChangeInvisibleTime) },
		200054: func() custom { return new(header.Notification) },
		200055: func() custom { return new(header.PollingInfo) },
	}
}

// responses has the header of the answers that carry one.
func responses() map[int32]func() custom {
	offset := func() custom { return new(header.OffsetResponse) }
	send := func() custom { return new(header.SendMessageResponse) }
	pull := func() custom { return new(header.PullMessageResponse) }
	pop := func() custom { return new(header.PopMessageResponse) }
	return map[int32]func() custom{
		10: send, 310: send, 320: send, 324: send, 325: send, 11: pull, 361: pull,
		14: offset, 29: offset, 30: offset, 31: offset, 200050: pop, 200052: pop,
		12:     func() custom { return new(header.QueryMessageResponse) },
		21:     func() custom { return new(header.GetAllTopicConfigResponse) },
		26:     func() custom { return new(header.GetBrokerConfigResponse) },
		32:     func() custom { return new(header.GetEarliestMsgStoreTimeResponse) },
		34:     func() custom { return new(header.HeartBeatResponse) },
		101:    func() custom { return new(header.GetKVConfigResponse) },
		103:    func() custom { return new(header.RegisterBrokerResponse) },
		201:    func() custom { return new(header.GetAllSubscriptionGroupConfigResponse) },
		205:    func() custom { return new(header.WipeWritePermResponse) },
		322:    func() custom { return new(header.QueryDataVersionResponse) },
		327:    func() custom { return new(header.AddWritePermResponse) },
		370:    func() custom { return new(header.RecallMessageResponse) },
		200053: func() custom { return new(header.ChangeInvisibleTimeResponse) },
		200054: func() custom { return new(header.NotificationResponse) },
		200055: func() custom { return new(header.PollingInfoResponse) },
	}
}

// hooks are fields that clients add to any request, and the mark of the recording.
var hooks = []string{"AccessKey", "Signature", "ReqT", "ns", "nsd", "vec"}

type recorded struct {
	Scenario string `json:"scenario"`
	N        int    `json:"n"`
	ReqCode  int32  `json:"req_code"`
	FrameHex string `json:"frame_hex"`
}

func recordings(t testing.TB, each func(name string, reqCode int32, c *wire.Command)) {
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
	for lines := json.NewDecoder(z); lines.More(); {
		var v recorded
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
		each(fmt.Sprintf("%s/%d", v.Scenario, v.N), v.ReqCode, c)
	}
}

// faulty has the recorded requests that lack a field or hold a bad number, by
// the field that the error must name: the recording did so to see the answer.
func faulty() map[string]string {
	return map[string]string{
		"raw-admin-writes/15":    "readQueueNums",
		"raw-admin-writes/17":    "defaultTopic",
		"raw-admin-writes/19":    "topic",
		"raw-admin-writes/37":    "topic",
		"raw-admin-writes/59":    "groupName",
		"raw-end-transaction/15": "tranStateTableOffset",
		"raw-namesrv/17":         "key",
		"raw-namesrv/71":         "a",
		"raw-offsets/15":         "commitOffset",
		"raw-offsets/59":         "queueId",
		"raw-offsets/61":         "topic",
		"raw-offsets/63":         "queueId",
		"raw-pull-errors/73":     "queueId",
		"raw-pull-errors/75":     "consumerGroup",
		"raw-pull-errors/77":     "queueOffset",
		"raw-query/13":           "key",
		"raw-query/23":           "offset",
		"raw-routes/11":          "topic",
		"raw-send-errors/39":     "g",
		"raw-send-errors/41":     "c",
		"raw-send-errors/43":     "a",
		"raw-send-errors/45":     "producerGroup",
		"raw-send-errors/47":     "producerGroup",
		"raw-send-errors/49":     "a",
		"raw-sendback/3":         "offset",
	}
}

func TestRecordedHeaders(t *testing.T) {
	counts := map[string]int{}
	recordings(t, func(name string, reqCode int32, c *wire.Command) {
		newHeader := requests()[c.Code]
		if c.IsResponse() {
			// An answer that refuses has no header, or an incomplete one.
			if newHeader = responses()[reqCode]; newHeader == nil || c.Code != wire.Success || len(c.Ext) == 0 {
				return
			}
		}
		if newHeader == nil {
			return
		}
		h := newHeader()
		if err := h.Decode(c.Ext); err != nil {
			var fe *header.FieldError
			if !errors.As(err, &fe) || !strings.HasPrefix(name, "raw-") || faulty()[name] != fe.Field {
				t.Errorf("%s %s: %v", name, c.Name(), err)
			}
			counts["faulty"]++
			return
		}
		if faulty()[name] != "" {
			t.Errorf("%s: field %s is not missed", name, faulty()[name])
		}
		counts["good"]++
		compare(t, name, h, c.Ext)
	})
	if counts["good"] < 1500 || counts["faulty"] != len(faulty()) {
		t.Errorf("%v, %d faulty ones listed", counts, len(faulty()))
	}
}

// compare encodes a header and holds it against the fields it came from. A field
// may be absent on one side if it has Java's default on the other.
func compare(t *testing.T, name string, h custom, from wire.Fields) {
	t.Helper()
	var back wire.Fields
	h.Encode(&back)
	for i, f := range back {
		if want, ok := from.Get(f.Key); f.Value != want && (ok || !slices.Contains([]string{"", "0", "false"}, f.Value)) {
			t.Errorf("%s: %s is %q, was %q", name, f.Key, f.Value, want)
		}
		if slices.ContainsFunc(back[:i], func(g wire.Field) bool { return g.Key == f.Key }) {
			t.Errorf("%s: %s written twice", name, f.Key)
		}
	}
	for _, f := range from {
		if !back.Has(f.Key) && f.Value != "" && !slices.Contains(hooks, f.Key) {
			t.Errorf("%s: %T lost %s=%q", name, h, f.Key, f.Value)
		}
	}
}
