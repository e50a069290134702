// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"fmt"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/check"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

// d03: 4 queues, two consumers, 20 keys, 20 messages a second; the first
// consumer is killed after 10 s.
func d03(s *scene) {
	const keys, queues = 20, 4
	topic, group := s.called("topic"), s.called("group")
	s.createTopic(topic, queues)
	s.script = func(record.Start) record.Act { return record.Act{Work: 20 * time.Millisecond} }
	c1 := s.consumer("c1", topic, group)
	c2 := s.consumer("c2", topic, group)
	s.await(10*time.Second, "each consumer to have two queues", func(st *record.State) bool {
		return st.Queues["c1"] == 2 && st.Queues["c2"] == 2
	})
	began := s.rec.Now()
	stop := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() { s.sendEvenly(topic, keys, time.Second/20, stop) })
	s.pauseUntil(began + 10*time.Second)
	killed := c1.kill("c1")
	s.pauseUntil(killed + 11*time.Second)
	close(stop)
	sending.Wait()
	s.await(15*time.Second, "all sends answered and handled", func(st *record.State) bool {
		return s.unacked.Load() == 0 && allHandled(st)
	})
	s.pause(500 * time.Millisecond)

	var worst time.Duration
	for k := range keys {
		worst = max(worst, s.nextSight(key(k), killed))
	}
	s.took("worst key's next hand-out after the kill", worst, 10*time.Second)
	rep := s.contract()
	s.noted("longest pause of a key", rep.LongestPause)
	if rep.Unexplained > 0 {
		s.Errorf("repeats that the kill does not explain: %q", rep.Faults)
	}
	s.counted("repeats, bound is what was in hand", rep.Repeated, s.inHand("c1", killed))
	c2.stop()
}

func key(k int) string { return fmt.Sprintf("k%02d", k) }

// sendEvenly sends to the keys in turn, one message each interval.
func (s *scene) sendEvenly(topic string, keys int, every time.Duration, stop <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-tick.C:
			s.sendAsync(topic, key(i%keys), i/keys+1, nil)
		case <-stop:
			return
		}
	}
}

// nextSight is how long after a moment a key had its next hand-out.
func (s *scene) nextSight(key string, after time.Duration) time.Duration {
	s.Helper()
	for _, c := range s.callsOf(key) {
		if c.Start > after {
			return c.Start - after
		}
	}
	s.Errorf("key %s had no hand-out after %v", key, after)
	return 0
}

// commitDelay is how old a finished message can be that the client has still in
// hand, because its commit has not been written by the broker yet.
const commitDelay = 200 * time.Millisecond

// inHand counts the messages that a consumer had in hand when it was killed:
// in a handler, or finished and not committed yet.
func (s *scene) inHand(who string, killed time.Duration) int {
	n := 0
	for _, c := range s.rec.Calls() {
		if c.Consumer == who && (c.Outcome == check.Open || c.End > killed-commitDelay) {
			n++
		}
	}
	return n
}
