// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"testing"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// TestProgressPastTheEnd: what a commit says of messages that do not exist yet
// is not held against those that come, and moves no queue's end.
func TestProgressPastTheEnd(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("one")
	p.createTopic("T", 1, "+message.type=FIFO")
	p.openSession("c1", "G", "T")
	_, grants := p.lock("c1", "G", "T", 0)
	for range 3 {
		p.send("T", 0, "x")
	}
	report := func(ranges, attempts string) *wire.Command {
		return p.do(wire.ReqUpdateConsumerOffset, &header.UpdateConsumerOffset{ConsumerGroup: "G", Topic: "T"}, nil,
			header.ExtSession, p.token(), header.ExtEpoch, epochText(grants, 0), header.ExtRanges, ranges, header.ExtAttempts, attempts)
	}
	for _, c := range []struct{ ranges, attempts, wantRanges, wantAttempts string }{
		{"1-2,2-9223372036854775807", "1:1073741824+,3:4", "1-3", "1:1073741824"},
		{"1-2,3-9,10-12", "0:1,9:4", "1-2", "0:1"},
		{"5-9", "4:3", "", ""},
	} {
		if resp := report(c.ranges, c.attempts); resp.Code != wire.Success {
			t.Fatalf("commit: %s %s", wire.ResponseName(resp.Code), resp.Remark)
		}
		_, grants := p.lock("c1", "G", "T", 0)
		if got := grants.Grants[0].Progress; got.Ranges != c.wantRanges || got.Attempts != c.wantAttempts {
			t.Errorf("%s and %s are kept as %+v", c.ranges, c.attempts, got)
		}
	}
	if resp := report("", "1:2147483647+"); resp.Code != wire.InvalidParameter {
		t.Errorf("an impossible attempt is answered %s", wire.ResponseName(resp.Code))
	}
	r.restart()
	if got := r.connect("two").send("T", 0, "x").QueueOffset; got != 3 {
		t.Errorf("the next message has offset %d", got)
	}
}

// TestPositionPastTheEnd: no commit reserves numbers of messages to come, not
// even in a queue that is empty.
func TestPositionPastTheEnd(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("one")
	p.createTopic("T", 2, "+message.type=FIFO")
	p.openSession("c1", "G", "T")
	p.lock("c1", "G", "T", 0, 1)
	p.send("T", 1, "x")
	for queue := range int32(2) {
		for _, by := range []*peer{p, r.connect("tool")} {
			by.do(wire.ReqUpdateConsumerOffset, &header.UpdateConsumerOffset{ConsumerGroup: "G", Topic: "T", QueueID: queue, CommitOffset: 1 << 62}, nil)
		}
	}
	r.restart()
	p = r.connect("two")
	for queue, want := range []int64{0, 1} {
		if got := p.send("T", int32(queue), "x").QueueOffset; got != want {
			t.Errorf("queue %d: the next message has offset %d", queue, got)
		}
	}
}
