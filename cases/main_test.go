// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var rounds = flag.Int("rounds", 3, "how often each case is played")

// binary is the orderly binary, built by TestMain.
var binary string

// TestMain is also the host process, see host_test.go.
func TestMain(m *testing.M) {
	if os.Getenv(hostVariable) != "" {
		os.Exit(beHost())
	}
	flag.Parse()
	dir, err := os.MkdirTemp("", "orderly-cases-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "orderly")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/orderlymq/orderly/cmd/orderly").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	measures.print(os.Stdout)
	os.RemoveAll(dir)
	os.Exit(code)
}

// cases in the order in which they are played. The ones of a lane come one
// after the other, beside those of the other lane.
var lanes = map[string][]aCase{
	"broker": {
		{"D11", "broker failure: crash loop", d11},
	},
	"clients": {
		{"D01", "retry in place: plain failure twice", d01},
		{"D02", "odd handler outcome: panic", d02},
		{"D03", "take-over: owner killed", d03},
		{"D04", "former owner: frozen owner wakes up", d04},
		{"D05", "rebalance with work in hand: join while the handler runs", d05},
		{"D06", "poison: exact limit", d06},
		{"D06 killed", "poison: exact limit, broker killed at the end", d06Killed},
		{"D07", "slow key: neighbour queue", d07},
		{"D08", "positions: message sent during start", d08},
		{"D09", "producer: lost send answer", d09},
		{"D12", "start and silence: cold start with backlog", d12},
	},
	// Once more with key lanes.
	"keys": {
		{"D01 by key", "retry in place: plain failure twice", byKey(d01)},
		{"D02 by key", "odd handler outcome: panic", byKey(d02)},
		{"D03 by key", "take-over: owner killed", byKey(d03)},
		{"D04 by key", "former owner: frozen owner wakes up", byKey(d04)},
		{"D05 by key", "rebalance with work in hand: join while the handler runs", byKey(d05)},
	},
}

// byKey plays a case with consumers that keep each key in order, not the queue.
func byKey(play func(*scene)) func(*scene) {
	return func(s *scene) {
		s.byKey = true
		play(s)
	}
}

type aCase struct {
	id, title string
	play      func(*scene)
}

func TestCases(t *testing.T) {
	for round := range *rounds {
		t.Run(fmt.Sprintf("round-%d", round+1), func(t *testing.T) {
			for lane, list := range lanes {
				t.Run(lane, func(t *testing.T) {
					t.Parallel()
					for _, c := range list {
						t.Run(c.id, func(t *testing.T) {
							c.play(newScene(t, c, round+1))
						})
					}
				})
			}
		})
	}
}
