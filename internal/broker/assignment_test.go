// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// shares asks for every member's queues and returns who has which.
func shares(t *testing.T, members map[string]*peer, queues int) map[int32]string {
	t.Helper()
	owner := map[int32]string{}
	for client, p := range members {
		req := body.QueryAssignment{Topic: "T", ConsumerGroup: "G", ClientID: client, StrategyName: "ORDERLY_STICKY", MessageModel: body.Clustering}
		var resp body.QueryAssignmentResponse
		if err := resp.Decode(p.want(wire.Success, wire.ReqQueryAssignment, nil, req.Encode()).Body); err != nil {
			t.Fatal(err)
		}
		for _, a := range resp.Assignments {
			if other, taken := owner[a.Queue.QueueID]; taken {
				t.Fatalf("queue %d belongs to %s and %s", a.Queue.QueueID, other, client)
			}
			owner[a.Queue.QueueID] = client
		}
	}
	if len(owner) != queues {
		t.Fatalf("%d of %d queues are assigned", len(owner), queues)
	}
	return owner
}

// TestRollingRestartMovesEachQueueTwice restarts ten named members one after
// the other: a queue moves away from its member and back, no other moves.
func TestRollingRestartMovesEachQueueTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.connect("tool").createTopic("T", 40, "+message.type=FIFO")
		members := map[string]*peer{}
		names := map[string]string{} // client id: member name
		join := func(client, name string) {
			p := r.connect(client)
			p.language = wire.LanguageGo
			resp := p.beat(client, "G", "T", "*", header.ExtSession, header.SessionNew, header.ExtMember, "G="+name)
			var s header.Session
			if err := s.Decode(resp.Ext); err != nil {
				t.Fatal(err)
			}
			p.session = s.Token
			members[client], names[client] = p, name
		}
		keep := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
				for _, p := range members {
					p.ping()
				}
			}
		}
		for i := range 10 {
			join(fmt.Sprintf("c%d", i), fmt.Sprintf("m%d", i))
		}
		keep(time.Second)
		before := shares(t, members, 40)
		home := map[int32]string{}
		for q, client := range before {
			home[q] = names[client]
		}
		moves := map[int32]int{}
		step := func() {
			t.Helper()
			now := shares(t, members, 40)
			for q, client := range now {
				if names[client] != names[before[q]] {
					moves[q]++
				}
			}
			before = now
		}
		for i := range 10 {
			client := fmt.Sprintf("c%d", i)
			members[client].want(wire.Success, wire.ReqUnregisterClient, &header.UnregisterClient{ClientID: client, ConsumerGroup: "G"}, nil)
			members[client].close()
			delete(members, client)
			keep(2 * time.Second)
			step()
			join(client+"-again", fmt.Sprintf("m%d", i))
			keep(2 * time.Second)
			step()
		}
		for q := range int32(40) {
			if moves[q] > 2 {
				t.Errorf("queue %d moved %d times", q, moves[q])
			}
			if names[before[q]] != home[q] {
				t.Errorf("queue %d is with %s, its home is %s", q, names[before[q]], home[q])
			}
		}
	})
}

func TestMemberNameIsTakenOnce(t *testing.T) {
	r := newRig(t, nil)
	p, q := r.connect("one"), r.connect("two")
	p.createTopic("T", 1, "+message.type=FIFO")
	p.beat("c1", "G", "T", "*", header.ExtSession, header.SessionNew, header.ExtMember, "G=worker-1")
	data := (&body.HeartbeatData{ClientID: "c2", Consumers: []body.ConsumerData{{GroupName: "G", MessageModel: body.Clustering}}}).Encode()
	resp := q.want(wire.Success, wire.ReqHeartBeat, nil, data, header.ExtSession, header.SessionNew, header.ExtMember, "G=worker-1")
	if taken := resp.Ext.Value(header.ExtTaken); taken != "G=c1" {
		t.Errorf("taken by %q", taken)
	}
	if ids := p.consumers("G"); len(ids) != 1 {
		t.Errorf("members %v", ids)
	}
}

// TestAssignmentNotLockedPassesOn: a member that does not lock its share within
// the grace loses it to the next one, and is told of it like all.
func TestAssignmentNotLockedPassesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.connect("tool").createTopic("T", 2, "+message.type=FIFO")
		members := map[string]*peer{"c1": r.connect("one"), "c2": r.connect("two")}
		for client, p := range members {
			p.openSession(client, "G", "T")
		}
		keep := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
				for _, p := range members {
					p.ping()
				}
			}
		}
		first := shares(t, members, 2)
		for q, client := range first {
			if client == "c1" {
				members["c1"].lock("c1", "G", "T", q)
			}
		}
		notices := members["c1"].notices("G")
		keep(700 * time.Millisecond)
		if now := shares(t, members, 2); now[0] == now[1] {
			t.Fatalf("%v within the grace", now)
		}
		keep(500 * time.Millisecond)
		if members["c1"].notices("G") == notices {
			t.Error("nobody was told")
		}
		if now := shares(t, members, 2); now[0] != "c1" || now[1] != "c1" {
			t.Errorf("after the grace: %v", now)
		}
		keep(11 * time.Second)
		if now := shares(t, members, 2); now[0] == now[1] {
			t.Errorf("after the idle time: %v", now)
		}
	})
}

// TestClosingMemberGetsNoQueue: what a closing member gives back goes to others
// at once, although it is still a member.
func TestClosingMemberGetsNoQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.connect("tool").createTopic("T", 4, "+message.type=FIFO")
		members := map[string]*peer{"c1": r.connect("one"), "c2": r.connect("two")}
		for client, p := range members {
			p.openSession(client, "G", "T")
		}
		for q, client := range shares(t, members, 4) {
			members[client].lock(client, "G", "T", q)
		}
		unlock := &body.LockBatch{ConsumerGroup: "G", ClientID: "c1", Queues: []body.MessageQueue{{Topic: "T", BrokerName: "broker-a", QueueID: 0}}}
		members["c1"].want(wire.Success, wire.ReqUnlockBatchMQ, nil, unlock.Encode(), header.ExtSession, members["c1"].token(), header.ExtClosing, "1")
		for q, client := range shares(t, members, 4) {
			if client != "c2" {
				t.Errorf("queue %d is for %s", q, client)
			}
		}
		members["c1"].want(wire.Success, wire.ReqUnregisterClient, &header.UnregisterClient{ClientID: "c1", ConsumerGroup: "G"}, nil)
		members["c1"].beat("c1", "G", "T", "*") // it comes back on the same connection
		count := map[string]int{}
		for _, client := range shares(t, members, 4) {
			count[client]++
		}
		if count["c1"] != 2 {
			t.Errorf("shares %v", count)
		}
	})
}

// TestStickyOnlyAmongOurs: the answer says by which strategy it was made, and a
// stock member makes it a classic one.
func TestStickyOnlyAmongOurs(t *testing.T) {
	r := newRig(t, nil)
	p, q := r.connect("one"), r.connect("two")
	p.createTopic("T", 2, "+message.type=FIFO")
	p.openSession("c1", "G", "T")
	req := body.QueryAssignment{Topic: "T", ConsumerGroup: "G", ClientID: "c1", StrategyName: "ORDERLY_STICKY", MessageModel: body.Clustering}
	ask := func(want string) {
		t.Helper()
		if got := p.want(wire.Success, wire.ReqQueryAssignment, nil, req.Encode()).Ext.Value(header.ExtStrategy); got != want {
			t.Errorf("strategy %q, want %q", got, want)
		}
	}
	ask("ORDERLY_STICKY")
	q.beat("stock", "G", "T", "*")
	ask("AVG")
	req.ClientID = "stranger"
	p.want(wire.SystemError, wire.ReqQueryAssignment, nil, req.Encode())
}

// TestClosingIsNoNeglect: a member that closes, with nobody there to follow, is
// not noted as one that did not lock its share.
func TestClosingIsNoNeglect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := r.connect("one")
		p.createTopic("T", 2, "+message.type=FIFO")
		p.openSession("c1", "G", "T")
		shares(t, map[string]*peer{"c1": p}, 2)
		p.lock("c1", "G", "T", 0, 1)
		unlock := &body.LockBatch{ConsumerGroup: "G", ClientID: "c1", Queues: []body.MessageQueue{{Topic: "T", BrokerName: "broker-a"}}}
		p.want(wire.Success, wire.ReqUnlockBatchMQ, nil, unlock.Encode(), header.ExtSession, p.token(), header.ExtClosing, "1")
		time.Sleep(1500 * time.Millisecond)
		if idle := r.b.group("G").assigned["T"].idle; len(idle) > 0 {
			t.Errorf("idle: %v", idle)
		}
	})
}

// TestLeavingMemberIsGivenNothing asks for the shares while a closing member
// leaves: from its unlock on, the other one has them all.
func TestLeavingMemberIsGivenNothing(t *testing.T) {
	r := newRig(t, nil)
	leaver, stayer := r.connect("one"), r.connect("two")
	stayer.createTopic("T", 4, "+message.type=FIFO")
	stayer.openSession("c2", "G", "T")
	unlock := (&body.LockBatch{ConsumerGroup: "G", ClientID: "c1", Queues: []body.MessageQueue{{Topic: "T", BrokerName: "broker-a", QueueID: 0}}}).Encode()
	for range 300 {
		leaver.openSession("c1", "G", "T")
		leaver.want(wire.Success, wire.ReqUnlockBatchMQ, nil, unlock, header.ExtSession, leaver.token(), header.ExtClosing, "1")
		var leaving sync.WaitGroup
		leaving.Go(func() {
			leaver.want(wire.Success, wire.ReqUnregisterClient, &header.UnregisterClient{ClientID: "c1", ConsumerGroup: "G"}, nil)
		})
		for range 5 {
			shares(t, map[string]*peer{"c2": stayer}, 4)
		}
		leaving.Wait()
	}
}
