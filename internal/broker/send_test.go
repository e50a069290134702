// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func TestSendStoresAndAnswers(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("client")
	h := p.send("T", 2, "hello", msg.PropTags, "TagA", msg.PropUniqueKey, "0A0000010000000000000000000000000", "mine", "x")
	if h.QueueID != 2 || h.QueueOffset != 0 || h.Region != "DefaultRegion" || !h.TraceOn.Value {
		t.Errorf("answer %+v", h)
	}
	if h.TransactionID != "0A0000010000000000000000000000000" || len(h.MsgID) != 32 {
		t.Errorf("ids %q, %q", h.TransactionID, h.MsgID)
	}
	code, ph, msgs := p.pull(pullHeader("G", "T", 2, 0))
	if code != wire.Success || ph.NextBeginOffset != 1 || ph.MaxOffset != 1 || len(msgs) != 1 {
		t.Fatalf("pull: %d %+v %d messages", code, ph, len(msgs))
	}
	m := &msgs[0]
	if m.OffsetID() != h.MsgID || m.Topic != "T" || m.QueueID != 2 || string(m.Body) != "hello" {
		t.Errorf("stored %+v", m)
	}
	props := msg.ParseProperties(m.Properties)
	for name, want := range map[string]string{
		msg.PropTags: "TagA", "mine": "x", msg.PropRegion: "DefaultRegion", msg.PropTraceOn: "true", msg.PropCluster: "DefaultCluster",
	} {
		if props[name] != want {
			t.Errorf("property %s is %q, want %q", name, props[name], want)
		}
	}
}

func TestSendWithLongNamesAndWithoutUniqueKey(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("client")
	h := sendHeader("T", 0).SendMessage
	h.Properties = "no separators"
	resp := p.want(wire.Success, wire.ReqSendMessage, &h, []byte("x"))
	if key := resp.Ext.Value("transactionId"); len(key) != 32 {
		t.Errorf("unique key %q", key)
	}
}

func TestSendToNegativeQueuePicksOne(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("client")
	seen := map[int32]bool{}
	for i := range 60 {
		seen[p.send("T", -1, fmt.Sprint(i)).QueueID] = true
	}
	if len(seen) != 4 {
		t.Errorf("queues %v of 4", seen)
	}
}

func TestSendBatch(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("client")
	data, err := msg.AppendBatch(nil, []msg.BatchMessage{
		{Body: []byte("one"), Properties: "TAGS\x01A\x02", Flag: 7}, {Body: []byte("two")}, {Body: []byte("three")},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := sendHeader("T", 1)
	h.Batch = true
	resp := p.want(wire.Success, wire.ReqSendBatchMessage, h, data)
	if ids := strings.Split(resp.Ext.Value("msgId"), ","); len(ids) != 3 || resp.Ext.Value("queueOffset") != "0" {
		t.Errorf("answer %v", resp.Ext)
	}
	_, _, msgs := p.pull(pullHeader("G", "T", 1, 0))
	if got := texts(msgs); !slices.Equal(got, []string{"one", "two", "three"}) || msgs[0].Flag != 7 {
		t.Errorf("stored %q, flag %d", got, msgs[0].Flag)
	}
	if msgs[0].Properties != "TAGS\x01A\x02" || msgs[1].Properties != "" {
		t.Errorf("properties of batch records changed: %q, %q", msgs[0].Properties, msgs[1].Properties)
	}
	// The code alone makes no batch.
	h.Batch = false
	p.want(wire.Success, wire.ReqSendBatchMessage, h, data)
	h.Batch = true
	p.want(wire.SystemError, wire.ReqSendBatchMessage, h, []byte("nonsense"))
	h.Topic, h.QueueID = "%RETRY%G", 0
	p.want(wire.MessageIllegal, wire.ReqSendBatchMessage, h, data)
}

func TestSendsOfOneConnectionKeepTheirOrder(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("client")
	const n = 500
	answers := make([]<-chan *wire.Command, n)
	for i := range n {
		answers[i] = p.later(wire.ReqSendMessageV2, sendHeader("T", 0), []byte(fmt.Sprint(i)))
	}
	for i := range n {
		resp := <-answers[i]
		if resp.Code != wire.Success || resp.Ext.Value("queueOffset") != fmt.Sprint(i) {
			t.Fatalf("send %d: %d %v", i, resp.Code, resp.Ext)
		}
	}
}

func TestSendOneway(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("client")
	req := p.request(wire.ReqSendMessageV2, sendHeader("T", 0), []byte("one way"))
	if err := p.conn.Send(req); err != nil {
		t.Fatal(err)
	}
	if h := p.send("T", 0, "after it"); h.QueueOffset != 1 {
		t.Errorf("offset %d after a one-way send", h.QueueOffset)
	}
}

func TestSendErrors(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("client")
	p.send("T", 0, "x")
	long := strings.Repeat("t", 128)
	tests := []struct {
		name string
		h    *header.SendMessageV2
		body string
		want int32
	}{
		{"queue beyond", sendHeader("T", 4), "x", wire.InvalidParameter},
		{"no body", sendHeader("T", 0), "", wire.SystemError},
		{"bad name", sendHeader("bad topic!", 0), "x", wire.InvalidParameter},
		{"blank name", sendHeader("", 0), "x", wire.InvalidParameter},
		{"long name", sendHeader(long, 0), "x", wire.InvalidParameter},
		{"system topic", sendHeader(msg.TopicSchedule, 0), "x", wire.NoPermission},
		{"half topic", sendHeader(msg.TopicHalf, 0), "x", wire.NoPermission},
		{"too large", sendHeader("T", 0), strings.Repeat("x", 256<<10+1), wire.MessageIllegal},
		{"properties too long", sendHeader("T", 0, "p", strings.Repeat("x", 33000)), "x", wire.MessageIllegal},
		{"timer", sendHeader("T", 0, msg.PropTimerDelaySec, "5"), "x", wire.SystemError},
		{"transaction", sendHeader("T", 0, msg.PropTransaction, "true"), "x", wire.NoPermission},
	}
	for _, tt := range tests {
		resp := p.do(wire.ReqSendMessageV2, tt.h, []byte(tt.body))
		if resp.Code != tt.want || resp.Remark == "" {
			t.Errorf("%s: %s %q, want %s", tt.name, wire.ResponseName(resp.Code), resp.Remark, wire.ResponseName(tt.want))
		}
		if resp.Ext.Value("MSG_REGION") != "DefaultRegion" || resp.Ext.Value("TRACE_ON") != "true" {
			t.Errorf("%s: no region or trace switch: %v", tt.name, resp.Ext)
		}
	}
	noTemplate := sendHeader("Never", 0)
	noTemplate.DefaultTopic = "NoSuchTemplate"
	p.want(wire.TopicNotExist, wire.ReqSendMessageV2, noTemplate, []byte("x"))
	p.want(wire.SystemError, wire.ReqSendMessageV2, nil, []byte("x"), "a", "PG", "b", "T")
	p.want(wire.Success, wire.ReqSendMessageV2, sendHeader("T", 0), []byte("still there"))
}

func TestAutoCreateCanBeSwitchedOff(t *testing.T) {
	r := newRig(t, func(c *Config) { c.DisableAutoCreateTopic = true })
	p := r.connect("client")
	p.want(wire.TopicNotExist, wire.ReqSendMessageV2, sendHeader("T", 0), []byte("x"))
	p.createTopic("T", 2, "")
	p.send("T", 1, "x")
}

func TestAutoCreatedTopicFollowsItsTemplate(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("client")
	h := sendHeader("Many", 0)
	h.DefaultTopicQueueNums = 100
	p.want(wire.Success, wire.ReqSendMessageV2, h, []byte("x"))
	p.send("Few", 0, "x")
	for name, queues := range map[string]int32{"Many": 8, "Few": 4} {
		resp := p.want(wire.Success, wire.ReqGetTopicConfig, &header.GetTopicConfig{Topic: name}, nil)
		var cfg body.TopicConfig
		if err := cfg.Decode(resp.Body); err != nil || cfg.WriteQueueNums != queues || cfg.ReadQueueNums != queues || cfg.Perm != 6 {
			t.Errorf("%s: %+v, %v", name, cfg, err)
		}
	}
}

func TestKeyedMessageOnAForeignQueueIsCountedOrRefused(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("client")
	p.createTopic("Ordered", 8, "+message.type=FIFO")
	topic, _ := r.b.topic("Ordered")
	where := placement(topic)
	right, err := where.Queue("order-7")
	if err != nil {
		t.Fatal(err)
	}
	wrong := (right + 1) % 8
	p.send("Ordered", right, "x", msg.PropShardingKey, "order-7")
	p.send("Ordered", wrong, "x", msg.PropShardingKey, "order-7")
	if n := r.b.stats.misplaced.Load(); n != 1 {
		t.Errorf("%d misplaced messages counted", n)
	}
	p.createTopic("Ordered", 8, "+"+header.AttrLaneCheck+"=refuse")
	p.want(wire.InvalidParameter, wire.ReqSendMessageV2, sendHeader("Ordered", wrong, msg.PropShardingKey, "order-7"), []byte("x"))
	p.want(wire.Success, wire.ReqSendMessageV2, sendHeader("Ordered", right, msg.PropShardingKey, "order-7"), []byte("x"))
	p.want(wire.Success, wire.ReqSendMessageV2, sendHeader("Ordered", wrong, msg.PropShardingKey, "order-7"), []byte("x"), header.ExtSelector, "1")
}
