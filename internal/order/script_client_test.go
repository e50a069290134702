// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"
	"strings"
	"testing"
)

var sessionKinds = map[string]SessionEventKind{
	"tick": SessionTick, "connected": SessionConnected, "proved": SessionProved, "closed": SessionClosed,
	"pong": SessionPong, "read": SessionRead, "holding": SessionHolding, "freeze": 255, "until": 254, "answering": 253, "mute": 252,
}

// sessionEvent feeds one event. "answering" answers each ping at once from then
// on, "mute" ends that.
func (s *script) sessionEvent(t *testing.T, kind string, f map[string]string, out *strings.Builder) {
	k, ok := sessionKinds[kind]
	if !ok {
		t.Fatalf("unknown event %s", kind)
	}
	switch k {
	case 255:
		s.now = s.now.Add(mustDuration(t, f["for"]))
		return
	case 254:
		fmt.Fprintf(out, "  until %s\n", clock(s.session.Until()))
		return
	case 253, 252:
		s.answer = k == 253
		return
	}
	ev := SessionEvent{Kind: k, N: uint64(number(t, f["n"], 0)), Holding: f["leases"] == "yes"}
	acts := s.session.Step(s.now, ev, nil)
	for len(acts) > 0 {
		a := acts[0]
		acts = acts[1:]
		if k == SessionTick && (!s.answer || a.Kind != SessionPing) {
			fmt.Fprintf(out, "%s ", clock(s.now))
		}
		switch a.Kind {
		case SessionPing:
			if s.answer {
				acts = s.session.Step(s.now, SessionEvent{Kind: SessionPong, N: a.N}, acts)
				continue
			}
			fmt.Fprintf(out, "  ping %d ack %d\n", a.N, a.Ack)
		case SessionSilent:
			fmt.Fprintln(out, "  silent")
		case SessionAlive:
			fmt.Fprintln(out, "  alive")
		case SessionResumed:
			fmt.Fprintln(out, "  resumed")
		case SessionReadFirst:
			fmt.Fprintln(out, "  read first")
		case SessionCloseLinks:
			fmt.Fprintln(out, "  close links")
		case SessionSlow:
			fmt.Fprintf(out, "  slow: %s needs a grace of %s\n", a.RTT, a.Needs)
		}
	}
}

var claimKinds = map[string]ClaimEventKind{
	"tick": ClaimTick, "assign": ClaimAssign, "locked": ClaimLocked, "failed": ClaimFailed, "unlocked": ClaimUnlocked,
	"released": ClaimReleased, "notice": ClaimNotice, "resumed": ClaimResumed, "close": ClaimClose,
}

// claimEvent feeds one event. grants=0@5,1@6 grants queues 0 and 1 of topic T
// with epochs 5 and 6.
func (s *script) claimEvent(t *testing.T, kind string, f map[string]string, out *strings.Builder) {
	k, ok := claimKinds[kind]
	if !ok {
		t.Fatalf("unknown event %s", kind)
	}
	ev := ClaimEvent{Kind: k, ID: uint64(number(t, f["id"], 0)), Deadline: Never}
	_, ev.Overrun = f["overrun"]
	if f["q"] != "" {
		ev.Queues = queues(t, f["q"])
		ev.Queue = ev.Queues[0]
	}
	if f["deadline"] != "" {
		ev.Deadline = Time(mustDuration(t, f["deadline"]))
	}
	if f["grants"] != "" {
		for _, item := range strings.Split(f["grants"], ",") {
			q, e, _ := strings.Cut(item, "@")
			ev.Grants = append(ev.Grants, Grant{Queue: queues(t, q)[0], Epoch: Epoch(number(t, e, 0))})
		}
	}
	for _, a := range s.claims.Step(s.now, &ev, nil) {
		if k == ClaimTick && len(f) == 0 {
			fmt.Fprintf(out, "%s ", clock(s.now))
		}
		claimAction(a, out)
	}
}

func claimAction(a ClaimAction, out *strings.Builder) {
	list := func() string {
		var b []string
		for _, q := range a.Queues {
			b = append(b, queueText(q))
		}
		return strings.Join(b, ",")
	}
	q := queueText(a.Queue)
	switch a.Kind {
	case ClaimLock:
		fmt.Fprintf(out, "  lock %s id %d\n", list(), a.ID)
	case ClaimUnlock:
		fmt.Fprintf(out, "  unlock %s id %d overrun %v\n", list(), a.ID, a.Overrun)
	case ClaimStart:
		fmt.Fprintf(out, "  start %s epoch %d until %s\n", q, a.Grant.Epoch, clock(a.Until))
	case ClaimHold:
		fmt.Fprintf(out, "  hold %s\n", q)
	case ClaimGo:
		fmt.Fprintf(out, "  go %s until %s\n", q, clock(a.Until))
	case ClaimRevoke:
		fmt.Fprintf(out, "  revoke %s deadline %s\n", q, clock(a.Deadline))
	case ClaimLost:
		fmt.Fprintf(out, "  lost %s\n", q)
	case ClaimClosed:
		fmt.Fprintln(out, "  closed")
	}
}
