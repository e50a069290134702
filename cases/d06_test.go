// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"time"

	"github.com/orderlymq/orderly/internal/testutil/record"
)

// d06: one queue, at most 3 hand-outs, 1 s between them; message 2 always
// fails.
func d06(s *scene) {
	topic, group := s.called("topic"), s.called("group")
	s.createTopic(topic, 1)
	s.script = func(c record.Start) record.Act {
		if c.Seq == 2 {
			return record.Act{End: record.Fail}
		}
		return record.Act{}
	}
	c := s.start("c1")
	c.consume(command{Name: "c1", Topic: topic, Group: group, MaxAttempts: 3})
	c.await("c1", "ready")
	began := s.rec.Now()
	s.send(topic, "k", 1, 5)
	s.await(8*time.Second, "3 to 5 handled", handled("k", 3, 5))
	s.took("all done", s.rec.Now()-began, 8*time.Second)
	s.pause(500 * time.Millisecond)
	handOuts(s, []int{1, 2, 2, 2, 3, 4, 5}, []int{1, 1, 2, 3, 1, 1, 1})
	if letters := s.readBack("%DLQ%"+group, 1); len(letters) != 1 || letters[0].Key != "k" || letters[0].Seq != 2 ||
		letters[0].From != topic {
		s.Errorf("dead letters %+v, want k:2 of %s once", letters, topic)
	}
	if retries := s.readBack("%RETRY%"+group, 1); len(retries) > 0 {
		s.Errorf("in the retry topic stand %+v", retries)
	}
	c.stop()
}
