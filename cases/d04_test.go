// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orderlymq/orderly/internal/check"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

// leaseTime is L: the longer of lock and session time, as the server has it
// when nobody says otherwise.
const leaseTime = 10 * time.Second

// d04: one queue, two consumers; the one that owns the queue is frozen inside
// the handler of k:3 for 2 L, while 4 to 10 are sent, and woken.
func d04(s *scene) {
	topic, group := s.called("topic"), s.called("group")
	s.createTopic(topic, 1)
	var seen atomic.Bool
	s.script = func(c record.Start) record.Act {
		if c.Seq == 3 && !seen.Swap(true) {
			return record.Act{Work: 2 * time.Second} // time to be frozen in
		}
		return record.Act{Work: 5 * time.Millisecond}
	}
	hosts := map[string]*child{"c1": s.consumer("c1", topic, group), "c2": s.consumer("c2", topic, group)}
	s.send(topic, "k", 1, 3)
	s.await(10*time.Second, "a consumer inside k:3", inside("k", 3))
	owner, other := s.callsOf("k")[0].Consumer, "c1"
	if owner == other {
		other = "c2"
	}
	s.pause(commitDelay) // so that 2 is committed
	s.must(hosts[owner].Freeze())
	frozen := s.rec.Now()
	positions := s.watchPosition(group, topic)
	s.send(topic, "k", 4, 10)
	s.await(leaseTime+10*time.Second, "the other one to finish", handled("k", 3, 10))
	s.took("hand-out by the other one after the freeze", s.firstOf(other)-frozen, leaseTime+10*time.Second)
	s.pauseUntil(frozen + 2*leaseTime)
	s.must(hosts[owner].Thaw())
	s.await(10*time.Second, "the frozen handler's success", func(st *record.State) bool { return !inside("k", 3)(st) })
	s.pause(2 * time.Second)
	hosts["c1"].stop()
	hosts["c2"].stop()

	before := len(s.rec.Calls())
	c3, c4 := s.consumer("c3", topic, group), s.consumer("c4", topic, group)
	s.pause(3 * time.Second)
	if again := s.rec.Calls()[before:]; len(again) > 0 {
		s.Errorf("after the restart %d messages were handed out again: %s", len(again), tellCall(again[0]))
	}
	s.send(topic, "k", 11, 11)
	s.await(10*time.Second, "k:11 handled", handled("k", 11, 11))
	positions()
	d04Judge(s, owner, other)
	c3.stop()
	c4.stop()
}

func d04Judge(s *scene, owner, other string) {
	by, fences := map[string][]int{}, map[string]uint64{}
	for _, c := range s.callsOf("k") {
		by[c.Consumer] = append(by[c.Consumer], c.Seq)
		fences[c.Consumer] = max(fences[c.Consumer], c.Fence)
		if c.Outcome != check.Success {
			s.Errorf("not a success: %s", tellCall(c))
		}
	}
	if want := []int{1, 2, 3}; !slices.Equal(by[owner], want) {
		s.Errorf("the frozen owner got %v, want %v", by[owner], want)
	}
	if want := []int{3, 4, 5, 6, 7, 8, 9, 10}; !slices.Equal(by[other], want) {
		s.Errorf("the other one got %v, want %v", by[other], want)
	}
	if fences[other] <= fences[owner] {
		s.Errorf("fence numbers: the frozen owner's is %d, the other one's %d", fences[owner], fences[other])
	}
}

// firstOf is when a consumer had its first call.
func (s *scene) firstOf(who string) time.Duration {
	s.Helper()
	for _, c := range s.rec.Calls() {
		if c.Consumer == who {
			return c.Start
		}
	}
	s.Fatalf("%s had no call", who)
	return 0
}

// watchPosition looks often at the saved position of queue 0 until the
// returned function is called, which fails the case if it ever went down.
func (s *scene) watchPosition(group, topic string) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	var seen []int64
	wg.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			at, err := s.position(group, topic, 0)
			if err != nil {
				s.Errorf("saved position: %v", err)
				return
			}
			seen = append(seen, at)
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	halt := sync.OnceFunc(func() {
		close(done)
		wg.Wait()
	})
	s.Cleanup(halt)
	return func() {
		halt()
		if seen = slices.Compact(seen); !slices.IsSorted(seen) {
			s.Errorf("the saved position went down: %v", seen)
		}
	}
}
