// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"fmt"
	"time"

	"github.com/orderlymq/orderly/internal/testutil/netproxy"
)

// d12: 20 times in one process a new topic with one queue holding k:1..20 and
// a new group with defaults from the first message, 16 workers, through a
// proxy: when the 20 are handled the link is reset while the consumer waits,
// 21 to 25 are sent, the link heals after 1 s.
func d12(s *scene) {
	const times = 20
	proxy, err := netproxy.Listen(s.Context(), s.srv.Broker)
	s.must(err)
	s.Cleanup(proxy.Close)
	h := s.start("host")
	var after1, after20 int
	var cold, back time.Duration
	for i := range times {
		first, healed := s.coldStart(h, proxy, i)
		cold, back = max(cold, first), max(back, healed)
		switch i {
		case 0:
			after1 = h.goroutines()
		case times - 1:
			after20 = h.goroutines()
		}
	}
	h.stop()
	s.took("worst first hand-out after the start", cold, 2*time.Second)
	s.took("worst hand-out of 21 after healing", back, 3*time.Second)
	s.noted("goroutines after round 1", after1)
	s.counted("more of them after round 20", max(after20-after1, after1-after20), 10)
	s.noRepeats(s.contract())
}

// coldStart is one of the 20 times. It returns how long after the start the
// first hand-out came, and how long after the healing that of 21.
func (s *scene) coldStart(h *child, proxy *netproxy.Proxy, i int) (first, back time.Duration) {
	s.Helper()
	name := fmt.Sprintf("c%02d", i)
	topic, key := s.called("topic-"+name), "k"+name
	s.createTopic(topic, 1)
	s.send(topic, key, 1, 20)
	started := s.rec.Now()
	h.consume(command{
		Name: name, Topic: topic, Group: s.called("group-" + name), Workers: 16,
		Via: map[string]string{s.srv.Broker: proxy.Addr()},
	})
	s.await(10*time.Second, "the backlog handled", handled(key, 1, 20))
	first = s.callsOf(key)[0].Start - started
	s.pause(100 * time.Millisecond) // so that it waits for more
	proxy.Refuse(true)
	if proxy.Reset() == 0 {
		s.Errorf("%s had no link through the proxy", name)
	}
	cut := s.rec.Now()
	s.send(topic, key, 21, 25)
	s.pauseUntil(cut + time.Second)
	proxy.Refuse(false)
	healed := s.rec.Now()
	s.await(10*time.Second, "21 to 25 handled", handled(key, 21, 25))
	for _, c := range s.callsOf(key) {
		if c.Seq == 21 {
			back = c.Start - healed
			break
		}
	}
	h.stopConsumer(name)
	return first, back
}
