// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/check"
)

// dice decides from the seed what a handler does with a message on this try:
// how it ends, after how much work, and how long it lingers when its context
// ends. It does not depend on who asks first.
func (s *sim) dice(key string, seq int, odds []simOdd) (what simOdd, work, linger time.Duration) {
	s.mu.Lock()
	m := check.Message{Key: key, Seq: seq}
	s.tries[m]++
	try := s.tries[m]
	s.mu.Unlock()
	rnd := rand.New(rand.NewPCG(s.seed, uint64(try)<<48|uint64(seq)<<16|uint64(simKeyNumber(key))))
	work = time.Duration(2+rnd.IntN(20)) * time.Millisecond
	if s.busy() {
		work = time.Duration(10+rnd.IntN(80)) * time.Millisecond
	}
	if rnd.IntN(100) == 0 {
		work = time.Duration(rnd.IntN(500)) * time.Millisecond
	}
	if rnd.IntN(16) == 0 && (s.mode != simLoose || try <= 2 && s.now() < simHeal/2) { // the retry ladder is long
		what = odds[rnd.IntN(len(odds))]
	}
	if what == simTimeout {
		work = time.Hour
	}
	if s.slowToReturn() {
		linger = time.Duration(rnd.IntN(400)) * time.Millisecond
	}
	return what, work, linger + time.Duration(rnd.IntN(2))
}

// poison says whether a message fails on this try: on every one where the group
// dead-letters, as often as it takes to be parked where it parks.
func (s *sim) poison(key string, seq int) bool {
	if s.mode != simPoison && s.mode != simPark || rand.New(rand.NewPCG(s.seed, uint64(seq)<<16|uint64(simKeyNumber(key)))).IntN(40) != 0 {
		return false
	}
	if s.mode == simPoison {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tries[check.Message{Key: key, Seq: seq}] <= simAttempts
}

// simAttempts is the limit of the group of a seed with poison.
const simAttempts = 4

// slowToReturn says whether handlers of this seed linger for nearly half the
// grace when their context has ended. The members of the others may be frozen
// for nearly half the grace instead: order holds if both together stay within
// it.
func (s *sim) slowToReturn() bool { return s.seed/uint64(simModes)%2 == 0 }

// busy says whether the handlers of this seed have so much work that messages
// pile up when a queue stands still.
func (s *sim) busy() bool { return s.seed%3 == 0 }

func simKeyNumber(key string) (n int) {
	fmt.Sscanf(key, "k%d", &n)
	return n
}

// produce sends 20 messages a second for 20 keys; each key is one producer's.
func (s *sim) produce() *sync.WaitGroup {
	var producers []*Producer
	for i := range simProducers {
		name := simProducer(i)
		client, err := Open(context.Background(), Config{
			NameServers: []string{"ns:9876"}, Dial: s.net.Host(name).Dial, InstanceName: name, Logger: s.logger(name),
		})
		must(s.t, err)
		s.t.Cleanup(func() { must(s.t, client.Close()) })
		producers = append(producers, newProducer(s.t, client, ProducerConfig{}))
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := 0; s.now() < simQuiet; i++ {
			s.send(producers[i%simKeys%simProducers], i, &sending)
			time.Sleep(simSendEvery)
		}
	})
	return &sending
}

func simProducer(i int) string { return fmt.Sprint("p", i) }

func (s *sim) send(p *Producer, i int, sending *sync.WaitGroup) {
	m := check.Message{Key: fmt.Sprint("k", i%simKeys), Seq: i/simKeys + 1}
	s.mu.Lock()
	at := len(s.history.Sends)
	s.history.Sends = append(s.history.Sends, check.Send{Key: m.Key, Seq: m.Seq})
	s.mu.Unlock()
	sending.Add(1)
	p.SendAsync(context.Background(), &Message{Topic: "t", OrderingKey: m.Key, Body: fmt.Append(nil, m.Seq)}, func(_ Receipt, err error) {
		defer sending.Done()
		if err != nil {
			s.t.Errorf("seed %d: send %s:%d: %v", s.seed, m.Key, m.Seq, err)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.history.Sends[at].Acked = true
		s.acked[m] = s.now()
	})
}

// simFault is one entry of the plan of a seed.
type simFault struct {
	at   time.Duration
	kind string
	who  uint // which of those who are there then
	span time.Duration
	dice int
}

// faults makes the plan: 8 to 12 faults, of kinds that differ as far as they
// go round, spread evenly or, in every second seed, anyhow.
func (s *sim) faults() []simFault {
	kinds := simFaultKinds()
	if s.sabotage == simBlindToPauses {
		kinds = []string{"freeze"}
	}
	n := 8 + s.plan.IntN(5)
	var plan []simFault
	deck := s.plan.Perm(len(kinds))
	room := (simHeal - simCalm) / time.Duration(n)
	anyhow := s.plan.IntN(2) == 0
	for i := range n {
		plan = append(plan, simFault{
			at:   simCalm + time.Duration(i)*room + time.Duration(s.plan.Int64N(int64(room))),
			kind: kinds[deck[i%len(deck)]], who: uint(s.plan.Uint32()), dice: s.plan.IntN(1 << 20),
			span: simSpan(s.plan),
		})
		if anyhow {
			plan[i].at = simCalm + time.Duration(s.plan.Int64N(int64(simHeal-simCalm)))
		}
	}
	slices.SortFunc(plan, func(a, b simFault) int { return cmp.Compare(a.at, b.at) })
	return plan
}

// simSpan is how long a fault lasts: often about as long as one of the times
// that matter (grace 1 s, lease 10 s), else anything.
func simSpan(rnd *rand.Rand) time.Duration {
	switch rnd.IntN(3) {
	case 0:
		return time.Duration(100+rnd.IntN(1500)) * time.Millisecond
	case 1:
		return time.Duration(9000+rnd.IntN(6000)) * time.Millisecond
	}
	return time.Duration(100+rnd.IntN(15000)) * time.Millisecond
}
