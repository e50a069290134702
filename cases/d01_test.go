// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"slices"
	"time"

	"github.com/orderlymq/orderly/internal/testutil/record"
)

// retryInterval is the client's wait before a failed message comes again.
const retryInterval = time.Second

// d01: one queue, at most 16 attempts, 1 s between them; the handler fails
// message 2 on its first two sights.
func d01(s *scene) {
	s.script = func(c record.Start) record.Act {
		if c.Seq == 2 && c.Attempt <= 2 {
			return record.Act{End: record.Fail}
		}
		return record.Act{}
	}
	c, began := fiveToOne(s)
	s.await(6*time.Second, "k:1..5 handled", handled("k", 1, 5))
	s.took("all five done", s.rec.Now()-began, 6*time.Second)
	s.pause(500 * time.Millisecond)
	handOuts(s, []int{1, 2, 2, 2, 3, 4, 5}, []int{1, 1, 2, 3, 1, 1, 1})
	s.noRepeats(s.contract())
	c.stop()
}

// d02: as d01, but the handler panics on the first sight of message 2.
func d02(s *scene) {
	s.script = func(c record.Start) record.Act {
		if c.Seq == 2 && c.Attempt == 1 {
			return record.Act{End: record.Panic}
		}
		return record.Act{}
	}
	c, _ := fiveToOne(s)
	s.await(10*time.Second, "k:1..5 handled", handled("k", 1, 5))
	s.pause(500 * time.Millisecond)
	handOuts(s, []int{1, 2, 2, 3, 4, 5}, []int{1, 1, 2, 1, 1, 1})
	if calls := s.callsOf("k"); len(calls) > 2 {
		s.took("second sight after the panic", calls[2].Start-calls[1].End, retryInterval+2*time.Second)
	}
	s.noRepeats(s.contract())
	if err := c.Exited(); err != nil {
		s.Errorf("the process died of the panic: %v", err)
	}
	c.stop()
}

// fiveToOne sends k:1..5 to a consumer of a topic with one queue, each after
// the answer to the one before.
func fiveToOne(s *scene) (c *child, began time.Duration) {
	s.Helper()
	topic := s.called("topic")
	s.createTopic(topic, 1)
	c = s.start("c1")
	c.consume(command{Name: "c1", Topic: topic, Group: s.called("group"), MaxAttempts: 16})
	c.await("c1", "ready")
	began = s.rec.Now()
	s.send(topic, "k", 1, 5)
	return c, began
}

// handOuts checks the sights of key k and their attempt numbers, exactly.
func handOuts(s *scene, seqs, attempts []int) {
	s.Helper()
	var gotSeqs, gotAttempts []int
	for _, c := range s.callsOf("k") {
		gotSeqs, gotAttempts = append(gotSeqs, c.Seq), append(gotAttempts, c.Attempt)
	}
	if !slices.Equal(gotSeqs, seqs) || !slices.Equal(gotAttempts, attempts) {
		s.Errorf("handed out %v with attempts %v, want %v with %v", gotSeqs, gotAttempts, seqs, attempts)
	}
}
