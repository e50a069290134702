// SPDX-License-Identifier: Apache-2.0

package order

import (
	"testing"
	"time"
)

// TestShorterTimesWaitForTheirHolder: a session that was told of a longer grace
// or lease time may count on it until it has heard of the shorter one.
func TestShorterTimesWaitForTheirHolder(t *testing.T) {
	const second = Time(time.Second)
	long, short := LeaseConfig{Grace: 10 * time.Second, Lease: 20 * time.Second}, LeaseConfig{Grace: time.Second, Lease: 2 * time.Second}
	q := Queue{Topic: "T"}
	leases := NewLeases(long)
	step := func(now Time, ev LeaseEvent) { leases.Step(now, &ev, nil) }
	until := func() Time { return leases.Holders(nil)[0].Until }
	step(0, LeaseEvent{Kind: LeaseEpochs, Epoch: 1, EpochEnd: 1000})
	step(0, LeaseEvent{Kind: LeaseJoin, Link: 1, Client: "c", Session: 7})
	step(0, LeaseEvent{Kind: LeaseLock, Link: 1, Client: "c", Session: 7, Queues: []Queue{q}})
	leases.Configure(second, short)
	if got := until(); got != 20*second {
		t.Errorf("a silent holder keeps the queue until %v", got)
	}
	at := second + Time(30*time.Second+tellTimes)
	for now := second; now < at+second; now += second / 8 {
		step(now, LeaseEvent{Kind: LeaseTick})
		step(now, LeaseEvent{Kind: LeaseRefresh, Link: 1, Session: 7, Sent: now})
		if got := until(); now < at && got < now+20*second {
			t.Fatalf("at %v: until %v", now, got)
		}
	}
	if got := until(); got > at+3*second {
		t.Errorf("a holder that has heard of the shorter times keeps the queue until %v, now %v", got, at+second)
	}
	leases.Configure(at+second, long)
	leases.Configure(at+second, short)
	leases.Configure(at+second, long)
	if leases.cfg.Grace != long.Grace || leases.shrinkAt != Never {
		t.Errorf("grace %v, shrinks at %v", leases.cfg.Grace, leases.shrinkAt)
	}
	step(at+second, LeaseEvent{Kind: LeaseClosed, Link: 1})
	leases.Configure(at+second, short)
	if got := until(); got != at+11*second {
		t.Errorf("after the close until %v, want %v", got, at+11*second)
	}
}
