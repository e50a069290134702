// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// TestRefusedCommitsAreListed: who, which queue, which value, since when, why.
func TestRefusedCommitsAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p, q, ours := r.connect("one"), r.connect("two"), r.connect("three")
		p.createTopic("T", 2, "+message.type=FIFO")
		for range 5 {
			p.send("T", 0, "x")
			p.send("T", 1, "x")
		}
		p.beat("c1", "G", "T", "*")
		q.beat("c2", "G", "T", "*")
		p.lock("c1", "G", "T", 0)
		p.commit("G", "T", 0, 3, 0)
		since := time.Now()
		q.commit("G", "T", 0, 4, 0)
		time.Sleep(time.Second)
		q.commit("G", "T", 0, 5, 0)
		p.commit("G", "T", 0, 2, 0)
		h := pullHeader("G", "T", 0, 3)
		h.SysFlag |= header.PullCommitOffset
		h.CommitOffset = 1
		p.pull(h)
		ours.openSession("c3", "G", "T")
		_, grants := ours.lock("c3", "G", "T", 1)
		if resp := ours.commit("G", "T", 1, 5, grants.Grants[0].Epoch-1); resp.Code != wire.CodeFenced {
			t.Errorf("old epoch: %d", resp.Code)
		}
		var stats body.ConsumeStats
		resp := p.want(wire.Success, wire.ReqGetConsumeStats, &header.GetConsumeStats{ConsumerGroup: "G"}, nil, header.ExtHolders, "1")
		if err := stats.Decode(resp.Body); err != nil {
			t.Fatal(err)
		}
		got := map[string]body.RefusedCommit{}
		for _, c := range stats.Refused {
			got[c.Client+" "+c.Why] = c
		}
		foreign, lower, fenced := got["c2 not the holder"], got["c1 lower than the position"], got["c3 fenced"]
		if len(got) != 3 || foreign.Count != 2 || foreign.Offset != 5 || foreign.Position != 3 || foreign.QueueID != 0 || foreign.Host == "" ||
			foreign.First < since.UnixMilli() || foreign.Last-foreign.First < 1000 {
			t.Errorf("refused: %+v", stats.Refused)
		}
		if lower.Count != 2 || lower.Offset != 1 || fenced.Count != 1 || fenced.QueueID != 1 || fenced.Epoch != int64(grants.Grants[0].Epoch) {
			t.Errorf("lower %+v, fenced %+v", lower, fenced)
		}
		resp = p.want(wire.Success, wire.ReqGetConsumeStats, &header.GetConsumeStats{ConsumerGroup: "G"}, nil)
		if err := stats.Decode(resp.Body); err != nil || len(stats.Refused) != 0 || len(stats.Holders) != 0 {
			t.Errorf("a stock tool is told %+v, %v", stats, err)
		}
	})
}

func TestRefusalsAreBounded(t *testing.T) {
	var s refusals
	for i := range 10 * maxRefusals {
		act := &order.LeaseAction{Kind: order.LeaseDropped, Why: order.WhyForeign, Queue: order.Queue{Topic: "T"}, Offset: int64(i)}
		s.add(order.Time(i), committer{client: fmt.Sprint(i)}, act)
	}
	newest := refusalKey{order.Queue{Topic: "T"}, committer{client: fmt.Sprint(10*maxRefusals - 1)}, order.WhyForeign}
	if len(s.list) != maxRefusals || s.list[newest] == nil {
		t.Errorf("%d kept", len(s.list))
	}
}
