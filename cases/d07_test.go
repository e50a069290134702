// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"slices"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/testutil/record"
)

// d07: two queues, key a in one and b in the other, one consumer with at least
// 4 workers; a's handler takes 2 s, b's 5 ms; a:1..5 and b:1..500 together.
func d07(s *scene) {
	const many = 500
	topic := s.called("topic")
	a, b := keyFor("a", 0, 2), keyFor("b", 1, 2)
	s.createTopic(topic, 2)
	s.script = func(c record.Start) record.Act {
		if c.Key == a {
			return record.Act{Work: 2 * time.Second}
		}
		return record.Act{Work: 5 * time.Millisecond}
	}
	c := s.consumer("c1", topic, s.called("group")) // 20 workers are the default
	began := s.rec.Now()
	var mu sync.Mutex
	stored := map[int]time.Duration{} // of b: when its send was answered
	for seq := 1; seq <= many; seq++ {
		if seq <= 5 {
			s.sendAsync(topic, a, seq, nil)
		}
		s.sendAsync(topic, b, seq, func() {
			mu.Lock()
			defer mu.Unlock()
			stored[seq] = s.rec.Now()
		})
	}
	s.await(10*time.Second, "all of b handled", handled(b, 1, many))
	s.took("all 500 of the neighbour done", s.rec.Now()-began, 5*time.Second)
	mu.Lock()
	waits := s.waits(b, stored)
	mu.Unlock()
	s.took("p99 wait of the neighbour", waits[len(waits)*99/100], 500*time.Millisecond)
	s.await(20*time.Second, "all of a handled", handled(a, 1, 5))
	s.noRepeats(s.contract())
	c.stop()
}

// waits are the times, in ascending order, from when each message of a key
// could have been handed out (it was stored, and the one before it done) until
// it was.
func (s *scene) waits(key string, stored map[int]time.Duration) []time.Duration {
	var list []time.Duration
	var done time.Duration
	for _, c := range s.callsOf(key) {
		list = append(list, max(0, c.Start-max(done, stored[c.Seq])))
		done = c.End
	}
	slices.Sort(list)
	return list
}
