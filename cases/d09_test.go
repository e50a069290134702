// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/internal/testutil/netproxy"
)

// d09: 4 queues, synchronous keyed sends through a proxy; when k:2 has been
// forwarded, the proxy swallows what the broker says for 4 s and resets the
// link. A send that fails is made again. Level 1: each key's messages stand in
// order. Level 2: and each once.
func d09(s *scene) {
	const queues = 4
	topic := s.called("topic")
	s.createTopic(topic, queues)
	proxy, err := netproxy.Listen(s.Context(), s.srv.Broker)
	s.must(err)
	s.Cleanup(proxy.Close)
	_, p := s.newProducer(orderly.Config{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == s.srv.Broker {
			addr = proxy.Addr()
		}
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}})
	var swallow sync.Once
	swallowed := make(chan struct{})
	proxy.Watch(func(d netproxy.Direction, b []byte) {
		if d == netproxy.ToServer && bytes.Contains(b, []byte("k:2")) {
			swallow.Do(func() {
				proxy.Swallow(netproxy.ToClient, true)
				close(swallowed)
			})
		}
	})
	var faults sync.WaitGroup
	faults.Go(func() {
		<-swallowed
		s.pause(4 * time.Second)
		proxy.Reset()
		proxy.Swallow(netproxy.ToClient, false)
	})
	errs := 0
	began := s.rec.Now()
	for seq := 1; seq <= 5; {
		if _, err := p.Send(s.within(30*time.Second), message(topic, "k", seq)); err != nil {
			errs++
			s.Logf("send of k:%d: %v", seq, err)
			s.says(err)
			p.Resume(topic, "k")
			continue
		}
		seq++
	}
	s.noted("five sends took", s.rec.Now()-began)
	faults.Wait()
	s.noted("sends that failed", errs)
	twice := s.sideBySide(s.readBack(topic, queues))
	s.counted("copies of k:2 beside the first", twice, 0)
}

// says checks that a failed send tells that its message may be stored.
func (s *scene) says(err error) {
	s.Helper()
	if e, ok := errors.AsType[*orderly.DeliveryError](err); !ok || !e.MayBeStored {
		s.Errorf("the error does not say that the message may be stored: %v", err)
	}
}

// sideBySide checks that k:1..5 stand in one queue in order, k:2 perhaps more
// than once in a row, and returns how often beyond the first.
func (s *scene) sideBySide(all []stored) (extra int) {
	s.Helper()
	var seqs []int
	for _, m := range all {
		if m.Queue != all[0].Queue {
			s.Errorf("the key is in queues %d and %d", all[0].Queue, m.Queue)
		}
		seqs = append(seqs, m.Seq)
	}
	if once := slices.Compact(slices.Clone(seqs)); !slices.Equal(once, []int{1, 2, 3, 4, 5}) {
		s.Errorf("stored as %v", seqs)
	}
	for seq := range 5 {
		n := 0
		for _, have := range seqs {
			if have == seq+1 {
				n++
			}
		}
		if n > 1 && seq+1 != 2 {
			s.Errorf("%s is stored %d times", "k:"+strconv.Itoa(seq+1), n)
		}
	}
	return len(seqs) - 5
}
