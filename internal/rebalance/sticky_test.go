// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/orderlymq/orderly/internal/route"
)

func owners(shares map[string][]route.MessageQueue) map[route.MessageQueue]string {
	out := map[route.MessageQueue]string{}
	for m, share := range shares {
		for _, q := range share {
			out[q] = m
		}
	}
	return out
}

func kept(prev, next map[route.MessageQueue]string) (n int) {
	for q, m := range next {
		if prev[q] == m {
			n++
		}
	}
	return n
}

// mostKept is the largest number of queues that any split with shares within one
// of each other can leave where they are, found by trying who gets the larger
// shares.
func mostKept(queues []route.MessageQueue, members []string, prev map[route.MessageQueue]string) int {
	held := make([]int, len(members))
	for _, q := range queues {
		if i := slices.Index(members, prev[q]); i >= 0 {
			held[i]++
		}
	}
	size, larger := len(queues)/len(members), len(queues)%len(members)
	best := 0
	for set := range 1 << len(members) {
		n, total := 0, 0
		for i, h := range held {
			quota := size + set>>i&1
			n += set >> i & 1
			total += min(h, quota)
		}
		if n == larger {
			best = max(best, total)
		}
	}
	return best
}

// From any earlier split, even a lopsided one: whole, balanced, with as few
// moves as balance allows, the same for any order of the input, and stable.
func TestStickyIsBestPossible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queues := queuesOf("T", rapid.IntRange(0, 20).Draw(t, "queues"))
		members := membersOf(rapid.IntRange(1, 6).Draw(t, "members"))
		prev := map[route.MessageQueue]string{{Topic: "Gone", Broker: "b"}: members[0]}
		for _, q := range queues {
			if m := rapid.SampledFrom(append(slices.Clone(members), "gone", "")).Draw(t, "holder"); m != "" {
				prev[q] = m
			}
		}
		got := Sticky(queues, members, prev)
		checkWhole(t, queues, got)
		if spread(got) > 1 {
			t.Fatalf("shares differ by %d", spread(got))
		}
		if len(got) != len(members) {
			t.Fatalf("%d members of %d in the result", len(got), len(members))
		}
		if n, best := kept(prev, owners(got)), mostKept(queues, members, prev); n != best {
			t.Fatalf("%d queues stay, %d could", n, best)
		}
		again := Sticky(rapid.Permutation(queues).Draw(t, "queues"), rapid.Permutation(members).Draw(t, "members"), prev)
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatalf("another order of the input: %s", diff)
		}
		if diff := cmp.Diff(got, Sticky(queues, members, owners(got))); diff != "" {
			t.Fatalf("nothing changed, but: %s", diff)
		}
	})
}

// Members come and go: when one joins, queues move only to it; when one leaves,
// only its own queues move.
func TestStickyMovesLittle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queues := queuesOf("T", rapid.IntRange(1, 64).Draw(t, "queues"))
		members := membersOf(rapid.IntRange(1, 5).Draw(t, "members"))
		prev := owners(Sticky(queues, members, nil))
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			var joined, left string
			if len(members) > 1 && rapid.Bool().Draw(t, "leave") {
				i := rapid.IntRange(0, len(members)-1).Draw(t, "who")
				left = members[i]
				members = slices.Delete(slices.Clone(members), i, i+1)
			} else {
				joined = rapid.StringMatching(`[a-z]{1,2}`).Draw(t, "name")
				if slices.Contains(members, joined) {
					continue
				}
				members = append(slices.Clone(members), joined)
			}
			next := owners(Sticky(queues, members, prev))
			for q, m := range next {
				if was := prev[q]; was != m && was != left && m != joined {
					t.Fatalf("%v went from %s to %s when %q joined, %q left", q, was, m, joined, left)
				}
			}
			prev = next
		}
	})
}

func TestStickyCases(t *testing.T) {
	q := queuesOf("T", 5)
	tests := []struct {
		name    string
		queues  []route.MessageQueue
		members []string
		prev    map[route.MessageQueue]string
		want    map[string][]route.MessageQueue
	}{
		{"nobody", q, nil, nil, nil},
		{"no queues", nil, []string{"a"}, nil, map[string][]route.MessageQueue{"a": nil}},
		{"first time", q, []string{"b", "a"}, nil, map[string][]route.MessageQueue{"a": {q[0], q[2], q[4]}, "b": {q[1], q[3]}}},
		{"named twice", q[:2], []string{"a", "a"}, nil, map[string][]route.MessageQueue{"a": q[:2]}},
		{
			"one takes over", q,
			[]string{"a", "b"},
			map[route.MessageQueue]string{q[0]: "a", q[1]: "a", q[2]: "a", q[3]: "a", q[4]: "a"},
			map[string][]route.MessageQueue{"a": q[:3], "b": q[3:]},
		},
		{
			"lent queues come home", q[:4],
			[]string{"a", "b"},
			map[route.MessageQueue]string{q[0]: "a", q[1]: "b", q[2]: "a", q[3]: "b"}, // b is back, 1 and 3 were lent to a
			map[string][]route.MessageQueue{"a": {q[0], q[2]}, "b": {q[1], q[3]}},
		},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Sticky(tt.queues, tt.members, tt.prev)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func BenchmarkSticky(b *testing.B) {
	queues, members := queuesOf("T", 1024), membersOf(100)
	prev := owners(Sticky(queues, members, nil))
	for b.Loop() {
		Sticky(queues, members[1:], prev)
	}
}
