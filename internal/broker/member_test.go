// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func (p *peer) consumers(group string) []string {
	p.t.Helper()
	resp := p.do(wire.ReqGetConsumerListByGroup, &header.GetConsumerList{ConsumerGroup: group}, nil)
	if resp.Code != wire.Success {
		return nil
	}
	var list body.ConsumerList
	if err := list.Decode(resp.Body); err != nil {
		p.t.Fatal(err)
	}
	return list.ClientIDs
}

func TestMembersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p, q := r.connect("one"), r.connect("two")
		p.createTopic("T", 4, "")
		if ids := p.consumers("G"); ids != nil {
			t.Fatalf("consumers of nothing: %v", ids)
		}
		resp := p.beat("c1", "G", "T", "*")
		if resp.Ext.Value("IS_SUPPORT_HEART_BEAT_V2") != "true" || resp.Ext.Value("IS_SUB_CHANGE") != "true" {
			t.Errorf("heartbeat answer %v", resp.Ext)
		}
		synctest.Wait()
		if p.notices("G") != 1 {
			t.Errorf("%d notices to the member that joined", p.notices("G"))
		}
		p.beat("c1", "G", "T", "*")
		q.beat("c2", "G", "T", "*")
		synctest.Wait()
		if p.notices("G") != 2 || q.notices("G") != 1 {
			t.Errorf("notices after the second member: %d, %d", p.notices("G"), q.notices("G"))
		}
		if ids := p.consumers("G"); !slices.Equal(ids, []string{"c1", "c2"}) {
			t.Errorf("consumers %v", ids)
		}
		if _, ok := r.b.topic("%RETRY%G"); !ok {
			t.Error("no retry topic")
		}
		q.close()
		synctest.Wait()
		if ids := p.consumers("G"); !slices.Equal(ids, []string{"c1"}) || p.notices("G") != 3 {
			t.Errorf("after the second has gone: %v, %d notices", ids, p.notices("G"))
		}
		p.want(wire.Success, wire.ReqUnregisterClient, &header.UnregisterClient{ClientID: "c1", ConsumerGroup: "G"}, nil)
		if ids := p.consumers("G"); ids != nil {
			t.Errorf("consumers after all have left: %v", ids)
		}
	})
}

func TestBroadcastingMembersGetNoNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := r.connect("one")
		p.createTopic("T", 4, "")
		p.beatWith("c1", body.ConsumerData{GroupName: "G", ConsumeType: body.ConsumePassively, MessageModel: body.Broadcasting})
		synctest.Wait()
		if p.notices("G") != 0 {
			t.Error("a broadcasting member was notified")
		}
		if _, ok := r.b.topic("%RETRY%G"); ok {
			t.Error("a broadcasting group has a retry topic")
		}
	})
}

func TestSilentClientExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p, q := r.connect("one"), r.connect("two")
		p.createTopic("T", 4, "")
		p.beat("c1", "G", "T", "*")
		q.beat("c2", "G", "T", "*")
		for range 14 { // q goes on, and p's connection is busy with other things
			time.Sleep(10 * time.Second)
			q.beat("c2", "G", "T", "*")
			if p.conn.Err() == nil {
				_ = p.conn.Send(p.request(wire.ReqGetMaxOffset, &header.GetMaxOffset{Topic: "T"}, nil))
			}
		}
		if ids := q.consumers("G"); !slices.Equal(ids, []string{"c2"}) {
			t.Errorf("consumers %v", ids)
		}
		if p.conn.Err() == nil {
			t.Error("the silent client's connection is still open")
		}
	})
}

func TestHeartbeatV2(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("one")
	p.createTopic("T", 4, "")
	beat := func(fingerprint int32, without bool) string {
		t.Helper()
		cd := body.ConsumerData{GroupName: "G", MessageModel: body.Clustering}
		if !without {
			cd.Subscriptions = []body.SubscriptionData{{Topic: "T", SubString: "*", SubVersion: int64(fingerprint), ExpressionType: "TAG"}}
		}
		data := (&body.HeartbeatData{ClientID: "c1", Consumers: []body.ConsumerData{cd}, Fingerprint: fingerprint, WithoutSub: without}).Encode()
		return p.want(wire.Success, wire.ReqHeartBeat, nil, data).Ext.Value("IS_SUB_CHANGE")
	}
	steps := []struct {
		fingerprint int32
		without     bool
		want        string
	}{
		{7, false, "false"}, {7, true, "false"}, {8, true, "true"}, {8, false, "false"}, {8, true, "false"},
	}
	for i, s := range steps {
		if got := beat(s.fingerprint, s.without); got != s.want {
			t.Errorf("step %d: IS_SUB_CHANGE %s, want %s", i, got, s.want)
		}
	}
	r.b.group("G").mu.Lock()
	kept := r.b.group("G").members.subs["T"] != nil
	r.b.group("G").mu.Unlock()
	if !kept {
		t.Error("a heartbeat without subscriptions has dropped them")
	}
}

func TestBadHeartbeats(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("one")
	p.want(wire.SystemError, wire.ReqHeartBeat, nil, nil)
	p.want(wire.SystemError, wire.ReqHeartBeat, nil, []byte("garbage"))
	p.want(wire.Success, wire.ReqHeartBeat, nil, []byte("{}"))
	p.beatWith("c1", body.ConsumerData{GroupName: "bad group!"})
	p.want(wire.SystemError, wire.ReqHeartBeat, nil, (&body.HeartbeatData{Consumers: []body.ConsumerData{{GroupName: "G"}}}).Encode())
}

func TestGroupsAreSkippedIfTheyMayNotBeMade(t *testing.T) {
	r := newRig(t, func(c *Config) { c.DisableAutoCreateGroup = true })
	p := r.connect("one")
	p.createTopic("T", 1, "")
	p.beat("c1", "G", "T", "*")
	if ids := p.consumers("G"); ids != nil {
		t.Errorf("consumers %v", ids)
	}
	p.want(wire.SubscriptionGroupNotExist, wire.ReqPullMessage, pullHeader("G", "T", 0, 0), nil)
	p.want(wire.SubscriptionGroupNotExist, wire.ReqConsumerSendMsgBack, &header.ConsumerSendMsgBack{Group: "G"}, nil)
	p.want(wire.SubscriptionGroupNotExist, wire.ReqGetSubscriptionGroupConfig, &header.GetSubscriptionGroupConfig{Group: "G"}, nil)
}

func TestConnectionsAreListed(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("one")
	p.createTopic("T", 1, "")
	p.beat("c1", "G", "T", "TagA || TagB")
	var cc body.ConsumerConnection
	if err := cc.Decode(p.want(wire.Success, wire.ReqGetConsumerConnectionList, &header.GetConsumerConnectionList{ConsumerGroup: "G"}, nil).Body); err != nil {
		t.Fatal(err)
	}
	if len(cc.Connections) != 1 || cc.Connections[0].ClientID != "c1" || cc.SubscriptionTable["T"].SubString != "TagA || TagB" {
		t.Errorf("%+v", cc)
	}
	p.want(wire.ConsumerNotOnline, wire.ReqGetConsumerConnectionList, &header.GetConsumerConnectionList{ConsumerGroup: "X"}, nil)
	p.want(wire.SystemError, wire.ReqGetProducerConnectionList, &header.GetProducerConnectionList{ProducerGroup: "PG"}, nil)
	p.want(wire.Success, wire.ReqHeartBeat, nil, (&body.HeartbeatData{ClientID: "c1", Producers: []string{"PG"}}).Encode())
	var pc body.ProducerConnection
	if err := pc.Decode(p.want(wire.Success, wire.ReqGetProducerConnectionList, &header.GetProducerConnectionList{ProducerGroup: "PG"}, nil).Body); err != nil || len(pc.Connections) != 1 {
		t.Errorf("%+v, %v", pc, err)
	}
}

func TestRequestsAreRelayedToClients(t *testing.T) {
	r := newRig(t, nil)
	p, tool := r.connect("one"), r.connect("tool")
	p.createTopic("T", 1, "")
	sent := p.send("T", 0, "look at me")
	p.beat("c1", "G", "T", "*")
	resp := tool.want(wire.Success, wire.ReqGetConsumerRunningInfo, &header.GetConsumerRunningInfo{ConsumerGroup: "G", ClientID: "c1"}, nil)
	if string(resp.Body) != `{"answer":"of client"}` {
		t.Errorf("relayed answer %q", resp.Body)
	}
	tool.want(wire.SystemError, wire.ReqGetConsumerRunningInfo, &header.GetConsumerRunningInfo{ConsumerGroup: "G", ClientID: "nobody"}, nil)
	tool.want(wire.Success, wire.ReqConsumeMessageDirectly, &header.ConsumeMessageDirectly{ConsumerGroup: "G", ClientID: "c1", MsgID: sent.MsgID}, nil)
	p.mu.Lock()
	last := p.asked[len(p.asked)-1]
	p.mu.Unlock()
	if last.Code != wire.ReqConsumeMessageDirectly || last.Ext.Value("brokerName") != "broker-a" || len(last.Body) < 88 {
		t.Errorf("the client was asked %d %v, %d bytes", last.Code, last.Ext, len(last.Body))
	}
	tool.want(wire.Success, wire.ReqInvokeBrokerToGetConsumerStatus, &header.GetConsumerStatus{Topic: "T", Group: "G"}, nil)
}
