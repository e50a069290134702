// SPDX-License-Identifier: Apache-2.0

package java

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/orderlymq/orderly/admin"
	"github.com/orderlymq/orderly/internal/check"
	"github.com/orderlymq/orderly/internal/testutil/proc"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

const (
	resetGroup    = "reset-group"
	resetMessages = 20 * keys
	resetAfter    = 5 * keys // so many are handled when the reset comes
)

// resetBed is a topic with messages, each of which takes a while.
func resetBed(t *testing.T) *bed {
	b := newBed(t, func(record.Start) record.Act { return record.Act{Work: 25 * time.Millisecond} })
	b.createTopic(ordered("reset"))
	sendOurs(b, "reset", resetMessages)
	b.produced(keys, resetMessages)
	return b
}

// resetTool starts the Java admin tool; told to, it sets the group back to the
// beginning.
func (b *bed) resetTool() *proc.Process {
	b.Helper()
	p := peer(b.T, "admin tool", "reset", b.srv.NamesrvAddr(), "reset", resetGroup, "0")
	hear(b.T, p, "ready")
	return p
}

func (b *bed) reset(tool *proc.Process) {
	b.Helper()
	b.must(tool.CloseInput())
	lines := finish(b.T, tool, startLimit)
	if len(lines) != queues {
		b.Fatalf("the tool reports %q", lines)
	}
	for _, line := range lines {
		if line[len(line)-2:] != " 0" {
			b.Errorf("the tool reports %q", lines)
		}
	}
}

// TestResetWhileAMemberRuns: what a member had in hand when the tool set the
// group back does not undo the reset; all messages come again, in order.
func TestResetWhileAMemberRuns(t *testing.T) {
	t.Parallel()
	for name, member := range map[string]func(b *bed) (stop func()){
		"java": func(b *bed) func() {
			c := b.javaConsumer("orderly", "reset", resetGroup, "java")
			return func() { b.end(c) }
		},
		"go":   func(b *bed) func() { return b.stockGo("reset", resetGroup) },
		"ours": func(b *bed) func() { return b.ours("reset", resetGroup, "ours") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := resetBed(t)
			tool := b.resetTool()
			stop := member(b)
			b.await(startLimit, "some to be handled", handled(resetAfter))
			asked := b.rec.Now()
			b.reset(tool)
			b.await(90*time.Second, "all to come again", comeAgain)
			b.Logf("%s: from the reset to the first message that came again: %v", name, firstAgain(b.rec.Calls())-asked)
			stop()
			b.contract()
			b.cameTwice(0)
		})
	}
}

// TestResetOfAStoppedGroup: the members that come next begin where the tool says.
func TestResetOfAStoppedGroup(t *testing.T) {
	t.Parallel()
	b := resetBed(t)
	c := b.javaConsumer("orderly", "reset", resetGroup, "before")
	b.await(startLimit, "all to be handled", handled(resetMessages))
	b.end(c)
	b.reset(b.resetTool())
	c = b.javaConsumer("orderly", "reset", resetGroup, "after")
	b.await(60*time.Second, "all to come again", comeAgain)
	b.end(c)
	b.contract()
	b.cameTwice(resetMessages / keys)
}

// seqs are the numbers of a key's messages in the order in which they were
// handled.
func seqs(calls []record.Call) map[string][]int {
	byKey := map[string][]int{}
	for _, c := range calls {
		if c.Outcome == check.Success {
			byKey[c.Key] = append(byKey[c.Key], c.Seq)
		}
	}
	return byKey
}

// comeAgain is a condition: each key has begun anew and come to its end.
func comeAgain(st *record.State) bool {
	last := resetMessages / keys
	for _, list := range seqs(st.Calls) {
		again := false
		for i, seq := range list {
			again = again || i > 0 && seq <= list[i-1]
		}
		if !again || list[len(list)-1] != last {
			return false
		}
	}
	return len(st.Done) == resetMessages
}

// firstAgain is when the first message began that came again.
func firstAgain(calls []record.Call) time.Duration {
	seen := map[string]int{}
	for _, c := range calls {
		if c.Seq <= seen[c.Key] {
			return c.Start
		}
		seen[c.Key] = c.Seq
	}
	return 0
}

// cameTwice checks that each key's messages came as 1 to a and then as 1 to the
// last one, a at least as given, and that the positions are at the end.
func (b *bed) cameTwice(atLeast int) {
	b.Helper()
	last := resetMessages / keys
	for key, list := range seqs(b.rec.Calls()) {
		first := 1
		for first < len(list) && list[first] == list[first-1]+1 {
			first++
		}
		again := list[first:]
		good := list[0] == 1 && first >= atLeast && len(again) == last
		for i, seq := range again {
			good = good && seq == i+1
		}
		if !good {
			b.Errorf("%s came as %v", key, list)
		}
	}
	a, err := admin.Open(b.Context(), admin.Config{NameServers: []string{b.srv.NamesrvAddr()}})
	b.must(err)
	defer a.Close()
	g := b.atEnd(a)
	for _, r := range g.Refused {
		b.Log("did not count: queue " + strconv.Itoa(r.ID) + ", value " + strconv.FormatInt(r.Offset, 10) + ", " + strconv.FormatInt(r.Count, 10) + " times: " + r.Why)
	}
}

// atEnd waits until the group's positions are at the end: the last commits of
// the official clients are one-way.
func (b *bed) atEnd(a *admin.Client) admin.GroupInfo {
	b.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 100 {
		g, err := a.Group(b.Context(), resetGroup)
		b.must(err)
		if !slices.ContainsFunc(g.Queues, func(q admin.Position) bool { return q.Lag != 0 }) {
			return g
		}
		<-tick.C
	}
	g, err := a.Group(b.Context(), resetGroup)
	b.must(err)
	b.Errorf("positions 10 s after the end: %+v", g.Queues)
	return g
}
