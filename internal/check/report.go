// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// maxFaults bounds the texts kept in a report; counts go on.
const maxFaults = 20

// Report is the verdict over a history.
type Report struct {
	// Sent counts acknowledged messages.
	Sent int
	// Handled counts messages with at least one success.
	Handled int
	// Lost counts acknowledged messages neither handled nor dead-lettered (O4).
	Lost int
	// Repeated counts successes beyond the first of a message.
	Repeated int
	// Copies counts those of them that were of another copy: the message was
	// stored twice, because a send had no answer and was repeated.
	Copies int
	// Unexplained counts repeats that no death explains: the first success was
	// not of a process that died before the repeat began, nor during or right
	// before an outage of the server.
	Unexplained int
	// OutOfOrder counts sights that break O1 or O2.
	OutOfOrder int
	// Overlapping counts pairs of calls of one key that overlap (O3).
	Overlapping int
	// LongestPause is the longest time after the first kill in which a key
	// that had messages left had no handler call running.
	LongestPause time.Duration
	// Faults tells of the first broken rules in words.
	Faults []string
}

// OK reports whether the contract held: nothing lost, out of order or
// overlapping, and no repeat that no death explains.
func (r Report) OK() bool {
	return r.Lost == 0 && r.OutOfOrder == 0 && r.Overlapping == 0 && r.Unexplained == 0
}

func (r *Report) fault(format string, args ...any) {
	if len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
	}
}

// Check judges a history.
func Check(h History) Report {
	var r Report
	deaths := map[string]time.Duration{}
	for _, k := range h.Kills {
		deaths[k.Consumer] = k.At
	}
	byKey := map[string][]Call{}
	for _, c := range h.Calls {
		byKey[c.Key] = append(byKey[c.Key], closed(c, deaths, h.End))
	}
	grace := cmp.Or(h.Grace, time.Second)
	for _, key := range sorted(byKey) {
		k := keyState{
			key: key, calls: byKey[key], deaths: deaths, outages: h.Outages, pauses: h.Pauses, grace: grace, dead: h.DeadLetters, report: &r,
		}
		slices.SortStableFunc(k.calls, func(a, b Call) int { return int(a.Start - b.Start) })
		k.order()
		k.overlaps()
	}
	r.completeness(h)
	r.LongestPause = longestPause(h, byKey)
	return r
}

// closed gives an open call the end that the rules give it.
func closed(c Call, deaths map[string]time.Duration, end time.Duration) Call {
	if c.Outcome != Open {
		return c
	}
	c.End = end
	if at, died := deaths[c.Consumer]; died {
		c.End = max(at, c.Start)
	}
	return c
}

func sorted(m map[string][]Call) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// keyState walks the calls of one key in the order of their starts.
type keyState struct {
	key     string
	calls   []Call
	deaths  map[string]time.Duration
	outages []Outage
	pauses  []Pause
	grace   time.Duration
	dead    map[Message]time.Duration
	report  *Report
}

// order checks O1, O2 and the repeats. next is the lowest number never seen.
func (k *keyState) order() {
	next := 1
	for i, c := range k.calls {
		switch {
		case c.Seq > next:
			k.report.OutOfOrder++
			k.report.fault("key %s: %d came at %v when %d had not been seen", k.key, c.Seq, c.Start, next)
			next = c.Seq + 1
		case c.Seq == next:
			next++
		}
		if c.Seq > 1 && !k.settledBefore(c.Seq-1, c.Start) {
			k.report.OutOfOrder++
			k.report.fault("key %s: %d started at %v before %d was done", k.key, c.Seq, c.Start, c.Seq-1)
		}
		k.repeat(i, c)
	}
}

func (k *keyState) settledBefore(seq int, at time.Duration) bool {
	if d, ok := k.dead[Message{k.key, seq}]; ok && d <= at {
		return true
	}
	return slices.ContainsFunc(k.calls, func(c Call) bool {
		return c.Seq == seq && c.Outcome == Success && c.End <= at
	})
}

// repeat looks for a success of the same message before call i. A death
// explains it if the process that succeeded first died before the repeat
// began: it may not have lived to commit. The server's death explains it if
// there was nobody to commit to. Another copy needs no explanation here: the
// sender made it.
func (k *keyState) repeat(i int, c Call) {
	if c.Outcome != Success {
		return
	}
	again := func(b Call) bool { return b.Seq == c.Seq && b.Outcome == Success }
	if !slices.ContainsFunc(k.calls[:i], again) {
		return
	}
	k.report.Repeated++
	at := slices.IndexFunc(k.calls[:i], func(b Call) bool {
		return again(b) && (b.Place == c.Place || b.Place == "" || c.Place == "")
	})
	if at < 0 {
		k.report.Copies++
		return
	}
	first := k.calls[at]
	if died, dead := k.deaths[first.Consumer]; (!dead || died > c.Start) && !k.uncommitted(first, c) {
		k.report.Unexplained++
		k.report.fault("key %s: %d was handled again at %v by %s, though %s had handled it at %v and lived",
			k.key, c.Seq, c.Start, c.Consumer, first.Consumer, first.End)
	}
}

// uncommitted reports whether an outage, or a pause of the process, explains that
// a success was repeated.
func (k *keyState) uncommitted(first, again Call) bool {
	paused := slices.ContainsFunc(k.pauses, func(p Pause) bool {
		return p.Consumer == first.Consumer && first.End >= p.From-outageSlack && first.End <= p.To+outageSlack && again.Start > p.From
	})
	return paused || slices.ContainsFunc(k.outages, func(o Outage) bool {
		return (o.Consumer == "" || o.Consumer == first.Consumer) && first.End >= o.From-outageSlack && first.End <= o.To+outageSlack && again.Start > o.From
	})
}

// overlaps checks O3 against the call with the latest end so far, as a pause may
// forgive it.
func (k *keyState) overlaps() {
	var last *Call
	for i := range k.calls {
		c := &k.calls[i]
		if last != nil && c.Start < last.End {
			k.report.Overlapping++
			k.report.fault("key %s: %d on %s started at %v inside the call for %d on %s that ended at %v",
				k.key, c.Seq, c.Consumer, c.Start, last.Seq, last.Consumer, last.End)
		}
		if end := k.bound(c); last == nil || end > last.End {
			judged := *c
			judged.End = end
			last = &judged
		}
	}
}

// bound is when a call ends for O3. What is forgiven is the part of a call that
// lies in a pause of its process longer than half the grace, from half the grace
// on, and after the wake-up one grace: time to find out, to end the handler's
// context and to return. A call that runs on longer overlaps, and so does every
// call that begins after the wake-up.
func (k *keyState) bound(c *Call) time.Duration {
	end := c.End
	for _, p := range k.pauses {
		if p.Consumer == c.Consumer && p.To-p.From > k.grace/2 && c.Start <= p.From && c.End > p.From+k.grace/2 && c.End <= p.To+k.grace {
			end = min(end, p.From+k.grace/2)
		}
	}
	return end
}

// completeness checks O4.
func (r *Report) completeness(h History) {
	done := map[Message]bool{}
	for _, c := range h.Calls {
		if m := (Message{c.Key, c.Seq}); c.Outcome == Success && !done[m] {
			done[m] = true
			r.Handled++
		}
	}
	for _, s := range h.Sends {
		if !s.Acked {
			continue
		}
		r.Sent++
		m := Message{s.Key, s.Seq}
		if _, dead := h.DeadLetters[m]; !done[m] && !dead {
			r.Lost++
			r.fault("key %s: %d was acknowledged and never handled", s.Key, s.Seq)
		}
	}
}

// longestPause is, over all keys, the longest stretch after the first kill
// between the end of one call and the start of the next.
func longestPause(h History, byKey map[string][]Call) time.Duration {
	if len(h.Kills) == 0 {
		return 0
	}
	kill := h.Kills[0].At
	for _, k := range h.Kills {
		kill = min(kill, k.At)
	}
	var longest time.Duration
	for _, calls := range byKey {
		ended := kill
		for _, c := range calls {
			if c.Start > kill {
				longest = max(longest, c.Start-ended)
			}
			ended = max(ended, c.End)
		}
	}
	return longest
}
