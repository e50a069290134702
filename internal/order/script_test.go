// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestScripts runs the scripts of testdata/scripts. Each line of input is one event,
// "at 1.5s kind field=value ..."; the output lists all actions and, where the
// script asks for it, the state. A line may give the time as "+250ms".
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		var s script
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return s.run(t, d)
		})
	})
}

// script is the state of one script: the machines it talks to and its clock.
type script struct {
	now     Time
	leases  *Leases
	lane    *Lane
	session *Session
	claims  *Claims

	quiet  bool // lane: the session is silent
	slow   bool // lane: commits are answered by the script, not at once
	answer bool // session: pings are answered at once
	tokens []LaneToken
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "leases":
		*s = script{leases: NewLeases(leaseConfig(t, d))}
		s.leases.Step(0, &LeaseEvent{Kind: LeaseEpochs, Epoch: 1, EpochEnd: 1000}, nil)
		return "ok"
	case "lane":
		*s = script{lane: NewLane(laneConfig(t, d)), slow: d.HasArg("slow-commit")}
		return "ok"
	case "session":
		*s = script{session: NewSession(SessionConfig{})}
		return "ok"
	case "claims":
		*s = script{claims: NewClaims(ClaimConfig{Stock: d.HasArg("stock")})}
		return "ok"
	case "do":
		return s.do(t, d)
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return ""
}

// do runs the events of the input, line by line, and then ticks of every
// machine until the time that each line names.
func (s *script) do(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	for _, line := range strings.Split(d.Input, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if after, ok := strings.CutPrefix(words[0], "+"); ok {
			s.sleep(t, s.now.Add(mustDuration(t, after)), &out)
			words = words[1:]
		} else if words[0] == "at" {
			s.sleep(t, Time(mustDuration(t, words[1])), &out)
			words = words[2:]
		}
		if len(words) == 0 {
			continue
		}
		fields := map[string]string{}
		for _, w := range words[1:] {
			k, v, _ := strings.Cut(w, "=")
			fields[k] = v
		}
		fmt.Fprintf(&out, "%s %s\n", clock(s.now), strings.Join(words, " "))
		s.event(t, words[0], fields, &out)
	}
	return out.String()
}

// sleep lets time pass up to to, with a tick whenever one is due, as a driver
// would.
func (s *script) sleep(t *testing.T, to Time, out *strings.Builder) {
	for range 100000 {
		next := s.next()
		if next > to {
			s.now = to
			return
		}
		s.now = max(s.now, next)
		s.event(t, "tick", nil, out)
		if n := s.next(); n <= s.now {
			t.Fatalf("a tick at %v is due again at %v", clock(s.now), clock(n))
		}
	}
	t.Fatal("too many ticks")
}

func (s *script) next() Time {
	switch {
	case s.leases != nil:
		return s.leases.Next()
	case s.lane != nil:
		return s.lane.Next()
	case s.session != nil:
		return s.session.Next()
	}
	return s.claims.Next()
}

func (s *script) event(t *testing.T, kind string, f map[string]string, out *strings.Builder) {
	switch {
	case s.leases != nil:
		s.leaseEvent(t, kind, f, out)
	case s.lane != nil:
		s.laneEvent(t, kind, f, out)
	case s.session != nil:
		s.sessionEvent(t, kind, f, out)
	default:
		s.claimEvent(t, kind, f, out)
	}
}

func clock(t Time) string {
	if t == Never {
		return "never"
	}
	return time.Duration(t).String()
}

func mustDuration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func number(t *testing.T, s string, otherwise int64) int64 {
	t.Helper()
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func durationOr(t *testing.T, s string) time.Duration {
	if s == "" {
		return 0
	}
	return mustDuration(t, s)
}

// queues reads "T/0,T/1"; a bare number is a queue of topic T.
func queues(t *testing.T, s string) []Queue {
	var qs []Queue
	for _, item := range strings.Split(s, ",") {
		topic, id, ok := strings.Cut(item, "/")
		if !ok {
			topic, id = "T", item
		}
		qs = append(qs, Queue{Topic: topic, ID: int32(number(t, id, 0))})
	}
	return qs
}

func queueText(q Queue) string { return fmt.Sprintf("%s/%d", q.Topic, q.ID) }
