// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"slices"
	"time"

	"github.com/orderlymq/orderly/admin"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

// d06: one queue, at most 3 hand-outs, 1 s between them; message 2 always
// fails. While it does the admin view names it.
func d06(s *scene) {
	c, group := s.poisoned()
	s.await(5*time.Second, "the second hand-out of 2", seen("k", 2, 2))
	s.namesThePoison(group, c)
	began := s.rec.Now()
	s.await(8*time.Second, "3 to 5 handled", handled("k", 3, 5))
	s.took("all done after the second hand-out", s.rec.Now()-began, 6*time.Second)
	s.pause(500 * time.Millisecond)
	handOuts(s, []int{1, 2, 2, 2, 3, 4, 5}, []int{1, 1, 2, 3, 1, 1, 1})
	s.oneLetter(group)
	c.stop()
}

// d06Killed: the same, and the broker is killed when the last attempt of 2 ends,
// so before, while or after its dead letter is stored and settled.
func d06Killed(s *scene) {
	c, group := s.poisoned()
	s.await(8*time.Second, "the third hand-out of 2", seen("k", 2, 3))
	s.pause(time.Duration(s.round-1) * 7 * time.Millisecond)
	s.srv.Kill()
	s.startServer(s.srv.Namesrv, s.srv.Broker)
	s.await(20*time.Second, "3 to 5 handled", handled("k", 3, 5))
	s.pause(500 * time.Millisecond)
	two := 0
	for _, call := range s.callsOf("k") {
		if call.Seq == 2 {
			two++
		}
	}
	if two > 4 {
		s.Errorf("2 was handed out %d times: at most one more for the crash", two)
	}
	s.noted("hand-outs of 2", two)
	s.oneLetter(group)
	c.stop()
}

// poisoned starts a consumer to which 2 is poison, and sends k:1..5.
func (s *scene) poisoned() (c *child, group string) {
	s.Helper()
	topic, group := s.called("topic"), s.called("group")
	s.createTopic(topic, 1)
	s.must(s.admin.CreateGroup(s.within(10*time.Second), admin.Group{
		Name: group, Policy: admin.GroupPolicy{MaxAttempts: 3, Poison: "dead-letter", Backoff: []time.Duration{time.Second}},
	}))
	s.script = func(c record.Start) record.Act {
		if c.Seq == 2 {
			return record.Act{End: record.Fail}
		}
		return record.Act{}
	}
	c = s.start("c1")
	c.consume(command{Name: "c1", Topic: topic, Group: group})
	c.await("c1", "ready")
	s.send(topic, "k", 1, 5)
	return c, group
}

// seen is a condition: a message was handed out n times, and the last of these
// calls has ended.
func seen(key string, seq, n int) func(*record.State) bool {
	return func(st *record.State) bool {
		ended := 0
		for _, c := range st.Calls {
			if c.Key == key && c.Seq == seq && c.End > 0 {
				ended++
			}
		}
		return ended >= n
	}
}

// namesThePoison wants k:2 in the list of what waits.
func (s *scene) namesThePoison(group string, c *child) {
	s.Helper()
	list, err := s.admin.Blocked(s.within(5*time.Second), group)
	s.must(err)
	i := slices.IndexFunc(list, func(b admin.Blocked) bool { return b.Offset == 1 })
	if i < 0 {
		s.Fatalf("what waits: %+v", list)
	}
	if b := list[i]; b.Key != "k" || b.Attempts < 1 || b.Attempts > 3 || b.Owner == "" || b.Behind != 3 || b.Since.IsZero() {
		s.Errorf("what waits: %+v", b)
	}
}

// oneLetter wants 2 among the dead letters, once and with its story, and nothing
// in the retry topic.
func (s *scene) oneLetter(group string) {
	s.Helper()
	letters, err := s.admin.DeadLetters(s.within(10*time.Second), group)
	s.must(err)
	if len(letters) != 1 || letters[0].Key != "k" || string(letters[0].Body) != "k:2" || letters[0].Topic != s.called("topic") ||
		letters[0].Offset != 1 || letters[0].Attempts < 3 || letters[0].Cause == "" {
		s.Errorf("dead letters %+v, want k:2 once", letters)
	}
	if retries := s.readBack("%RETRY%"+group, 1); len(retries) > 0 {
		s.Errorf("in the retry topic stand %+v", retries)
	}
}
