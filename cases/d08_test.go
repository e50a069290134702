// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"fmt"
	"time"
)

// d08: one queue with 5 old messages; 50 times a new group, set to begin at
// the end, starts a consumer, and as soon as that is ready one message is sent.
func d08(s *scene) {
	const times, old = 50, 5
	topic := s.called("topic")
	s.createTopic(topic, 1)
	s.send(topic, "old", 1, old)
	h := s.start("host")
	var worst time.Duration
	for i := range times {
		name, key := fmt.Sprintf("g%02d", i), fmt.Sprintf("new%02d", i)
		h.consume(command{Name: name, Topic: topic, Group: s.called(name), FromLast: true})
		h.await(name, "ready")
		sent := s.rec.Now()
		s.send(topic, key, 1, 1)
		s.await(10*time.Second, key+" handled", handled(key, 1, 1))
		worst = max(worst, s.rec.Now()-sent)
		h.stopConsumer(name)
	}
	h.stop()
	hits, strangers := 0, 0
	for _, c := range s.rec.Calls() {
		if c.Key == "new"+c.Consumer[1:] {
			hits++
		} else {
			strangers++
			s.Errorf("older than the group: %s", tellCall(c))
		}
	}
	if hits != times {
		s.Errorf("%d messages were handled, want %d", hits, times)
	}
	s.noted("new messages handled, of 50", hits)
	s.counted("old messages handled, of 250", strangers, 0)
	s.noted("worst time from send to handled", worst)
}
