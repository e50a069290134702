// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"fmt"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/testutil/record"
)

// d11: 4 queues, synchronous durability, 20 keys with steady sends, one
// consumer; the broker is killed and started again 10 times, once each 15 s.
func d11(s *scene) {
	const keys, queues, kills, every = 20, 4, 10, 15 * time.Second
	topic := s.called("topic")
	s.createTopic(topic, queues)
	c := s.consumer("c1", topic, s.called("group"))
	stop := make(chan struct{})
	var sending sync.WaitGroup
	for k := range keys {
		sending.Go(func() { s.sendSteadily(topic, key(k), 250*time.Millisecond, stop) })
	}
	began := s.rec.Now()
	var restarts []time.Duration
	var slowest time.Duration
	for i := range kills {
		s.pauseUntil(began + time.Duration(i+1)*every)
		s.srv.Kill()
		at := s.rec.Now()
		s.startServer(s.srv.Namesrv, s.srv.Broker)
		slowest = max(slowest, s.rec.Now()-at)
		restarts = append(restarts, at)
	}
	s.pause(every)
	close(stop)
	sending.Wait()
	s.await(30*time.Second, "everything acknowledged to be handled", func(st *record.State) bool {
		return s.unacked.Load() == 0 && allHandled(st)
	})
	s.pause(time.Second)
	s.noted("slowest start of the broker", slowest)
	var gap time.Duration
	for _, at := range restarts {
		for k := range keys {
			gap = max(gap, s.nextSight(key(k), at))
		}
	}
	s.took("worst key's next hand-out after a restart", gap, every)
	rep := s.contract()
	s.noted("messages", rep.Sent)
	s.noted("repeats", rep.Repeated)
	s.compareWithStore(s.readBack(topic, queues))
	c.stop()
}

// sendSteadily sends 1, 2, 3, ... of a key, each some time after the answer to
// the one before, until it is stopped.
func (s *scene) sendSteadily(topic, key string, every time.Duration, stop <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for seq := 1; ; seq++ {
		answered := make(chan struct{})
		s.sendAsync(topic, key, seq, func() { close(answered) })
		<-answered
		select {
		case <-tick.C:
		case <-stop:
			return
		}
	}
}

// compareWithStore checks that each key's first copies ascend by one in one
// queue, that whatever was acknowledged is there, and that nothing was handled
// that is not. (Offsets that do not follow each other fail the reading.)
func (s *scene) compareWithStore(all []stored) {
	s.Helper()
	next, queue := map[string]int{}, map[string]int{}
	at := map[string]stored{}
	extra := 0
	for _, m := range all {
		at[fmt.Sprintf("%d/%d", m.Queue, m.Offset)] = m
		if q, known := queue[m.Key]; known && q != m.Queue {
			s.Errorf("key %s is in queues %d and %d", m.Key, q, m.Queue)
		}
		queue[m.Key] = m.Queue
		switch {
		case m.Seq == next[m.Key]+1:
			next[m.Key]++
		case m.Seq <= next[m.Key]:
			extra++
		default:
			s.Errorf("queue %d offset %d: %s:%d is stored after %s:%d", m.Queue, m.Offset, m.Key, m.Seq, m.Key, next[m.Key])
			next[m.Key] = m.Seq
		}
	}
	s.noted("stored twice", extra)
	s.rec.Look(func(st *record.State) {
		for _, m := range st.Sends {
			if m.Acked && m.Seq > next[m.Key] {
				s.Errorf("%s:%d was acknowledged and is not stored", m.Key, m.Seq)
			}
		}
	})
	for _, c := range s.rec.Calls() {
		if m, ok := at[queueID(c.Queue)+fmt.Sprintf("/%d", c.Offset)]; !ok || m.Key != c.Key || m.Seq != c.Seq {
			s.Errorf("handled and not stored: %s", tellCall(c))
		}
	}
}
