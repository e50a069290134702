// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/orderlymq/orderly/admin"
	"github.com/orderlymq/orderly/internal/check"
	"github.com/orderlymq/orderly/internal/memnet"
	"github.com/orderlymq/orderly/internal/namesrv"
)

// The shape of a simulation. Faults happen in [simCalm, simHeal); messages are
// sent until simQuiet, and the members live until simEnd at least.
const (
	simQueues    = 4
	simKeys      = 20
	simProducers = 3
	simMembers   = 3
	simSendEvery = 50 * time.Millisecond

	simCalm  = 5 * time.Second
	simHeal  = 100 * time.Second
	simQuiet = 108 * time.Second
	simEnd   = 120 * time.Second

	// simSettle bounds how long a message may wait for its success once all
	// faults are healed: the longest back-off and take-over (the lease and the
	// grace, 11 s) and the work that has piled up.
	simSettle = 20 * time.Second
)

// simSabotage is what is broken on purpose.
type simSabotage int

const (
	simHealthy simSabotage = iota
	simBlindToPauses
	simHastyBroker
	simLostSend
	simPositionBack
	simLetterTwice
	simLetterLost
)

// sim is one seed.
type sim struct {
	t        *testing.T
	seed     uint64
	plan     *rand.Rand
	sabotage simSabotage
	mode     simMode
	start    time.Time
	net      *memnet.Network
	server   *simServer

	members []*simMember // touched by the goroutine of play only
	joined  int
	last    string // the member that must get nothing

	mu      sync.Mutex
	log     []string
	count   map[string]int
	history check.History
	acked   map[check.Message]time.Duration
	tries   map[check.Message]int
	sights  []simSight
	rescues int64          // by watchdogs
	letters []admin.Letter // of the group, as last seen
}

func newSim(t *testing.T, seed uint64, sabotage simSabotage) *sim {
	s := &sim{
		t: t, seed: seed, plan: rand.New(rand.NewPCG(seed, 7)), sabotage: sabotage, mode: simMode(seed % uint64(simModes)), start: time.Now(),
		net: memnet.New(), count: map[string]int{}, acked: map[check.Message]time.Duration{}, tries: map[check.Message]int{},
	}
	ns := namesrv.New(namesrv.Config{ListenAddr: "ns:9876", Listen: s.net.Host("ns").Listen, Logger: s.logger("ns")})
	must(t, ns.Start(context.Background()))
	s.server = newSimServer(s)
	s.server.open()
	t.Cleanup(func() {
		s.server.close()
		must(t, ns.Close(context.Background()))
	})
	a := s.admin()
	must(t, a.CreateTopic(t.Context(), admin.Topic{Name: "t", Queues: simQueues, Ordered: s.mode != simLoose}))
	if poison := map[simMode]string{simPoison: "dead-letter", simPark: "park"}[s.mode]; poison != "" {
		must(t, a.CreateGroup(t.Context(), admin.Group{Name: "g", Policy: admin.GroupPolicy{MaxAttempts: simAttempts, Poison: poison}}))
	}
	return s
}

func (s *sim) admin() *admin.Client {
	a, err := admin.Open(s.t.Context(), admin.Config{NameServers: []string{"ns:9876"}, Dial: s.net.Host("admin").Dial})
	must(s.t, err)
	s.t.Cleanup(func() { must(s.t, a.Close()) })
	return a
}

func (s *sim) now() time.Duration { return time.Since(s.start) }

// until sleeps until a moment of the simulation.
func (s *sim) until(at time.Duration) { time.Sleep(max(at-s.now(), 0)) }

// rescued counts what a watchdog had to set going again.
func (s *sim) rescued(who string, n int64) {
	if n > 0 {
		s.note("%s: %d rescues", who, n)
		s.mu.Lock()
		s.rescues += n
		s.mu.Unlock()
	}
}

// note writes a line of the fault log.
func (s *sim) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf("%10v  ", s.now().Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

func (s *sim) counted(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[kind]++
}

func (s *sim) outage(o check.Outage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.Outages = append(s.history.Outages, o)
}

// play runs the seed from the first member's start to the last one's end.
func (s *sim) play() {
	for range simMembers {
		s.join()
	}
	watch, stopWatch := s.watch()
	operator, stopOperator := s.operate()
	time.Sleep(time.Second)
	sending := s.produce()
	for _, f := range s.faults() {
		s.until(f.at)
		s.strike(f)
	}
	s.until(simHeal)
	s.heal()
	sending.Wait()
	s.until(simEnd)
	a := s.admin()
	for deadline := simQuiet + simSettle; s.now() < deadline && !s.allHandled(); {
		time.Sleep(100 * time.Millisecond)
		s.readLetters(a)
	}
	s.readLetters(a)
	stopOperator()
	<-operator
	s.leaveAll()
	s.aftermath()
	stopWatch()
	<-watch
}

// operate resumes, every few seconds, what the group has parked.
func (s *sim) operate() (ended chan struct{}, stop func()) {
	ended = make(chan struct{})
	if s.mode != simPark {
		close(ended)
		return ended, func() {}
	}
	a := s.admin()
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer close(ended)
		for ; ctx.Err() == nil; time.Sleep(3 * time.Second) {
			short, cancel := context.WithTimeout(ctx, 2*time.Second)
			list, err := a.Blocked(short, "g")
			for _, b := range list {
				if err != nil || b.Why != "parked" {
					continue
				}
				s.counted("key parked")
				_, err := a.Do(short, admin.Resume, admin.Message{Group: "g", Topic: "t", Queue: b.Queue, Offset: b.Offset})
				if err == nil {
					s.counted("key resumed")
				}
			}
			cancel()
		}
	}()
	return ended, stop
}

// heal ends every fault that still lasts.
func (s *sim) heal() {
	s.note("everything is healed")
	for _, m := range s.members {
		m.thaw()
	}
	s.net.HealAll()
	s.server.heal()
}

// readLetters reads the group's dead letters back. A message given up counts as
// settled from the end of its last try on.
func (s *sim) readLetters(a *admin.Client) {
	if s.mode != simPoison {
		return
	}
	list, err := a.DeadLetters(s.t.Context(), "g")
	if err != nil {
		s.t.Errorf("seed %d: dead letters: %v", s.seed, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.letters = list
	s.history.DeadLetters = map[check.Message]time.Duration{}
	for _, l := range list {
		m, at := s.letterOf(l), s.givenUpAt(l)
		if was, twice := s.history.DeadLetters[m]; !twice || at < was { // a message may have been stored twice
			s.history.DeadLetters[m] = at
		}
	}
}

// letterOf is the message that a dead letter was.
func (s *sim) letterOf(l admin.Letter) check.Message {
	seq, _ := strconv.Atoi(string(l.Body))
	return check.Message{Key: l.Key, Seq: seq}
}

// givenUpAt is when the last try of a dead letter ended; s.mu is held.
func (s *sim) givenUpAt(l admin.Letter) (at time.Duration) {
	for _, c := range s.history.Calls {
		if c.Place == simPlace(l.Queue, l.Offset) {
			at = max(at, c.End, c.Start)
		}
	}
	return at
}

func (s *sim) allHandled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := map[check.Message]bool{}
	for _, c := range s.history.Calls {
		if c.Outcome == check.Success {
			done[check.Message{Key: c.Key, Seq: c.Seq}] = true
		}
	}
	for _, m := range s.history.Sends {
		_, dead := s.history.DeadLetters[check.Message{Key: m.Key, Seq: m.Seq}]
		if m.Acked && !dead && !done[check.Message{Key: m.Key, Seq: m.Seq}] {
			return false
		}
	}
	return true
}

// leaveAll stops the members, which must end without an error.
func (s *sim) leaveAll() {
	for _, m := range s.members {
		m.stop()
	}
	for _, m := range s.members {
		m.join()
	}
	s.members = nil
}

// aftermath starts one more member when everything has been handled and all
// others have left in peace: it must get nothing.
func (s *sim) aftermath() {
	s.note("a last member: it must get nothing")
	s.last = s.join().name
	time.Sleep(3 * time.Second)
	s.mu.Lock()
	s.history.End = s.now()
	s.mu.Unlock()
	s.leaveAll()
}
