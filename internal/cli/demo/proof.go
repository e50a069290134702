// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"time"

	"github.com/orderlymq/orderly/internal/check"
)

// Proof is the demo's result, as printed with --json.
type Proof struct {
	Sent           int     `json:"sent"`
	Handled        int     `json:"handled"`
	Lost           int     `json:"lost"`
	Repeated       int     `json:"repeated"`
	OutOfOrder     int     `json:"out_of_order"`
	Overlapping    int     `json:"overlapping"`
	LongestPauseMS int64   `json:"longest_pause_ms"`
	PerSecond      float64 `json:"per_second"`

	report   check.Report
	wanted   int
	consumer string // that was killed
	server   bool   // was killed too
}

func newProof(h check.History, o Options, victim string) Proof {
	r := check.Check(h)
	p := Proof{
		Sent: r.Sent, Handled: r.Handled, Lost: r.Lost, Repeated: r.Repeated,
		OutOfOrder: r.OutOfOrder, Overlapping: r.Overlapping,
		LongestPauseMS: r.LongestPause.Milliseconds(),
		report:         r, wanted: o.Messages, consumer: victim, server: o.KillBroker,
	}
	if d := busy(h); d > 0 {
		p.PerSecond = float64(int(float64(r.Handled)/d.Seconds()*10)) / 10
	}
	return p
}

// busy is the time from the first handler call's start to the last one's end.
func busy(h check.History) time.Duration {
	var first, last time.Duration
	for i, c := range h.Calls {
		if i == 0 || c.Start < first {
			first = c.Start
		}
		last = max(last, c.End)
	}
	return last - first
}

// OK reports whether the contract held for every message that was to be sent.
func (p Proof) OK() bool { return p.report.OK() && p.Sent == p.wanted }

// Print writes the proof for people.
func (p Proof) Print(w io.Writer) {
	fmt.Fprintf(w, "\nProof (from the parent's own record of every send and every handler call)\n\n")
	row := func(name string, v any) { fmt.Fprintf(w, "  %-34s %v\n", name, v) }
	row("sent and acknowledged", fmt.Sprintf("%d of %d", p.Sent, p.wanted))
	row("handled", p.Handled)
	row("lost", p.Lost)
	row("repeated", fmt.Sprintf("%d (%d stored twice, %d without a death that explains it)", p.Repeated, p.report.Copies, p.report.Unexplained))
	row("out of order", p.OutOfOrder)
	row("overlapping calls of one order", p.Overlapping)
	row("longest pause of an order", fmt.Sprintf("%d ms after the kill of %s", p.LongestPauseMS, p.victims()))
	row("handled a second", p.PerSecond)
	for _, f := range p.report.Faults {
		fmt.Fprintf(w, "  ! %s\n", f)
	}
	if p.OK() {
		fmt.Fprintf(w, "\nNothing lost, nothing out of order, nothing at the same time.\n")
	} else {
		fmt.Fprintf(w, "\nThe contract of order was BROKEN.\n")
	}
}

func (p Proof) victims() string {
	if p.server {
		return p.consumer + " and the server"
	}
	return p.consumer
}
