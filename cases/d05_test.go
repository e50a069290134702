// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"strconv"
	"time"

	"github.com/orderlymq/orderly/internal/check"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

// d05: two queues, key a in one and b in the other, a's handler takes 3 s; a
// second consumer joins while the first is inside a:2. Played in two ways at
// the same time, with a in either queue, so that the busy queue moves in one.
func d05(s *scene) {
	s.script = func(c record.Start) record.Act {
		if c.Key[0] == 'a' {
			return record.Act{Work: 3 * time.Second}
		}
		return record.Act{Work: 100 * time.Millisecond} // so that b's wait, too
	}
	ways := []*join{s.joinWhileBusy(0), s.joinWhileBusy(1)}
	s.await(40*time.Second, "all of a and b, both ways", func(st *record.State) bool {
		for _, w := range ways {
			if !handled(w.a, 1, 5)(st) || !handled(w.b, 1, 20)(st) {
				return false
			}
		}
		return true
	})
	moved := 0
	for _, w := range ways {
		if w.judge(s) {
			moved++
		}
		w.c1.stop()
		w.c2.stop()
	}
	s.noRepeats(s.contract())
	if moved == 0 {
		s.Errorf("the busy queue moved in neither way: the case shows nothing")
	}
}

// join is one way: the keys and the two consumers.
type join struct {
	a, b   string
	c1, c2 *child
}

// joinWhileBusy plays one way up to the join.
func (s *scene) joinWhileBusy(way int) *join {
	s.Helper()
	n := strconv.Itoa(way + 1)
	topic, group := s.called("topic"+n), s.called("group"+n)
	w := &join{a: keyFor("a"+n+"-", way, 2), b: keyFor("b"+n+"-", 1-way, 2)}
	s.createTopic(topic, 2)
	w.c1 = s.consumer("c1-"+n, topic, group)
	s.send(topic, w.a, 1, 5)
	s.await(10*time.Second, "c1 inside a:2", inside(w.a, 2))
	s.send(topic, w.b, 1, 20)
	w.c2 = s.start("c2-" + n)
	w.c2.consume(command{Name: w.c2.name, Topic: topic, Group: group})
	return w
}

// judge reports whether a's queue moved.
func (w *join) judge(s *scene) (moved bool) {
	s.Helper()
	var two []record.Call
	var three *record.Call
	for _, c := range s.callsOf(w.a) {
		if c.Seq == 2 {
			two = append(two, c)
		}
		if c.Seq == 3 && three == nil {
			three = &c
		}
	}
	if len(two) != 1 || two[0].Consumer != w.c1.name || two[0].Outcome != check.Success {
		s.Errorf("%s:2 was handled %d times, want once and by %s", w.a, len(two), w.c1.name)
		return false
	}
	if three.Start < two[0].End {
		s.Errorf("%s:3 started at %v, %s:2 ended at %v", w.a, three.Start, w.a, two[0].End)
	}
	if three.Consumer == w.c1.name {
		return false
	}
	s.took("a:3 by the joined member after the end of a:2", three.Start-two[0].End, 5*time.Second)
	return true
}
