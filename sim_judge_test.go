// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/check"
)

// simSight is what the group's position in a queue was at a moment.
type simSight struct {
	at             time.Duration
	queue          int
	committed, end int64
}

// watch looks at the group's positions twice a second, from outside.
func (s *sim) watch() (ended chan struct{}, stop func()) {
	a := s.admin()
	ctx, stop := context.WithCancel(context.Background())
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			short, cancel := context.WithTimeout(ctx, time.Second)
			info, err := a.Group(short, "g")
			cancel()
			s.mu.Lock()
			for _, q := range info.Queues {
				if err == nil && q.Topic == "t" {
					s.sights = append(s.sights, simSight{s.now(), q.ID, q.Committed, q.Max})
				}
			}
			s.mu.Unlock()
			time.Sleep(500 * time.Millisecond)
		}
	}()
	return ended, stop
}

// simVerdict is what came of one seed.
type simVerdict struct {
	rep     check.Report
	faults  []string // beyond what check says
	log     []string
	seed    uint64
	mode    simMode
	count   map[string]int
	waited  time.Duration // the longest wait of a message for its success
	settled time.Duration // the same from the end of all faults on
}

func (v *simVerdict) ok() bool {
	if v.mode == simLoose {
		return v.rep.Lost == 0 && len(v.faults) == 0 && v.rep.Handled > 0
	}
	return v.rep.OK() && len(v.faults) == 0 && v.rep.Handled > 0
}

func (v *simVerdict) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

func (v *simVerdict) has(what string) bool {
	return slices.ContainsFunc(v.faults, func(f string) bool { return strings.Contains(f, what) })
}

func (v *simVerdict) String() string {
	return fmt.Sprintf("mode %d: sent %d, handled %d, lost %d, out of order %d, overlapping %d, repeated %d, of them unexplained %d\n%s\n%s\n%s",
		v.mode, v.rep.Sent, v.rep.Handled, v.rep.Lost, v.rep.OutOfOrder, v.rep.Overlapping, v.rep.Repeated, v.rep.Unexplained,
		strings.Join(v.rep.Faults, "\n"), strings.Join(v.faults[:min(len(v.faults), 10)], "\n"), strings.Join(v.log, "\n"))
}

// judge is the verdict over what was recorded.
func (s *sim) judge() *simVerdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoil()
	v := &simVerdict{rep: check.Check(s.history), log: s.log, seed: s.seed, mode: s.mode, count: s.count}
	for _, c := range s.history.Calls {
		if c.Consumer == s.last {
			v.fault("key %s: %d was handed out again at %v, when all was done", c.Key, c.Seq, c.Start)
		}
	}
	if s.rescues > 0 {
		v.fault("watchdogs had to set %d queues going again", s.rescues)
	}
	if s.mode == simLoose {
		return v
	}
	s.judgeLetters(v)
	s.judgeStore(v)
	s.judgePositions(v)
	s.judgeWaits(v)
	return v
}

// spoil changes the record as a broken system would have written it.
func (s *sim) spoil() {
	h := &s.history
	switch s.sabotage {
	case simLostSend:
		h.Calls = slices.DeleteFunc(h.Calls, func(c check.Call) bool { return c.Key == "k7" && c.Seq == 50 })
	case simPositionBack:
		mid := s.sights[len(s.sights)/2]
		mid.committed--
		s.sights = append(s.sights, mid)
	case simLetterTwice:
		s.letters = append(s.letters, s.letters[:min(len(s.letters), 1)]...)
	case simLetterLost:
		if len(s.letters) > 0 {
			delete(h.DeadLetters, s.letterOf(s.letters[0]))
			s.letters = s.letters[1:]
		}
	}
}

// judgeLetters wants each message that always fails among the dead letters, each
// dead letter once, and none that was not tried: crashes count a try each, so a
// message may have had fewer calls than the limit, not more by more than one for
// each death.
func (s *sim) judgeLetters(v *simVerdict) {
	if s.mode != simPoison {
		return
	}
	type place struct {
		queue  int
		offset int64
	}
	seen := map[place]bool{}
	for _, l := range s.letters {
		p := place{l.Queue, l.Offset}
		if seen[p] {
			v.fault("key %s: offset %d of queue %d is among the dead letters twice", l.Key, l.Offset, l.Queue)
		}
		seen[p] = true
		v.count["dead letter"]++
	}
	calls := map[string]int{}
	for _, c := range s.history.Calls {
		if calls[c.Place]++; calls[c.Place] == simAttempts+len(s.history.Kills)+len(s.history.Outages)+len(s.history.Pauses)+1 {
			v.fault("key %s: %d was tried %d times", c.Key, c.Seq, calls[c.Place])
		}
	}
	for m := range s.acked {
		if _, dead := s.history.DeadLetters[m]; !dead && s.poison(m.Key, m.Seq) {
			v.fault("key %s: %d always fails and is not among the dead letters", m.Key, m.Seq)
		}
	}
}

// judgeStore wants the messages of a key to stand in one queue, in the order in
// which they were sent, and each message once: sends are numbered.
func (s *sim) judgeStore(v *simVerdict) {
	type place struct {
		queue  int
		offset int64
		seq    int
	}
	keys := map[string][]place{}
	for _, c := range s.history.Calls {
		p := place{seq: c.Seq}
		fmt.Sscanf(c.Place, "%d/%d", &p.queue, &p.offset)
		keys[c.Key] = append(keys[c.Key], p)
	}
	for key, places := range keys {
		slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.offset, b.offset) })
		for i, p := range places[1:] {
			before := places[i]
			if p.queue != before.queue {
				v.fault("key %s: %d in queue %d, %d in queue %d", key, before.seq, before.queue, p.seq, p.queue)
			}
			switch {
			case p.seq < before.seq:
				v.fault("key %s: %d is stored behind %d", key, p.seq, before.seq)
			case p.seq == before.seq && p.offset != before.offset:
				v.fault("key %s: %d is stored twice", key, p.seq)
			}
		}
	}
}

// judgePositions wants positions that never go back, never pass a message that
// has not been done, and stand at the end of every queue in the end.
func (s *sim) judgePositions(v *simVerdict) {
	done := map[string]time.Duration{} // place -> first success
	for _, c := range s.history.Calls {
		if at, ok := done[c.Place]; c.Outcome == check.Success && (!ok || c.End < at) {
			done[c.Place] = c.End
		}
	}
	for _, l := range s.letters { // given up: as good as done
		at := s.givenUpAt(l)
		if have, ok := done[simPlace(l.Queue, l.Offset)]; !ok || at < have {
			done[simPlace(l.Queue, l.Offset)] = at
		}
	}
	last := map[int]simSight{}
	for _, x := range s.sights {
		was := last[x.queue]
		if x.committed < was.committed {
			v.fault("queue %d: the position went back from %d to %d at %v", x.queue, was.committed, x.committed, x.at)
		}
		for o := was.committed; o < x.committed; o++ {
			if at, ok := done[simPlace(x.queue, o)]; !ok || at > x.at {
				v.fault("queue %d: the position at %v is %d, though %d was not done", x.queue, x.at, x.committed, o)
			}
		}
		last[x.queue] = x
	}
	for q := range simQueues {
		if x := last[q]; x.committed != x.end {
			v.fault("queue %d: the position in the end is %d of %d", q, x.committed, x.end)
		}
	}
}

// judgeWaits measures how long messages waited for their success, and wants
// them done in time once all faults are healed.
func (s *sim) judgeWaits(v *simVerdict) {
	first := map[check.Message]time.Duration{}
	for _, c := range s.history.Calls {
		m := check.Message{Key: c.Key, Seq: c.Seq}
		if at, ok := first[m]; c.Outcome == check.Success && (!ok || c.End < at) {
			first[m] = c.End
		}
	}
	for m, acked := range s.acked {
		at, ok := first[m]
		if !ok {
			continue // lost, says check
		}
		v.waited = max(v.waited, at-acked)
		wait := at - max(acked, simHeal)
		v.settled = max(v.settled, wait)
		if wait > simSettle {
			v.fault("key %s: %d waited %v for its success after all was healed, want %v at most", m.Key, m.Seq, wait, simSettle)
		}
	}
}

// simTotals sums up a run.
type simTotals struct {
	mu                    sync.Mutex
	seeds, sent, repeated int
	waited, settled       time.Duration
	waitedIn, settledIn   uint64 // the seeds
	count                 map[string]int
}

func newSimTotals() *simTotals { return &simTotals{count: map[string]int{}} }

func (n *simTotals) add(v *simVerdict) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seeds++
	n.sent += v.rep.Sent
	n.repeated += v.rep.Repeated
	if v.waited > n.waited {
		n.waited, n.waitedIn = v.waited, v.seed
	}
	if v.settled > n.settled {
		n.settled, n.settledIn = v.settled, v.seed
	}
	for k, c := range v.count {
		n.count[k] += c
	}
}

func (n *simTotals) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "simulation: %d seeds, %d messages, %d handled again\n", n.seeds, n.sent, n.repeated)
	fmt.Fprintf(&b, "  longest wait of a message: %v (seed %d); after all was healed: %v (seed %d; bound %v)\n",
		n.waited.Round(time.Millisecond), n.waitedIn, n.settled.Round(time.Millisecond), n.settledIn, simSettle)
	for _, kind := range slices.Sorted(maps.Keys(n.count)) {
		fmt.Fprintf(&b, "  %6d  %s\n", n.count[kind], kind)
	}
	return b.String()
}
