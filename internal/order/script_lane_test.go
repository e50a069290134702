// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

func laneConfig(t *testing.T, d *datadriven.TestData) LaneConfig {
	c := LaneConfig{}
	for _, a := range d.CmdArgs {
		v := ""
		if len(a.Vals) > 0 {
			v = a.Vals[0]
		}
		switch a.Key {
		case "slow-commit":
		case "by-key":
			c.ByKey = true
		case "stock":
			c.Stock = true
		case "manual":
			c.Manual = true
		case "redeliver":
			c.Redeliver = true
		case "workers":
			c.Workers = int(number(t, v, 0))
		case "batch":
			c.Batch = int(number(t, v, 0))
		case "max-count":
			c.MaxCount = int(number(t, v, 0))
		case "attempts":
			c.MaxAttempts = int(number(t, v, 0))
		case "poison":
			c.Poison = map[string]Poison{"block": PoisonBlock, "letter": PoisonLetter, "park": PoisonPark}[v]
		case "timeout":
			c.Timeout = mustDuration(t, v)
		case "max-handler":
			c.MaxHandler = mustDuration(t, v)
		case "max-turn":
			c.MaxTurn = mustDuration(t, v)
		case "backoff":
			for _, b := range a.Vals {
				c.Backoff = append(c.Backoff, mustDuration(t, b))
			}
		default:
			t.Fatalf("%s: unknown setting %s", d.Pos, a.Key)
		}
	}
	return c
}

var laneKinds = map[string]LaneEventKind{
	"tick": LaneTick, "start": LaneStart, "pulled": LanePulled, "pull-failed": LanePullFailed, "refilled": LaneRefilled, "refill-failed": LaneRefillFailed,
	"pull-moved": LanePullMoved, "settle": LaneSettle, "extend": LaneExtend, "lettered": LaneLettered,
	"committed": LaneCommitted, "pause": LanePause, "resume": LaneResume, "retry-now": LaneRetryNow,
	"letter-now": LaneLetterNow, "park-now": LaneParkNow, "unpark": LaneUnpark, "hold": LaneHold,
	"go": LaneGo, "revoke": LaneRevoke, "lost": LaneLost, "waits": 255, "state": 254, "silent": 253, "alive": 252,
}

var verdicts = map[string]Verdict{"retry": Retry, "success": Success, "commit": Commit, "rollback": Rollback, "letter": Letter, "odd": 77}

// laneEvent feeds one event. Tokens are written as their order of hand-out:
// token=1 is the first one.
func (s *script) laneEvent(t *testing.T, kind string, f map[string]string, out *strings.Builder) {
	k, ok := laneKinds[kind]
	if !ok {
		t.Fatalf("unknown event %s", kind)
	}
	switch k {
	case 255:
		until := Never
		if s.quiet {
			until = s.now
		}
		for _, w := range s.lane.Waits(s.now, until, nil) {
			fmt.Fprintf(out, "  %v at %d key %d ended %d since %s next %s behind %d\n", w.Why, w.Offset, w.Key, w.Attempt, clock(w.Since), clock(w.Next), w.Behind)
		}
		return
	case 254:
		fmt.Fprintf(out, "  commit %d settled %s attempts %s kept %d\n", s.lane.CommitOffset(), AppendRanges(nil, s.lane.AppendSettled(nil)), AppendAttempts(nil, s.lane.AppendAttempts(nil)), s.lane.cache.count)
		return
	case 253:
		s.quiet = true
		k = LaneTick
	case 252:
		s.quiet = false
		k = LaneTick
	}
	ev := LaneEvent{
		Kind: k, Until: Never, Offset: number(t, f["offset"], 0), Next: number(t, f["next"], 0),
		ID: uint64(number(t, f["id"], 0)), Verdict: verdicts[f["verdict"]], Delay: durationOr(t, f["delay"]),
		Done: int(number(t, f["done"], 0)), Deadline: Never,
	}
	if s.quiet {
		ev.Until = s.now
	}
	if d := f["deadline"]; d != "" {
		ev.Deadline = Time(mustDuration(t, d))
	}
	_, ev.Failed = f["failed"]
	_, ev.Hold = f["held"]
	if n := number(t, f["token"], 0); n > 0 {
		if n > int64(len(s.tokens)) {
			t.Fatalf("no hand-out %d so far:\n%s", n, out)
		}
		ev.Token = s.tokens[n-1]
	}
	if k == LaneStart {
		var err error
		ev.Grant = Grant{Epoch: Epoch(number(t, f["epoch"], 1)), Offset: ev.Offset}
		if ev.Grant.Settled, err = ParseRanges(nil, f["settled"]); err != nil {
			t.Fatal(err)
		}
		if ev.Grant.Attempts, err = ParseAttempts(nil, f["attempts"]); err != nil {
			t.Fatal(err)
		}
	}
	ev.Entries = entries(t, f["msgs"])
	if (k == LanePulled || k == LaneRefilled) && f["next"] == "" && len(ev.Entries) > 0 {
		ev.Next = ev.Entries[len(ev.Entries)-1].Offset + 1
	}
	acts := s.lane.Step(s.now, &ev, nil)
	for len(acts) > 0 {
		a := acts[0]
		if kind == "tick" && f == nil {
			fmt.Fprintf(out, "%s ", clock(s.now))
		}
		s.laneAction(a, out)
		acts = acts[1:]
		if a.Kind == LaneCommit && !s.slow {
			acts = s.lane.Step(s.now, &LaneEvent{Kind: LaneCommitted, ID: a.ID, Until: ev.Until}, acts)
		}
	}
}

// entries reads "0 1 2" written as "0,1,2", or with keys "0a,1b,2a"; a range is
// written "0..9a".
func entries(t *testing.T, text string) []Entry {
	var es []Entry
	if text == "" {
		return nil
	}
	for _, item := range strings.Split(text, ",") {
		digits := strings.TrimRight(item, "abcdefghijklmnopqrstuvwxyz")
		var key uint64
		for _, c := range item[len(digits):] {
			key = key*27 + uint64(c-'a'+1)
		}
		from, to, isRange := strings.Cut(digits, "..")
		if !isRange {
			to = from
		}
		for o := number(t, from, 0); o <= number(t, to, 0); o++ {
			es = append(es, Entry{Offset: o, Size: 10, Key: key, Ref: o})
		}
	}
	return es
}

func (s *script) laneAction(a LaneAction, out *strings.Builder) {
	offsets := func() string {
		var b []string
		for _, e := range a.Entries {
			b = append(b, fmt.Sprint(e.Offset))
		}
		return strings.Join(b, ",")
	}
	switch a.Kind {
	case LanePull:
		fmt.Fprintf(out, "  pull from %d\n", a.Offset)
	case LaneRefill:
		fmt.Fprintf(out, "  refill from %d\n", a.Offset)
	case LaneHandOut:
		s.tokens = append(s.tokens, a.Token)
		fmt.Fprintf(out, "  hand out %s attempt %d token %d", offsets(), a.Attempt, len(s.tokens))
		if a.SameTurn {
			fmt.Fprint(out, " same turn")
		}
		if a.Deadline != Never {
			fmt.Fprintf(out, " deadline %s", clock(a.Deadline))
		}
		fmt.Fprintln(out)
	case LaneCancel:
		fmt.Fprintf(out, "  cancel token %d: %s\n", s.number(a.Token), a.Cause)
	case LaneCommit:
		fmt.Fprintf(out, "  commit %d id %d settled %s attempts %s\n", a.Offset, a.ID, AppendRanges(nil, s.lane.AppendSettled(nil)), AppendAttempts(nil, s.lane.AppendAttempts(nil)))
	case LaneLetter:
		fmt.Fprintf(out, "  dead-letter %s after %d\n", offsets(), a.Attempt)
	case LaneReleased:
		fmt.Fprintf(out, "  released at %d lost %v overrun %v\n", a.Offset, a.Lost, a.Overrun)
	case LaneSkipped:
		fmt.Fprintf(out, "  skipped %d-%d\n", a.Offset, a.Next)
	case LaneBeyond:
		fmt.Fprintf(out, "  beyond: %d, end %d\n", a.Offset, a.Next)
	case LaneOverrun:
		fmt.Fprintf(out, "  overrun token %d\n", s.number(a.Token))
	}
}

func (s *script) number(token LaneToken) int {
	for i, t := range s.tokens {
		if t == token {
			return i + 1
		}
	}
	return 0
}
