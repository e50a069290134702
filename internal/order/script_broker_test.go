// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

func leaseConfig(t *testing.T, d *datadriven.TestData) LeaseConfig {
	c := LeaseConfig{}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "grace":
			c.Grace = mustDuration(t, a.Vals[0])
		case "lease":
			c.Lease = mustDuration(t, a.Vals[0])
		case "fast":
			c.StockFastRelease = true
		default:
			t.Fatalf("%s: unknown setting %s", d.Pos, a.Key)
		}
	}
	return c
}

var leaseKinds = map[string]LeaseEventKind{
	"tick": LeaseTick, "restore": LeaseRestore, "epochs": LeaseEpochs, "join": LeaseJoin, "known": LeaseKnown,
	"refresh": LeaseRefresh, "closed": LeaseClosed, "leave": LeaseLeave, "lock": LeaseLock, "unlock": LeaseUnlock,
	"pull": LeasePull, "commit": LeaseCommit, "reset": LeaseReset, "release": LeaseRelease, "forget": LeaseForget,
	"assign": LeaseAssign, "holders": 255, "members": 254, "freeze": 253,
}

// leaseEvent feeds one event. Fields: link, host, port, client, session, name,
// q (queues), start, epoch, end, offset, max (end of queue), sent, and the flags
// async, known, ordered, overrun, reset.
func (s *script) leaseEvent(t *testing.T, kind string, f map[string]string, out *strings.Builder) {
	k, ok := leaseKinds[kind]
	if !ok {
		t.Fatalf("unknown event %s", kind)
	}
	switch k {
	case 255:
		for _, h := range s.leases.Holders(nil) {
			fmt.Fprintf(out, "  %s offset %d epoch %d %s %s until %s", queueText(h.Queue), h.Offset, h.Epoch, who(h.Client, h.Session), h.Why, clock(h.Until))
			if h.Reset {
				fmt.Fprint(out, " reset")
			}
			if h.Waiting > 0 {
				fmt.Fprintf(out, " waiting %d", h.Waiting)
			}
			fmt.Fprintln(out)
		}
		return
	case 254:
		for _, m := range s.leases.Members(nil) {
			fmt.Fprintf(out, "  %s links %d\n", who(m.Client, m.Session), m.Links)
		}
		return
	case 253: // the broker is frozen: time passes without ticks
		s.now = s.now.Add(mustDuration(t, f["for"]))
		return
	}
	flag := func(name string) bool { _, ok := f[name]; return ok }
	ev := LeaseEvent{
		Kind: k, Tag: uint64(number(t, f["tag"], 9)), Link: LinkID(number(t, f["link"], 0)), Host: f["host"],
		Port: int32(number(t, f["port"], 1)), Client: f["client"], Session: Token(number(t, f["session"], 0)),
		Name: f["name"], Epoch: Epoch(number(t, f["epoch"], 0)), EpochEnd: Epoch(number(t, f["end"], 0)),
		Offset: number(t, f["offset"], 0), End: number(t, f["max"], 0), Sent: s.now,
		Async: flag("async"), Known: flag("known"), Ordered: !flag("unordered"), Overrun: flag("overrun"), Reset: flag("reset"),
	}
	if f["sent"] != "" {
		ev.Sent = Time(mustDuration(t, f["sent"]))
	}
	if f["q"] != "" {
		ev.Queues = queues(t, f["q"])
		ev.Queue = ev.Queues[0]
	}
	if f["start"] != "" {
		for range ev.Queues {
			ev.Starts = append(ev.Starts, number(t, f["start"], 0))
		}
	}
	for _, a := range s.leases.Step(s.now, &ev, nil) {
		if k == LeaseTick && len(f) == 0 {
			fmt.Fprintf(out, "%s ", clock(s.now))
		}
		leaseAction(a, out)
	}
}

func who(client string, s Token) string {
	switch {
	case client == "" && s == 0:
		return "nobody"
	case s == 0:
		return client
	}
	return fmt.Sprintf("%s#%d", client, s)
}

func leaseAction(a LeaseAction, out *strings.Builder) {
	q, w := queueText(a.Queue), who(a.Client, a.Session)
	mark := ""
	if a.Change() {
		mark = " (change)"
	}
	switch a.Kind {
	case LeaseGranted:
		fmt.Fprintf(out, "  granted %s to %s epoch %d offset %d start %v%s\n", q, w, a.Epoch, a.Offset, a.Start, mark)
	case LeaseRefused:
		fmt.Fprintf(out, "  refused %s: %s by %s\n", q, a.Why, w)
	case LeaseFreed:
		fmt.Fprintf(out, "  freed %s of %s epoch %d: %s%s\n", q, w, a.Epoch, a.Why, mark)
	case LeaseAnnounce:
		fmt.Fprintf(out, "  announce\n")
	case LeaseStored:
		fmt.Fprintf(out, "  stored %s offset %d reset %v tag %d%s\n", q, a.Offset, a.Reset, a.Tag, mark)
	case LeaseDropped:
		fmt.Fprintf(out, "  dropped %s offset %d: %s (position %d, epoch %d, %s)\n", q, a.Offset, a.Why, a.Old, a.Epoch, w)
	case LeaseWait:
		fmt.Fprintf(out, "  commit waits tag %d\n", a.Tag)
	case LeaseMoved:
		fmt.Fprintf(out, "  moved %s from %d to %d epoch %d, tell %s%s\n", q, a.Old, a.Offset, a.Epoch, w, mark)
	case LeaseServe:
		fmt.Fprintf(out, "  serve\n")
	case LeasePark:
		fmt.Fprintf(out, "  park: %s\n", w)
	case LeaseFence:
		fmt.Fprintf(out, "  fence: epoch %d, %s\n", a.Epoch, w)
	case LeaseCloseLink:
		fmt.Fprintf(out, "  close link %d\n", a.Link)
	case LeaseJoinRefused:
		fmt.Fprintf(out, "  join refused: %s by %s\n", a.Why, w)
	case LeaseTwin:
		fmt.Fprintf(out, "  twin of %s on link %d\n", w, a.Link)
	case LeasePassed:
		fmt.Fprintf(out, "  passed on %s: not locked by %s\n", q, w)
	case LeaseNeedEpochs:
		fmt.Fprintf(out, "  need epochs from %d\n", a.Epoch)
	}
}
