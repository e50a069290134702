// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func TestStockLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p, q := r.connect("one"), r.connect("two")
		p.createTopic("T", 4, "")
		p.beat("c1", "G", "T", "*")
		q.beat("c2", "G", "T", "*")
		if ids, _ := p.lock("c1", "G", "T", 0, 1); !slices.Equal(ids, []int32{0, 1}) {
			t.Errorf("granted %v", ids)
		}
		if ids, _ := q.lock("c2", "G", "T", 1, 2); !slices.Equal(ids, []int32{2}) {
			t.Errorf("granted %v", ids)
		}
		var stats body.ConsumeStats
		if err := stats.Decode(p.want(wire.Success, wire.ReqGetConsumeStats, &header.GetConsumeStats{ConsumerGroup: "G"}, nil, header.ExtHolders, "1").Body); err != nil {
			t.Fatal(err)
		}
		if h := stats.Holders; len(h) != 3 || h[1].Holder != "c1" || h[1].Why != "held" || h[1].Waiting != 1 || !slices.Equal(h[1].Waiters, []string{"c2"}) || h[1].Until-h[1].Since != 60_000 {
			t.Errorf("holders %+v", h)
		}
		if ids, _ := p.lock("c1", "G", "T", 0, 1, 99); !slices.Equal(ids, []int32{0, 1}) {
			t.Errorf("granted again %v", ids)
		}
		before := q.notices("G")
		p.unlock("c1", "G", "T", 1)
		synctest.Wait()
		if q.notices("G") != before+1 {
			t.Error("nobody was told of the free queue")
		}
		if ids, _ := q.lock("c2", "G", "T", 1); !slices.Equal(ids, []int32{1}) {
			t.Errorf("granted after the unlock %v", ids)
		}
	})
}

func TestStockHolderKeepsItsQueueAsLongAsRocketMQLetsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p, q := r.connect("one"), r.connect("two")
		p.createTopic("T", 1, "")
		p.beat("c1", "G", "T", "*")
		q.beat("c2", "G", "T", "*")
		p.lock("c1", "G", "T", 0)
		start := time.Now()
		p.close()
		for {
			if ids, _ := q.lock("c2", "G", "T", 0); len(ids) == 1 {
				break
			}
			time.Sleep(500 * time.Millisecond)
		}
		if took := time.Since(start); took < 31*time.Second || took > 32*time.Second {
			t.Errorf("taken over after %v", took)
		}
	})
}

func TestBadLocks(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("one")
	p.want(wire.SystemError, wire.ReqLockBatchMQ, nil, nil)
	p.want(wire.SystemError, wire.ReqLockBatchMQ, nil, []byte("garbage"))
	p.want(wire.SystemError, wire.ReqUnlockBatchMQ, nil, nil)
	if ids, _ := p.lock("c1", "G", "T"); len(ids) != 0 {
		t.Errorf("granted %v", ids)
	}
}

// TestSessionsAreFenced plays the take-over of a member of ours: its queue goes
// to another after the grace, under a larger epoch, and what it then sends is
// refused.
func TestSessionsAreFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p, q := r.connect("one"), r.connect("two")
		p.createTopic("T", 2, "+message.type=FIFO")
		for range 5 {
			p.send("T", 0, "x")
		}
		p.openSession("c1", "G", "T")
		q.openSession("c2", "G", "T")
		ids, first := p.lock("c1", "G", "T", 0)
		if !slices.Equal(ids, []int32{0}) || first.Grants[0].Epoch == 0 || first.Grants[0].Start != 5 {
			t.Fatalf("granted %v, %+v", ids, first)
		}
		_, refused := q.lock("c2", "G", "T", 0)
		if len(refused.Refused) != 1 || refused.Refused[0].Holder != "c1" || refused.Refused[0].Why != header.WhyHeld {
			t.Fatalf("refusal %+v", refused)
		}
		if resp := p.commit("G", "T", 0, 5, first.Grants[0].Epoch); resp.Code != wire.Success {
			t.Fatalf("commit: %d %s", resp.Code, resp.Remark)
		}
		r.net.Cut("one", "broker-a") // silent, its link stays
		start := time.Now()
		var second header.LockGrants
		for len(second.Grants) == 0 {
			time.Sleep(250 * time.Millisecond)
			q.ping()
			_, second = q.lock("c2", "G", "T", 0)
			if time.Since(start) > time.Minute {
				t.Fatal("never taken over")
			}
		}
		if took := time.Since(start); took < 10*time.Second || took > 11500*time.Millisecond {
			t.Errorf("taken over from a silent member after %v, want L + G", took)
		}
		if second.Grants[0].Epoch <= first.Grants[0].Epoch {
			t.Errorf("epoch %d after %d", second.Grants[0].Epoch, first.Grants[0].Epoch)
		}
		r.net.HealAll()
		if resp := p.commit("G", "T", 0, 5, first.Grants[0].Epoch); resp.Code != wire.CodeFenced {
			t.Errorf("commit under the old epoch: %d %s", resp.Code, resp.Remark)
		}
		h := pullHeader("G", "T", 0, 0)
		resp := p.do(wire.ReqPullMessage, h, nil, header.ExtSession, p.token(), header.ExtEpoch, strconv.FormatUint(first.Grants[0].Epoch, 10))
		if resp.Code != wire.CodeFenced {
			t.Errorf("pull under the old epoch: %d %s", resp.Code, resp.Remark)
		}
		resp = q.do(wire.ReqPullMessage, h, nil, header.ExtSession, q.token(), header.ExtEpoch, strconv.FormatUint(second.Grants[0].Epoch, 10))
		if resp.Code != wire.Success {
			t.Errorf("pull of the holder: %d %s", resp.Code, resp.Remark)
		}
	})
}

func TestClosedMemberIsReplacedAfterTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p, q := r.connect("one"), r.connect("two")
		p.createTopic("T", 1, "+message.type=FIFO")
		p.openSession("c1", "G", "T")
		q.openSession("c2", "G", "T")
		p.lock("c1", "G", "T", 0)
		p.ping()
		p.ping()
		time.Sleep(200 * time.Millisecond)
		q.ping()
		p.close()
		start := time.Now()
		for {
			if ids, _ := q.lock("c2", "G", "T", 0); len(ids) == 1 {
				break
			}
			time.Sleep(20 * time.Millisecond)
			q.ping()
		}
		if took := time.Since(start); took < time.Second || took > 1200*time.Millisecond {
			t.Errorf("taken over %v after the close", took)
		}
	})
}

func TestPingsAreAnsweredWhileTheGroupIsBusy(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("one")
	p.createTopic("T", 1, "+message.type=FIFO")
	p.openSession("c1", "G", "T")
	c := r.b.conns[1]
	c.mu.Lock()
	running := c.running
	c.running = true // somebody works on the queue and does not come back
	c.mu.Unlock()
	if running {
		t.Fatal("still at work")
	}
	p.ping()
	c.mu.Lock()
	c.running = false
	c.mu.Unlock()
}

// TestLeasesOutliveTheBroker restarts the broker: the holder that comes back
// keeps its queue and epoch, the one that stays away loses it.
func TestLeasesOutliveTheBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := r.connect("one")
		p.createTopic("T", 2, "+message.type=FIFO")
		p.openSession("c1", "G", "T")
		_, grants := p.lock("c1", "G", "T", 0, 1)
		p.close()
		r.stop()
		time.Sleep(5 * time.Minute)
		r.start()
		again, q := r.connect("one"), r.connect("two")
		q.openSession("c2", "G", "T")
		_, refused := q.lock("c2", "G", "T", 0)
		if len(refused.Refused) != 1 || refused.Refused[0].Why != header.WhyRestart || refused.Refused[0].Holder != "c1" {
			t.Fatalf("right after the restart: %+v", refused)
		}
		again.session, again.language = p.session, wire.LanguageGo
		again.beat("c1", "G", "T", "*")
		again.ping()
		again.ping()
		_, kept := again.lock("c1", "G", "T", 0)
		if len(kept.Grants) != 1 || kept.Grants[0].Epoch != grants.Grants[0].Epoch {
			t.Errorf("after coming back: %+v, before %+v", kept, grants)
		}
		start := time.Now()
		for time.Since(start) < 4*time.Second {
			time.Sleep(250 * time.Millisecond)
			again.ping()
			q.ping()
		}
		if ids, _ := q.lock("c2", "G", "T", 0); len(ids) != 0 {
			t.Error("the queue of a member that came back was given away")
		}
	})
}

func TestStockHolderIsServedRightAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := r.connect("one")
		p.createTopic("T", 1, "+message.type=FIFO")
		p.send("T", 0, "x")
		p.beat("c1", "G", "T", "*")
		p.lock("c1", "G", "T", 0)
		p.close()
		r.restart()
		h := pullHeader("G", "T", 0, 0)
		h.SysFlag |= header.PullSuspend
		again, other := r.connect("one"), r.connect("two")
		if code, _, msgs := again.pull(h); code != wire.Success || len(msgs) != 1 {
			t.Errorf("the holder, before its first heartbeat: %s", wire.ResponseName(code))
		}
		if code, _, _ := other.pull(h); code != wire.PullNotFound {
			t.Errorf("somebody else: %s", wire.ResponseName(code))
		}
		again.commit("G", "T", 0, 1, 0)
	})
}
