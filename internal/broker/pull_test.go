// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func TestPullAnswers(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("client")
	p.createTopic("T", 4, "")
	for i := range 5 {
		p.send("T", 0, fmt.Sprint(i), msg.PropTags, []string{"A", "B"}[i%2])
	}
	noWait := func(change func(*header.PullMessage)) *header.PullMessage {
		h := pullHeader("G", "T", 0, 0)
		change(h)
		return h
	}
	tests := []struct {
		name string
		h    *header.PullMessage
		code int32
		next int64
		want []string
	}{
		{"found", noWait(func(*header.PullMessage) {}), wire.Success, 5, []string{"0", "1", "2", "3", "4"}},
		{"some", noWait(func(h *header.PullMessage) { h.MaxMsgNums = 2 }), wire.Success, 2, []string{"0", "1"}},
		{"at least one", noWait(func(h *header.PullMessage) { h.MaxMsgNums = 0 }), wire.Success, 1, []string{"0"}},
		{"bytes", noWait(func(h *header.PullMessage) { h.MaxMsgBytes = header.Some(int32(1)) }), wire.Success, 1, []string{"0"}},
		{"tag", noWait(func(h *header.PullMessage) { h.Subscription = "B" }), wire.Success, 5, []string{"1", "3"}},
		{"no match", noWait(func(h *header.PullMessage) { h.Subscription = "C" }), wire.PullRetryImmediately, 5, nil},
		{"no tag named", noWait(func(h *header.PullMessage) { h.Subscription = "|| ||" }), wire.PullRetryImmediately, 5, nil},
		{"odd type", noWait(func(h *header.PullMessage) { h.ExpressionType = "NOTYPE" }), wire.Success, 5, []string{"0", "1", "2", "3", "4"}},
		{"end", noWait(func(h *header.PullMessage) { h.QueueOffset = 5 }), wire.PullNotFound, 5, nil},
		{"beyond", noWait(func(h *header.PullMessage) { h.QueueOffset = 6 }), wire.PullOffsetMoved, 5, nil},
		{"below", noWait(func(h *header.PullMessage) { h.QueueOffset = -1 }), wire.PullOffsetMoved, 0, nil},
		{"empty", noWait(func(h *header.PullMessage) { h.QueueID = 1 }), wire.PullNotFound, 0, nil},
		{"empty, not at its start", noWait(func(h *header.PullMessage) { h.QueueID, h.QueueOffset = 1, 3 }), wire.PullOffsetMoved, 0, nil},
	}
	for _, tt := range tests {
		code, h, msgs := p.pull(tt.h)
		if code != tt.code || h.NextBeginOffset != tt.next || !slices.Equal(texts(msgs), tt.want) {
			t.Errorf("%s: %s, next %d, %q; want %s, %d, %q", tt.name,
				wire.ResponseName(code), h.NextBeginOffset, texts(msgs), wire.ResponseName(tt.code), tt.next, tt.want)
		}
	}
}

func TestPullErrors(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("client")
	p.createTopic("T", 1, "")
	p.createTopic("Other", 1, "")
	p.createTopic("Ordered", 1, "+message.type=FIFO")
	p.want(wire.Success, wire.ReqUpdateAndCreateTopic, &header.CreateTopic{
		Topic: "WriteOnly", ReadQueueNums: 1, WriteQueueNums: 1, Perm: 2, TopicFilterType: "SINGLE_TAG",
	}, nil)
	p.beat("c1", "Online", "T", "*")
	r.connect("all").beat("c2", "All", "Ordered", "*")
	r.connect("some").beat("c3", "Some", "Ordered", "A")
	plain := func(group, topic string) *header.PullMessage {
		h := pullHeader(group, topic, 0, 0)
		h.SysFlag = 0
		return h
	}
	with := func(h *header.PullMessage, change func(*header.PullMessage)) *header.PullMessage {
		change(h)
		return h
	}
	tests := []struct {
		name string
		h    *header.PullMessage
		want int32
	}{
		{"subscribed", plain("Online", "T"), wire.PullNotFound},
		{"nobody online", plain("Offline", "T"), wire.SubscriptionNotExist},
		{"other topic", plain("Online", "Other"), wire.SubscriptionNotExist},
		{"newer subscription", with(plain("Online", "T"), func(h *header.PullMessage) { h.SubVersion = 2 }), wire.SubscriptionNotLatest},
		{"ordered, newer subscription", with(plain("Some", "Ordered"), func(h *header.PullMessage) { h.SubVersion = 2 }), wire.SubscriptionNotLatest},
		{"ordered, newer subscription to all", with(plain("All", "Ordered"), func(h *header.PullMessage) { h.SubVersion = 2 }), wire.PullNotFound},
		{"no topic", plain("Online", "Missing"), wire.TopicNotExist},
		{"queue beyond", with(plain("Online", "T"), func(h *header.PullMessage) { h.QueueID = 1 }), wire.InvalidParameter},
		{"negative queue", with(plain("Online", "T"), func(h *header.PullMessage) { h.QueueID = -1 }), wire.InvalidParameter},
		{"not readable", plain("Online", "WriteOnly"), wire.NoPermission},
		{"sql", with(pullHeader("Online", "T", 0, 0), func(h *header.PullMessage) { h.ExpressionType = "SQL92" }), wire.SystemError},
		{"bad group", plain("bad group!", "T"), wire.SubscriptionGroupNotExist},
	}
	for _, tt := range tests {
		if code, _, _ := p.pull(tt.h); code != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, wire.ResponseName(code), wire.ResponseName(tt.want))
		}
	}
	if resp := p.do(wire.ReqPullMessage, plain("Online", "WriteOnly"), nil); resp.Ext.Value("forbiddenType") != "3" {
		t.Errorf("forbidden type: %v", resp.Ext)
	}
	p.want(wire.SystemError, wire.ReqPullMessage, nil, nil, "consumerGroup", "G")
}

func TestLongPollIsWokenByAMessageItWants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := r.connect("client")
		p.createTopic("T", 1, "")
		h := pullHeader("G", "T", 0, 0)
		h.SysFlag |= header.PullSuspend
		h.Subscription = "B"
		answer := p.later(wire.ReqPullMessage, h, nil)
		synctest.Wait()
		if n := r.b.holds.size(); n != 1 {
			t.Fatalf("%d pulls wait", n)
		}
		p.send("T", 0, "not wanted", msg.PropTags, "A")
		synctest.Wait()
		if n := r.b.holds.size(); n != 1 {
			t.Fatalf("%d pulls wait after a message of another tag", n)
		}
		start := time.Now()
		p.send("T", 0, "wanted", msg.PropTags, "B")
		code, ph, msgs := pulled(t, <-answer)
		if code != wire.Success || ph.NextBeginOffset != 2 || !slices.Equal(texts(msgs), []string{"wanted"}) {
			t.Errorf("%d %+v %q", code, ph, texts(msgs))
		}
		if took := time.Since(start); took > 100*time.Millisecond {
			t.Errorf("woken after %v", took)
		}
	})
}

func TestLongPollEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := r.connect("client")
		p.createTopic("T", 1, "")
		p.send("T", 0, "x")
		h := pullHeader("G", "T", 0, 1)
		h.SysFlag |= header.PullSuspend
		start := time.Now()
		code, ph, _ := p.pull(h)
		if took := time.Since(start); code != wire.PullNotFound || took != 15*time.Second {
			t.Errorf("%s after %v", wire.ResponseName(code), took)
		}
		if ph.NextBeginOffset != 1 || ph.MaxOffset != 1 || ph.MinOffset != 0 {
			t.Errorf("%+v", ph)
		}
		if n := r.b.holds.size(); n != 0 {
			t.Errorf("%d pulls still wait", n)
		}
	})
}

func TestHoldsEndWithTheirConnectionAndWithTheBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p, q := r.connect("client"), r.connect("other")
		p.createTopic("T", 8, "")
		for i := range int32(8) {
			h := pullHeader("G", "T", i, 0)
			h.SysFlag |= header.PullSuspend
			p.later(wire.ReqPullMessage, h, nil)
		}
		h := pullHeader("G", "T", 0, 0)
		h.SysFlag |= header.PullSuspend
		answer := q.later(wire.ReqPullMessage, h, nil)
		synctest.Wait()
		if n := r.b.holds.size(); n != 9 {
			t.Fatalf("%d pulls wait", n)
		}
		p.close()
		synctest.Wait()
		if n := r.b.holds.size(); n != 1 {
			t.Fatalf("%d pulls wait after their connection ended", n)
		}
		start := time.Now()
		r.stop()
		if resp := <-answer; resp == nil || resp.Code != wire.PullNotFound {
			t.Errorf("held pull at the end of the broker: %+v", resp)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("close took %v", took)
		}
	})
}

func TestTooManyHoldsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.MaxHolds = 2 })
		p := r.connect("client")
		p.createTopic("T", 3, "")
		for i := range int32(2) {
			h := pullHeader("G", "T", i, 0)
			h.SysFlag |= header.PullSuspend
			p.later(wire.ReqPullMessage, h, nil)
		}
		synctest.Wait()
		h := pullHeader("G", "T", 2, 0)
		h.SysFlag |= header.PullSuspend
		p.want(wire.SystemBusy, wire.ReqPullMessage, h, nil)
	})
}

// TestWatchdogWakesPullsThatWereForgotten takes the wake-up away that a message
// gives to the pulls that wait for it.
func TestWatchdogWakesPullsThatWereForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := r.connect("client")
		p.createTopic("T", 1, "")
		wanting, other := pullHeader("G", "T", 0, 0), pullHeader("G", "T", 0, 0)
		wanting.SysFlag |= header.PullSuspend
		other.SysFlag |= header.PullSuspend
		other.Subscription = "B"
		answer, no := p.later(wire.ReqPullMessage, wanting, nil), r.connect("other").later(wire.ReqPullMessage, other, nil)
		time.Sleep(rescuePeriod / 2)
		r.b.holds.mu.Lock()
		r.b.holds.numb = true
		r.b.holds.mu.Unlock()
		p.send("T", 0, "here", msg.PropTags, "A")
		sent := time.Now()
		code, _, msgs := pulled(t, <-answer)
		if took := time.Since(sent); code != wire.Success || len(msgs) != 1 || took > 2*rescuePeriod {
			t.Errorf("%s, %d messages, after %v", wire.ResponseName(code), len(msgs), took)
		}
		if n := p.runtimeInfo()[body.InfoRescued]; n != "1" {
			t.Errorf("%s rescues", n)
		}
		if code, _, _ = pulled(t, <-no); code == wire.Success {
			t.Error("a pull got a message that it does not want")
		}
	})
}
