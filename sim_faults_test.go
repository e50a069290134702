// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"slices"
	"time"

	"github.com/orderlymq/orderly/internal/check"
)

// simActs are the kinds of fault and what they do.
var simActs = []struct {
	kind string
	do   func(s *sim, f simFault)
}{
	{"kill", (*sim).kill},
	{"freeze", (*sim).freeze},
	{simBrokerFreeze, (*sim).freezeBroker},
	{"partition", (*sim).partition},
	{"one-way cut to the broker", (*sim).cutTo},
	{"one-way cut from the broker", (*sim).cutFrom},
	{"links reset", (*sim).reset},
	{"answers swallowed", (*sim).swallow},
	{"slow link", (*sim).slowLink},
	{simClockStep, (*sim).clockStep},
	{"slow disk", (*sim).slowDisk},
	{"name server away", (*sim).noNames},
	{"broker restart", (*sim).restart},
	{"broker crash", (*sim).crash},
	{"member joins", (*sim).joins},
	{"member leaves", (*sim).leaves},
}

const (
	simBrokerFreeze = "broker freeze"
	simClockStep    = "clock step"
)

func simFaultKinds() []string {
	var names []string
	for _, a := range simActs {
		names = append(names, a.kind)
	}
	return names
}

func (s *sim) strike(f simFault) {
	for _, a := range simActs {
		if a.kind == f.kind && !s.spared(f.kind) {
			s.counted(f.kind)
			a.do(s, f)
		}
	}
}

// spared are the faults that groups without order do not get. Their retries are
// delayed messages, which go by the broker's wall clock: one that is put back
// delays them as long. And a broker that stands still while they fall due would
// stand still with a lock, so that simulated time could not go on.
func (s *sim) spared(kind string) bool {
	return s.mode == simLoose && (kind == simBrokerFreeze || kind == simClockStep)
}

// staying are the members that live and have not been told to leave.
func (s *sim) staying() []*simMember {
	return slices.DeleteFunc(slices.Clone(s.members), func(m *simMember) bool { return m.leaves || !m.alive.Load() })
}

// victim is a member that is up; frozen ones are left alone.
func (s *sim) victim(f simFault) *simMember {
	up := slices.DeleteFunc(s.staying(), (*simMember).frozen)
	if len(up) == 0 {
		return s.join()
	}
	return up[f.who%uint(len(up))]
}

// hosts are those whose link breaks: mostly a member's, else a producer's, or
// those of two members.
func (s *sim) hosts(f simFault) []string {
	switch f.dice % 6 {
	case 0:
		return []string{simProducer(int(f.who % simProducers))}
	case 1:
		next := f
		next.who++
		return []string{s.victim(f).name, s.victim(next).name}
	}
	return []string{s.victim(f).name}
}

// cutOff breaks links by cut and mends them after the fault's span.
func (s *sim) cutOff(f simFault, what string, cut, mend func(host string)) {
	hosts := s.hosts(f)
	s.note("%s: %v for %v", what, hosts, f.span)
	for _, h := range hosts {
		cut(h)
		s.outage(check.Outage{Consumer: h, From: s.now(), To: s.now() + f.span})
		time.AfterFunc(f.span, func() { mend(h) })
	}
}

func (s *sim) partition(f simFault) {
	s.cutOff(f, f.kind, func(h string) { s.net.Cut(h, brokerHost) }, func(h string) { s.net.Heal(h, brokerHost) })
}

func (s *sim) cutTo(f simFault) {
	s.cutOff(f, f.kind, func(h string) { s.net.Block(h, brokerHost) }, func(h string) { s.net.Unblock(h, brokerHost) })
}

func (s *sim) cutFrom(f simFault) {
	s.cutOff(f, f.kind, func(h string) { s.net.Block(brokerHost, h) }, func(h string) { s.net.Unblock(brokerHost, h) })
}

func (s *sim) reset(f simFault) {
	f.span = 0
	s.cutOff(f, f.kind, func(h string) { s.net.Reset(h, brokerHost) }, func(string) {})
}

// swallow loses, for good, what is sent one way on the links that are open now;
// they stay open until somebody gives up on them.
func (s *sim) swallow(f simFault) {
	f.span = 15 * time.Second
	s.cutOff(f, f.kind, func(h string) {
		if f.dice%2 == 0 {
			s.net.Blackhole(brokerHost, h)
		} else {
			s.net.Blackhole(h, brokerHost)
		}
	}, func(string) {})
}

func (s *sim) slowLink(f simFault) {
	d := time.Duration(5+f.dice%250) * time.Millisecond
	set := func(d time.Duration) func(h string) {
		return func(h string) {
			s.net.Delay(h, brokerHost, d)
			s.net.Delay(brokerHost, h, d)
		}
	}
	s.note("each way takes %v longer", d)
	s.cutOff(f, f.kind, set(d), set(0))
}

func (s *sim) kill(f simFault) {
	m := s.victim(f)
	if f.dice%4 == 0 { // a frozen process dies too
		for _, one := range s.staying() {
			if one.frozen() {
				m = one
			}
		}
	}
	s.note("%s: %s", f.kind, m.name)
	m.kill()
	s.refill(f)
}

// refill keeps enough members; a new one comes at once or a little later.
func (s *sim) refill(f simFault) {
	if len(s.staying()) < simMembers {
		time.Sleep(time.Duration(f.dice%3) * time.Second)
		s.note("%s joins", s.join().name)
	}
}

func (s *sim) freeze(f simFault) {
	if f.span < 500*time.Millisecond && s.slowToReturn() {
		f.span += 500 * time.Millisecond
	}
	m := s.victim(f)
	s.note("%s: %s for %v", f.kind, m.name, f.span)
	m.freeze(f.span)
}

func (s *sim) freezeBroker(f simFault) {
	s.note("%s: for %v", f.kind, f.span)
	s.server.freeze(f.span)
}

func (s *sim) noNames(f simFault) {
	s.note("%s: for %v", f.kind, f.span)
	s.net.Cut("ns", "*")
	time.AfterFunc(f.span, func() { s.net.Heal("ns", "*") })
}

func (s *sim) clockStep(f simFault) {
	step := time.Duration(f.dice%7200-3600) * time.Second
	s.note("%s: by %v", f.kind, step)
	s.server.skew.Add(int64(step))
}

func (s *sim) slowDisk(f simFault) {
	d := min(f.span, time.Duration(500+f.dice%5500)*time.Millisecond)
	s.note("%s: nothing is written for %v", f.kind, d)
	s.server.stall(d)
}

// simDown is 0.2 to 5 s.
func simDown(f simFault) time.Duration { return time.Duration(200+f.dice%4800) * time.Millisecond }

func (s *sim) restart(f simFault) {
	s.note("%s: %v", f.kind, simDown(f))
	s.server.restart(s.server.stop, simDown(f))
}

func (s *sim) crash(f simFault) {
	s.note("%s: %v", f.kind, simDown(f))
	s.server.restart(s.server.crash, simDown(f))
}

func (s *sim) joins(f simFault) { s.note("%s: %s", f.kind, s.join().name) }

// leaves stops a member in peace; it is waited for in the end.
func (s *sim) leaves(f simFault) {
	m := s.victim(f)
	s.note("%s: %s", f.kind, m.name)
	m.leaves = true
	m.stop()
	s.refill(f)
}
