// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

// run builds a history of one key from lines `consumer seq start end outcome`
// in milliseconds; outcome is ok, err or open.
func run(lines string) History {
	h := History{End: time.Hour}
	most := 0
	for line := range strings.Lines(lines) {
		f := strings.Fields(line)
		if len(f) != 5 {
			continue
		}
		c := Call{Consumer: f[0], Key: "k", Seq: atoi(f[1]), Start: time.Duration(atoi(f[2])) * ms, End: time.Duration(atoi(f[3])) * ms}
		c.Outcome = map[string]Outcome{"ok": Success, "err": Failure, "open": Open}[f[4]]
		h.Calls = append(h.Calls, c)
		most = max(most, c.Seq)
	}
	for seq := 1; seq <= most; seq++ {
		h.Sends = append(h.Sends, Send{"k", seq, true})
	}
	return h
}

func atoi(s string) (n int) {
	for _, d := range s {
		n = n*10 + int(d-'0')
	}
	return n
}

func TestHistories(t *testing.T) {
	tests := []struct {
		name  string
		lines string
		alter func(*History)
		want  Report
	}{
		{name: "in order", lines: "a 1 0 5 ok\na 2 5 9 ok\nb 3 10 11 ok", want: Report{Sent: 3, Handled: 3}},
		{name: "retried in place", lines: "a 1 0 5 ok\na 2 5 9 err\na 2 10 11 ok\na 3 12 13 ok", want: Report{Sent: 3, Handled: 3}},
		{name: "dropped at the end", lines: "a 1 0 5 ok\na 2 6 7 ok", alter: func(h *History) {
			h.Sends = append(h.Sends, Send{"k", 3, true})
		}, want: Report{Sent: 3, Handled: 2, Lost: 1}},
		{name: "not acknowledged is not lost", lines: "a 1 0 5 ok", alter: func(h *History) {
			h.Sends = append(h.Sends, Send{"k", 2, false})
		}, want: Report{Sent: 1, Handled: 1}},
		{name: "dropped in the middle", lines: "a 1 0 5 ok\na 3 6 7 ok", want: Report{Sent: 3, Handled: 2, Lost: 1, OutOfOrder: 2}},
		{name: "swapped", lines: "a 2 0 5 ok\na 1 6 7 ok", want: Report{Sent: 2, Handled: 2, OutOfOrder: 2}},
		{name: "next before the retry", lines: "a 1 0 5 err\na 2 6 7 ok\na 1 8 9 ok", want: Report{Sent: 2, Handled: 2, OutOfOrder: 1}},
		{name: "handled twice without a reason", lines: "a 1 0 5 ok\na 1 6 7 ok", want: Report{Sent: 1, Handled: 1, Repeated: 1, Unexplained: 1}},
		{name: "handled again after a death", lines: "a 1 0 5 ok\nb 1 16 17 ok", alter: func(h *History) {
			h.Kills = []Kill{{"a", 10 * ms}}
		}, want: Report{Sent: 1, Handled: 1, Repeated: 1, LongestPause: 6 * ms}},
		{name: "stored twice", lines: "a 1 0 5 ok\na 1 6 7 ok", alter: func(h *History) {
			h.Calls[0].Place, h.Calls[1].Place = "q/0", "q/1"
		}, want: Report{Sent: 1, Handled: 1, Repeated: 1, Copies: 1}},
		{name: "stored twice, and a copy handled twice", lines: "a 1 0 5 ok\na 1 6 7 ok\na 1 8 9 ok", alter: func(h *History) {
			h.Calls[0].Place, h.Calls[1].Place, h.Calls[2].Place = "q/0", "q/1", "q/0"
		}, want: Report{Sent: 1, Handled: 1, Repeated: 2, Copies: 1, Unexplained: 1}},
		{name: "handled again after an outage", lines: "a 1 9990 10005 ok\nb 1 16000 16001 ok", alter: func(h *History) {
			h.Outages = []Outage{{From: 10000 * ms, To: 12000 * ms}}
		}, want: Report{Sent: 1, Handled: 1, Repeated: 1}},
		{name: "handled long before an outage and again", lines: "a 1 0 5 ok\nb 1 16000 16001 ok", alter: func(h *History) {
			h.Outages = []Outage{{From: 10000 * ms, To: 12000 * ms}}
		}, want: Report{Sent: 1, Handled: 1, Repeated: 1, Unexplained: 1}},
		{name: "handled long after an outage and again", lines: "a 1 13500 13505 ok\nb 1 16000 16001 ok", alter: func(h *History) {
			h.Outages = []Outage{{From: 10000 * ms, To: 12000 * ms}}
		}, want: Report{Sent: 1, Handled: 1, Repeated: 1, Unexplained: 1}},
		{name: "handled again before the outage", lines: "a 1 9900 9905 ok\nb 1 9950 9960 ok", alter: func(h *History) {
			h.Outages = []Outage{{From: 10000 * ms, To: 12000 * ms}}
		}, want: Report{Sent: 1, Handled: 1, Repeated: 1, Unexplained: 1}},
		{name: "handled again after its consumer was not heard", lines: "a 1 9990 10005 ok\nb 1 16000 16001 ok", alter: func(h *History) {
			h.Outages = []Outage{{From: 10000 * ms, To: 12000 * ms, Consumer: "a"}}
		}, want: Report{Sent: 1, Handled: 1, Repeated: 1}},
		{name: "handled again though another consumer was not heard", lines: "a 1 9990 10005 ok\nb 1 16000 16001 ok", alter: func(h *History) {
			h.Outages = []Outage{{From: 10000 * ms, To: 12000 * ms, Consumer: "b"}}
		}, want: Report{Sent: 1, Handled: 1, Repeated: 1, Unexplained: 1}},
		{name: "a long pause forgives the call that it caught", lines: "a 1 9990 20100 ok\nb 1 15000 15001 ok\nb 2 20050 20060 ok", alter: func(h *History) {
			h.Pauses = []Pause{{"a", 10000 * ms, 20000 * ms}}
		}, want: Report{Sent: 2, Handled: 2, Repeated: 1}},
		{name: "not from its first moment on", lines: "a 1 9990 20100 ok\nb 1 10400 10401 ok", alter: func(h *History) {
			h.Pauses = []Pause{{"a", 10000 * ms, 20000 * ms}}
		}, want: Report{Sent: 1, Handled: 1, Repeated: 1, Overlapping: 1}},
		{name: "not for ever after it", lines: "a 1 9990 21100 ok\nb 1 15000 15001 ok", alter: func(h *History) {
			h.Pauses = []Pause{{"a", 10000 * ms, 20000 * ms}}
		}, want: Report{Sent: 1, Handled: 1, Repeated: 1, Unexplained: 1, Overlapping: 1}},
		{name: "not the next call", lines: "a 1 9990 20000 ok\nb 1 15000 15001 ok\nb 2 20000 20010 ok\na 2 20005 20015 ok", alter: func(h *History) {
			h.Pauses = []Pause{{"a", 10000 * ms, 20000 * ms}}
		}, want: Report{Sent: 2, Handled: 2, Repeated: 2, Unexplained: 1, Overlapping: 1}},
		{name: "a short pause forgives nothing", lines: "a 1 9990 10450 ok\nb 1 10420 10430 ok", alter: func(h *History) {
			h.Pauses = []Pause{{"a", 10000 * ms, 10440 * ms}}
		}, want: Report{Sent: 1, Handled: 1, Repeated: 1, Overlapping: 1}},
		{name: "an open call ends with its process", lines: "a 1 0 0 open\nb 1 16 17 ok", alter: func(h *History) {
			h.Kills = []Kill{{"a", 10 * ms}}
		}, want: Report{Sent: 1, Handled: 1, LongestPause: 6 * ms}},
		{name: "an open call of the living overlaps", lines: "a 1 0 0 open\nb 1 16 17 ok", want: Report{Sent: 1, Handled: 1, Overlapping: 1}},
		{name: "overlap across processes", lines: "a 1 0 5 ok\na 2 6 10 ok\nb 2 8 12 ok", want: Report{Sent: 2, Handled: 2, Repeated: 1, Unexplained: 1, Overlapping: 1}},
		{name: "next started inside", lines: "a 1 0 5 ok\nb 2 4 9 ok", want: Report{Sent: 2, Handled: 2, OutOfOrder: 1, Overlapping: 1}},
		{name: "overlap hidden behind a short call", lines: "a 1 0 20 ok\nb 1 1 2 ok\nb 1 3 4 ok", want: Report{Sent: 1, Handled: 1, Repeated: 2, Unexplained: 2, Overlapping: 2}},
		{name: "dead letter settles", lines: "a 1 0 5 err\na 2 8 9 ok", alter: func(h *History) {
			h.DeadLetters = map[Message]time.Duration{{"k", 1}: 6 * ms}
		}, want: Report{Sent: 2, Handled: 1}},
		{name: "dead letter too late", lines: "a 1 0 5 err\na 2 8 9 ok", alter: func(h *History) {
			h.DeadLetters = map[Message]time.Duration{{"k", 1}: 10 * ms}
		}, want: Report{Sent: 2, Handled: 1, OutOfOrder: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := run(tt.lines)
			if tt.alter != nil {
				tt.alter(&h)
			}
			got := Check(h)
			broken := tt.want.Lost+tt.want.OutOfOrder+tt.want.Overlapping+tt.want.Unexplained > 0
			if broken == got.OK() || broken != (len(got.Faults) > 0) {
				t.Errorf("OK() = %v, faults %q", got.OK(), got.Faults)
			}
			got.Faults = nil
			if !equal(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func equal(a, b Report) bool {
	a.Faults, b.Faults = nil, nil
	return a.Sent == b.Sent && a.Handled == b.Handled && a.Lost == b.Lost && a.Repeated == b.Repeated &&
		a.Unexplained == b.Unexplained && a.Copies == b.Copies && a.OutOfOrder == b.OutOfOrder && a.Overlapping == b.Overlapping &&
		a.LongestPause == b.LongestPause
}

func TestFaultTextsAreBounded(t *testing.T) {
	var h History
	for i := range 1000 {
		h.Sends = append(h.Sends, Send{"k", i + 1, true})
	}
	if r := Check(h); r.Lost != 1000 || len(r.Faults) != maxFaults {
		t.Errorf("lost %d, %d texts", r.Lost, len(r.Faults))
	}
}
