// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"testing"
)

// small makes the demo short enough for a test; the consumer is still killed
// inside a handler with more than 40 % unsent.
var small = []string{"demo", "--json", "--messages", "1200", "--orders", "60", "--rate", "400", "--quiet", "6s"}

type proof struct {
	Sent           int     `json:"sent"`
	Handled        int     `json:"handled"`
	Lost           int     `json:"lost"`
	Repeated       int     `json:"repeated"`
	OutOfOrder     int     `json:"out_of_order"`
	Overlapping    int     `json:"overlapping"`
	LongestPauseMS *int64  `json:"longest_pause_ms"`
	PerSecond      float64 `json:"per_second"`
}

func runDemo(t *testing.T, more ...string) (proof, error) {
	t.Helper()
	stdout, stderr, err := run(t, append(small, more...)...)
	var p proof
	if jsonErr := json.Unmarshal([]byte(stdout), &p); jsonErr != nil {
		t.Fatalf("no proof: %v, %v\n%s\n%s", jsonErr, err, stdout, stderr)
	}
	t.Logf("%s", stdout)
	return p, err
}

func TestDemoHoldsTheContract(t *testing.T) {
	for name, more := range map[string][]string{"consumer killed": nil, "server killed too": {"--kill-broker"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := runDemo(t, more...)
			if err != nil {
				t.Errorf("exit status: %v", err)
			}
			if p.Sent != 1200 || p.Handled != 1200 || p.Lost+p.OutOfOrder+p.Overlapping != 0 {
				t.Errorf("proof %+v", p)
			}
			if p.LongestPauseMS == nil || p.PerSecond <= 0 {
				t.Errorf("proof %+v lacks the pause or the rate", p)
			}
		})
	}
}

// TestDemoNoticesFaults shows that the proof can fail: each kind of
// misbehaviour is found and makes the exit status tell.
func TestDemoNoticesFaults(t *testing.T) {
	tests := map[string]func(proof) bool{
		"drop":    func(p proof) bool { return p.Lost == 1 },
		"swap":    func(p proof) bool { return p.OutOfOrder > 0 },
		"double":  func(p proof) bool { return p.Repeated > 0 },
		"overlap": func(p proof) bool { return p.Overlapping > 0 },
	}
	for fault, found := range tests {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			p, err := runDemo(t, "--fault", fault)
			if err == nil {
				t.Error("exit status 0")
			}
			if !found(p) {
				t.Errorf("proof %+v does not show it", p)
			}
		})
	}
}
