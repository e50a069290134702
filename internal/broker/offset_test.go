// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func TestOffsetsOfQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := r.connect("one")
		p.createTopic("T", 2, "")
		var at []int64
		for range 3 {
			time.Sleep(time.Second)
			at = append(at, time.Now().UnixMilli())
			p.send("T", 0, "x")
		}
		number := func(code int32, h wire.Encoder, name string) int64 {
			t.Helper()
			n, err := strconv.ParseInt(p.want(wire.Success, code, h, nil).Ext.Value(name), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		search := func(topic string, ms int64, boundary string) int64 {
			return number(wire.ReqSearchOffsetByTimestamp, &header.SearchOffset{Topic: topic, Timestamp: ms, BoundaryType: boundary}, "offset")
		}
		for _, c := range []struct {
			what      string
			got, want int64
		}{
			{"max", number(wire.ReqGetMaxOffset, &header.GetMaxOffset{Topic: "T"}, "offset"), 3},
			{"min", number(wire.ReqGetMinOffset, &header.GetMinOffset{Topic: "T"}, "offset"), 0},
			{"max of nothing", number(wire.ReqGetMaxOffset, &header.GetMaxOffset{Topic: "None"}, "offset"), 0},
			{"earliest", number(wire.ReqGetEarliestMsgStoreTime, &header.GetEarliestMsgStoreTime{Topic: "T"}, "timestamp"), at[0]},
			{"earliest of nothing", number(wire.ReqGetEarliestMsgStoreTime, &header.GetEarliestMsgStoreTime{Topic: "None"}, "timestamp"), -1},
			{"lower", search("T", at[1]-1, ""), 1},
			{"lower at", search("T", at[1], "LOWER"), 1},
			{"lower beyond", search("T", at[2]+1, "NONSENSE"), 3},
			{"upper", search("T", at[1]+1, "upper"), 1},
			{"upper beyond", search("T", at[2]+1, "UPPER"), 2},
			{"upper before", search("T", at[0]-1, "UPPER"), 0},
			{"of nothing", search("None", at[0], ""), 0},
		} {
			if c.got != c.want {
				t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
			}
		}
		p.want(wire.SystemError, wire.ReqGetMaxOffset, nil, nil, "topic", "T")
		p.want(wire.SystemError, wire.ReqGetMaxOffset, nil, nil, "topic", "T", "queueId", "x")
	})
}

func TestStockCommits(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("one")
	p.createTopic("T", 2, "")
	for range 5 {
		p.send("T", 0, "x")
	}
	p.want(wire.SubscriptionGroupNotExist, wire.ReqUpdateConsumerOffset, &header.UpdateConsumerOffset{ConsumerGroup: "G", Topic: "T"}, nil)
	p.beat("c1", "G", "T", "*")
	p.want(wire.TopicNotExist, wire.ReqUpdateConsumerOffset, &header.UpdateConsumerOffset{ConsumerGroup: "G", Topic: "None"}, nil)
	p.want(wire.InvalidParameter, wire.ReqUpdateConsumerOffset, nil, nil, "consumerGroup", "G", "topic", "T", "queueId", "0")
	p.want(wire.Success, wire.ReqUpdateConsumerOffset, &header.UpdateConsumerOffset{ConsumerGroup: "G", Topic: "T", QueueID: 99, CommitOffset: 1}, nil)
	steps := []struct{ commit, want int64 }{{3, 3}, {2, 2}, {-1, 2}, {99, 2}, {5, 5}}
	for _, s := range steps {
		if resp := p.commit("G", "T", 0, s.commit, 0); resp.Code != wire.Success {
			t.Errorf("commit %d: %d %s", s.commit, resp.Code, resp.Remark)
		}
		if got := p.position("G", "T", 0); got != s.want {
			t.Errorf("position %d after commit %d, want %d", got, s.commit, s.want)
		}
	}
}

func TestPositionsOfOrderedTopicsDoNotGoBack(t *testing.T) {
	r := newRig(t, nil)
	p, tool := r.connect("one"), r.connect("tool")
	p.createTopic("T", 2, "+message.type=FIFO")
	for range 5 {
		p.send("T", 0, "x")
	}
	p.beat("c1", "G", "T", "*")
	p.lock("c1", "G", "T", 0)
	p.commit("G", "T", 0, 3, 0)
	p.commit("G", "T", 0, 1, 0)
	if got := p.position("G", "T", 0); got != 3 {
		t.Errorf("position %d", got)
	}
	// A tool that is no member may set it back; the holder moves there first.
	tool.commit("G", "T", 0, 1, 0)
	if got := p.position("G", "T", 0); got != 1 {
		t.Errorf("position %d after the tool's commit", got)
	}
	p.commit("G", "T", 0, 4, 0)
	if got := p.position("G", "T", 0); got != 1 {
		t.Errorf("position %d: a commit from before the reset counted", got)
	}
	p.commit("G", "T", 0, 1, 0)
	p.commit("G", "T", 0, 2, 0)
	if got := p.position("G", "T", 0); got != 2 {
		t.Errorf("position %d after the reset was taken up", got)
	}
	if g, ok := r.b.meta.View().Group("G"); !ok || !g.Ordered {
		t.Error("the group has not inherited the rules of order")
	}
}

func TestNewGroupsStartPosition(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("one")
	p.createTopic("T", 2, "")
	p.send("T", 0, "x")
	q := &header.QueryConsumerOffset{ConsumerGroup: "G", Topic: "T", QueueID: 0}
	if resp := p.want(wire.Success, wire.ReqQueryConsumerOffset, q, nil); resp.Ext.Value("offset") != "0" {
		t.Errorf("a young queue: %v", resp.Ext)
	}
	q.SetZeroIfNotFound = header.Some(false)
	p.want(wire.QueryNotFound, wire.ReqQueryConsumerOffset, q, nil)
	q.SetZeroIfNotFound, q.QueueID = header.Opt[bool]{}, 1
	p.want(wire.QueryNotFound, wire.ReqQueryConsumerOffset, q, nil)
}

// TestResetByTool resets a group that runs: a member that takes no notices is
// moved with its next pull, commits from before are ignored.
func TestResetByTool(t *testing.T) {
	r := newRig(t, nil)
	p, tool := r.connect("one"), r.connect("tool")
	p.language = wire.LanguageOther
	p.createTopic("T", 2, "")
	for range 5 {
		p.send("T", 0, "x")
	}
	p.beat("c1", "G", "T", "*")
	p.lock("c1", "G", "T", 0, 1)
	p.commit("G", "T", 0, 5, 0)
	reset := &header.InvokeBrokerToResetOffset{Topic: "T", Group: "G", Timestamp: header.Some(int64(0)), IsForce: true}
	var table body.ResetOffset
	if err := table.Decode(tool.want(wire.Success, wire.ReqInvokeBrokerToResetOffset, reset, nil).Body); err != nil || len(table.OffsetTable) != 2 {
		t.Fatalf("%+v, %v", table, err)
	}
	if got := p.position("G", "T", 0); got != 0 {
		t.Errorf("position %d", got)
	}
	if resp := p.commit("G", "T", 0, 5, 0); resp.Code != wire.Success || resp.Remark == "" {
		t.Errorf("commit from before: %d %q", resp.Code, resp.Remark)
	}
	code, h, _ := p.pull(pullHeader("G", "T", 0, 5))
	if code != wire.PullOffsetMoved || h.NextBeginOffset != 0 {
		t.Errorf("pull from before: %s, next %d", wire.ResponseName(code), h.NextBeginOffset)
	}
	if code, _, msgs := p.pull(pullHeader("G", "T", 0, 0)); code != wire.Success || len(msgs) != 5 {
		t.Errorf("pull at the new position: %s", wire.ResponseName(code))
	}
	p.commit("G", "T", 0, 4, 0)
	if got := p.position("G", "T", 0); got != 4 {
		t.Errorf("position %d after the reset was taken up", got)
	}
	reset.Topic = "None"
	tool.want(wire.TopicNotExist, wire.ReqInvokeBrokerToResetOffset, reset, nil)
	reset.Topic, reset.QueueID, reset.Offset = "T", header.Some(int32(0)), header.Some(int64(99))
	tool.want(wire.SystemError, wire.ReqInvokeBrokerToResetOffset, reset, nil)
	reset.Offset = header.Some(int64(2))
	tool.want(wire.Success, wire.ReqInvokeBrokerToResetOffset, reset, nil)
	if got := p.position("G", "T", 0); got != 2 {
		t.Errorf("position %d after the second reset", got)
	}
}

func TestForeignPullOfALockedQueueIsParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p, q := r.connect("one"), r.connect("two")
		p.createTopic("T", 1, "+message.type=FIFO")
		p.send("T", 0, "x")
		p.beat("c1", "G", "T", "*")
		q.beat("c2", "G", "T", "*")
		p.lock("c1", "G", "T", 0)
		h := pullHeader("G", "T", 0, 0)
		h.SysFlag |= header.PullSuspend
		start := time.Now()
		code, _, msgs := q.pull(h)
		if code != wire.PullNotFound || len(msgs) != 0 || time.Since(start) < 15*time.Second {
			t.Errorf("foreign pull: %s, %d messages, after %v", wire.ResponseName(code), len(msgs), time.Since(start))
		}
		if code, _, _ := p.pull(h); code != wire.Success {
			t.Errorf("pull of the holder: %s", wire.ResponseName(code))
		}
	})
}

func TestCommitRidesOnPull(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("one")
	p.createTopic("T", 1, "")
	for range 3 {
		p.send("T", 0, "x")
	}
	p.beat("c1", "G", "T", "*")
	h := pullHeader("G", "T", 0, 2)
	h.SysFlag |= header.PullCommitOffset
	h.CommitOffset = 2
	p.pull(h)
	if got := p.position("G", "T", 0); got != 2 {
		t.Errorf("position %d", got)
	}
}

func TestProgressIsKeptAndGivenBack(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("one")
	p.createTopic("T", 1, "+message.type=FIFO")
	for range 9 {
		p.send("T", 0, "x")
	}
	p.openSession("c1", "G", "T")
	_, grants := p.lock("c1", "G", "T", 0)
	for range 11 {
		p.send("T", 0, "x")
	}
	epoch := strconv.FormatUint(grants.Grants[0].Epoch, 10)
	h := &header.UpdateConsumerOffset{ConsumerGroup: "G", Topic: "T", CommitOffset: 9}
	p.want(wire.Success, wire.ReqUpdateConsumerOffset, h, nil, header.ExtSession, p.token(), header.ExtEpoch, epoch)
	p.want(wire.Success, wire.ReqUpdateConsumerOffset, h, nil, header.ExtSession, p.token(), header.ExtEpoch, epoch,
		header.ExtRanges, "11-12,15-20", header.ExtAttempts, "9:2")
	_, grants = p.lock("c1", "G", "T", 0)
	want := header.Progress{Ranges: "11-12,15-20", Attempts: "9:2"}
	if grants.Grants[0].Start != 9 || grants.Grants[0].Progress != want {
		t.Errorf("given back %+v", grants.Grants[0])
	}
	resp := p.want(wire.Success, wire.ReqQueryConsumerOffset, &header.QueryConsumerOffset{ConsumerGroup: "G", Topic: "T"}, nil, header.ExtSession, p.token())
	if resp.Ext.Value(header.ExtRanges) != want.Ranges || resp.Ext.Value(header.ExtEpoch) != epoch {
		t.Errorf("query: %v", resp.Ext)
	}
	p.want(wire.InvalidParameter, wire.ReqUpdateConsumerOffset, h, nil, header.ExtSession, p.token(), header.ExtEpoch, epoch, header.ExtRanges, "nonsense")
}
