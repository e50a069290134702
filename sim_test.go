// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

var (
	simSeeds = flag.Int("sim.seeds", simDefault, "how many seeds of simulated trouble to run")
	simFirst = flag.Int("sim.first", 0, "the first of these seeds")
)

// simEnough is how often each kind of fault must have happened in a run of
// simMany seeds or more.
const (
	simMany   = 1000
	simEnough = 100
)

// TestSim plays whole systems through simulated trouble: a broker, producers,
// and a group of consumers on an in-memory network and disk, two minutes each,
// while members are killed, frozen and cut off, the broker's clock steps, its
// disk stalls, it restarts, and handlers come to odd ends. What was recorded is
// judged by internal/check and a few rules of sim_judge_test.go. A seed names a
// plan of faults; how goroutines are scheduled it does not decide.
//
//	go test -run TestSim . -sim.seeds=1000
//	go test -run TestSim . -sim.first=77 -sim.seeds=1
func TestSim(t *testing.T) {
	begun := time.Now()
	total := newSimTotals()
	t.Run("seed", func(t *testing.T) {
		for i := range *simSeeds {
			seed := uint64(*simFirst + i)
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newSim(t, seed, simHealthy)
					s.play()
					v := s.judge()
					total.add(v)
					if !v.ok() {
						t.Errorf("seed %d\n%s", seed, v)
					}
				})
			})
		}
	})
	fmt.Printf("%s  %v of wall time\n", total, time.Since(begun).Round(100*time.Millisecond))
	if *simSeeds >= simMany {
		for _, kind := range append(simFaultKinds(), simOddKinds()...) {
			if n := total.count[kind]; n < simEnough {
				t.Errorf("%d times %q, want at least %d", n, kind, simEnough)
			}
		}
	}
}

// TestSimCanFail breaks one promise each and wants the simulation to see it:
// who finds nothing in a broken system proves nothing about a whole one.
func TestSimCanFail(t *testing.T) {
	for _, tt := range []struct {
		name    string
		how     simSabotage
		noticed func(v *simVerdict) bool
	}{
		{"members that do not notice that they were frozen", simBlindToPauses, func(v *simVerdict) bool { return v.rep.OutOfOrder+v.rep.Overlapping > 0 }},
		{"a broker whose lease clock runs too fast", simHastyBroker, func(v *simVerdict) bool { return v.rep.Overlapping > 0 }},
		{"messages that are stored and never sent out", simLostSend, func(v *simVerdict) bool { return v.rep.Lost > 0 }},
		{"a dead letter that is stored twice", simLetterTwice, func(v *simVerdict) bool { return v.has("twice") }},
		{"a dead letter that is lost", simLetterLost, func(v *simVerdict) bool { return v.rep.Lost > 0 && v.has("was not done") }},
		{"a position that goes back", simPositionBack, func(v *simVerdict) bool { return v.has("went back") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(10) {
				found := false
				synctest.Test(t, func(t *testing.T) {
					s := newSim(t, seed, tt.how)
					s.play()
					found = tt.noticed(s.judge())
				})
				if found {
					return
				}
			}
			t.Error("10 seeds have not found it")
		})
	}
}
