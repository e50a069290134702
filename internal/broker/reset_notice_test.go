// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// resets are the resets that a client was told of, one table per notice.
func (p *peer) resets() (tables []body.ResetOffset) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, req := range p.asked {
		if req.Code != wire.ReqResetConsumerClientOffset {
			continue
		}
		var h header.ResetConsumerClientOffset
		var table body.ResetOffset
		if err := h.Decode(req.Ext); err != nil || !req.IsOneway() || h.Group != "G" || h.Topic != "T" {
			p.t.Errorf("notice %+v, %v", req, err)
		}
		if err := table.Decode(req.Body); err != nil {
			p.t.Error(err)
		}
		tables = append(tables, table)
	}
	return tables
}

func queueOfT(id int32) body.MessageQueue {
	return body.MessageQueue{Topic: "T", BrokerName: "broker-a", QueueID: id}
}

// longPull is a pull that waits up to 15 s.
func longPull(queue int32, offset int64) *header.PullMessage {
	h := pullHeader("G", "T", queue, offset)
	h.SysFlag |= header.PullSuspend
	return h
}

// TestResetOfRunningStockMembers plays what the Java and Go clients do when they
// are told of a reset: they drop the queues, wait 10 s, commit the new positions
// and take the queues up again. Until then nothing that they send counts.
func TestResetOfRunningStockMembers(t *testing.T) {
	for _, language := range []wire.Language{wire.LanguageJava, wire.LanguageGo} {
		t.Run(language.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playReset(t, language) })
		})
	}
}

func playReset(t *testing.T, language wire.Language) {
	r := newRig(t, nil)
	p, other, tool := r.connect("one"), r.connect("two"), r.connect("tool")
	p.language = language
	p.createTopic("T", 3, "+message.type=FIFO")
	for range 5 {
		p.send("T", 0, "x")
		p.send("T", 1, "x")
	}
	p.beat("c1", "G", "T", "*")
	other.beat("c2", "G", "T", "*")
	p.lock("c1", "G", "T", 0, 1)
	other.lock("c2", "G", "T", 2)
	p.commit("G", "T", 0, 5, 0)
	p.commit("G", "T", 1, 5, 0)
	synctest.Wait() // the messages have woken whom they may wake
	waits := p.later(wire.ReqPullMessage, longPull(0, 5), nil)
	synctest.Wait()
	for queue, to := range []int64{2, 3} {
		tool.want(wire.Success, wire.ReqInvokeBrokerToResetOffset, &header.InvokeBrokerToResetOffset{
			Topic: "T", Group: "G", QueueID: header.Some(int32(queue)), Offset: header.Some(to),
		}, nil)
	}
	if code, h, _ := pulled(t, <-waits); code != wire.PullNotFound || h.NextBeginOffset != 2 {
		t.Errorf("the pull that waited: %s, next %d; want an empty answer that names the new position", wire.ResponseName(code), h.NextBeginOffset)
	}
	time.Sleep(2 * noticeDelay)
	synctest.Wait()
	tables := p.resets()
	if len(tables) != 1 || len(tables[0].OffsetTable) != 2 || tables[0].OffsetTable[queueOfT(0)] != 2 || tables[0].OffsetTable[queueOfT(1)] != 3 {
		t.Errorf("told of %v, want both resets in one notice", tables)
	}
	if tables := other.resets(); len(tables) != 0 {
		t.Errorf("a member that holds none of the queues was told of %v", tables)
	}
	// Still on its way when the notice comes: pulls and commits from before, one
	// of them at the new position by chance.
	for _, at := range []int64{5, 2} {
		if code, h, _ := p.pull(longPull(0, at)); code != wire.PullNotFound || h.NextBeginOffset != 2 {
			t.Errorf("pull at %d before the reset is taken up: %s, next %d", at, wire.ResponseName(code), h.NextBeginOffset)
		}
		if at == 5 { // the first wait has used up the time in which it is busy
			tool.commit("G", "T", 0, 2, 0)
		}
	}
	for _, stale := range []int64{5, 4, 3} {
		if resp := p.commit("G", "T", 0, stale, 0); resp.Code != wire.Success {
			t.Errorf("commit %d: %d %s", stale, resp.Code, resp.Remark)
		}
		if got := p.position("G", "T", 0); got != 2 {
			t.Errorf("position %d after a commit from before the reset, want 2", got)
		}
	}
	p.commit("G", "T", 0, 2, 0)
	code, _, msgs := p.pull(longPull(0, 2))
	if code != wire.Success || len(msgs) != 3 {
		t.Errorf("pull after the reset was taken up: %s, %d messages", wire.ResponseName(code), len(msgs))
	}
	p.commit("G", "T", 0, 4, 0)
	if got := p.position("G", "T", 0); got != 4 {
		t.Errorf("position %d after the reset was taken up, want 4", got)
	}
}

// TestResetEndsWaitingPulls: whoever takes no notice learns of a reset by the
// answer to the pull that waits, at once.
func TestResetEndsWaitingPulls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p, ours, tool := r.connect("one"), r.connect("two"), r.connect("tool")
		p.language = wire.LanguageOther
		p.createTopic("T", 2, "+message.type=FIFO")
		for range 5 {
			p.send("T", 0, "x")
			p.send("T", 1, "x")
		}
		p.beat("c1", "G", "T", "*")
		p.lock("c1", "G", "T", 0)
		ours.openSession("c2", "G", "T")
		_, grants := ours.lock("c2", "G", "T", 1)
		synctest.Wait() // the messages have woken whom they may wake
		stock := p.later(wire.ReqPullMessage, longPull(0, 5), nil)
		own := ours.later(wire.ReqPullMessage, longPull(1, 5), nil, header.ExtSession, ours.token(), header.ExtEpoch, epochText(grants, 0))
		synctest.Wait()
		start := time.Now()
		tool.want(wire.Success, wire.ReqInvokeBrokerToResetOffset, &header.InvokeBrokerToResetOffset{Topic: "T", Group: "G", Timestamp: header.Some(int64(0))}, nil)
		if code, h, _ := pulled(t, <-stock); code != wire.PullOffsetMoved || h.NextBeginOffset != 0 {
			t.Errorf("stock: %s, next %d", wire.ResponseName(code), h.NextBeginOffset)
		}
		if resp := <-own; resp.Code != wire.CodeFenced {
			t.Errorf("ours: %s", wire.ResponseName(resp.Code))
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("answered after %v", took)
		}
		if tables := append(p.resets(), ours.resets()...); len(tables) != 0 {
			t.Errorf("told of %v", tables)
		}
		_, grants = ours.lock("c2", "G", "T", 1)
		if grants.Grants[0].Start != 0 {
			t.Errorf("locked again at %d", grants.Grants[0].Start)
		}
	})
}

// TestResetByCommit: a tool that is no member resets a running group by commits,
// one per queue; its members are told as of any other reset.
func TestResetByCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p, tool := r.connect("one"), r.connect("tool")
		p.createTopic("T", 2, "+message.type=FIFO")
		for range 5 {
			p.send("T", 0, "x")
			p.send("T", 1, "x")
		}
		p.beat("c1", "G", "T", "*")
		p.lock("c1", "G", "T", 0, 1)
		p.commit("G", "T", 0, 5, 0)
		tool.commit("G", "T", 0, 1, 0)
		tool.commit("G", "T", 1, 4, 0)
		time.Sleep(2 * noticeDelay)
		synctest.Wait()
		if tables := p.resets(); len(tables) != 1 || tables[0].OffsetTable[queueOfT(0)] != 1 || tables[0].OffsetTable[queueOfT(1)] != 4 {
			t.Errorf("told of %v", tables)
		}
		p.commit("G", "T", 0, 5, 0)
		r.restart()
		again := r.connect("one")
		again.beat("c1", "G", "T", "*")
		again.lock("c1", "G", "T", 0)
		again.commit("G", "T", 0, 5, 0)
		if got := again.position("G", "T", 0); got != 1 {
			t.Errorf("position %d after a restart and a commit from before the reset", got)
		}
		if code, h, _ := again.pull(longPull(0, 5)); code != wire.PullOffsetMoved || h.NextBeginOffset != 1 {
			t.Errorf("pull from before the reset, after a restart: %s, next %d", wire.ResponseName(code), h.NextBeginOffset)
		}
		again.pull(longPull(0, 1))
		again.commit("G", "T", 0, 3, 0)
		if got := again.position("G", "T", 0); got != 3 {
			t.Errorf("position %d after the reset was taken up by a pull", got)
		}
	})
}
