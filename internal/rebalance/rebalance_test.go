// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/orderlymq/orderly/internal/route"
)

// split is what RocketMQ's Java client 5.5.0 gave each member: places in Queues.
type split struct {
	Strategy string
	Rooms    []string
	Queues   [][3]any
	Members  []string
	Shares   map[string][]int
}

func splits(t *testing.T) []split {
	t.Helper()
	f, err := os.Open("testdata/shares-5.5.0.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []split
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var s split
		if err := json.Unmarshal(sc.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if sc.Err() != nil || len(out) < 400 {
		t.Fatalf("%d splits, %v", len(out), sc.Err())
	}
	return out
}

// strategy makes the strategy that the splits were made with: in those by room
// the first five letters of a broker or member name its room.
func strategy(t *testing.T, s split) Strategy {
	t.Helper()
	if s.Strategy == NameMachineRoom {
		return MachineRoom{Rooms: s.Rooms}
	}
	inner, err := ByName(strings.TrimPrefix(s.Strategy, NameNearbyPrefix))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.Strategy, NameNearbyPrefix) {
		return inner
	}
	return NearbyRoom{
		Inner:      inner,
		QueueRoom:  func(q route.MessageQueue) string { return q.Broker[:5] },
		MemberRoom: func(m string) string { return m[:5] },
	}
}

// Member by member, queue by queue and in the same order, whatever the order of
// the input.
func TestSplitsOfRocketMQ(t *testing.T) {
	seen := map[string]int{}
	for _, s := range splits(t) {
		var queues []route.MessageQueue
		for _, q := range s.Queues {
			queues = append(queues, route.MessageQueue{Topic: q[0].(string), Broker: q[1].(string), Queue: int32(q[2].(float64))})
		}
		shuffledQueues, shuffledMembers := slices.Clone(queues), slices.Clone(s.Members)
		slices.Reverse(shuffledQueues)
		slices.Reverse(shuffledMembers)
		strat := strategy(t, s)
		if strat.Name() != s.Strategy {
			t.Errorf("name %s, want %s", strat.Name(), s.Strategy)
		}
		for member, places := range s.Shares {
			var want []route.MessageQueue
			for _, p := range places {
				want = append(want, queues[p])
			}
			got, err := strat.Allocate("CG", member, shuffledQueues, shuffledMembers)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s of %v to %s of %v:\n%s", s.Strategy, queues, member, s.Members, diff)
			}
			seen[s.Strategy]++
		}
	}
	for _, name := range []string{NameAverage, NameCircle, NameConsistent, NameMachineRoom, NameNearbyPrefix + NameAverage, NameNearbyPrefix + NameCircle, NameNearbyPrefix + NameConsistent} {
		if seen[name] < 50 {
			t.Errorf("%s was compared %d times", name, seen[name])
		}
	}
}

// What mqadmin's allocateMQ printed for 4 queues and 3 members.
func TestRecordedAllocation(t *testing.T) {
	got, err := Table(Average{}, "CG", queuesOf("VecAdmin", 4), []string{"10.0.0.3", "10.0.0.1", "10.0.0.2"})
	if err != nil {
		t.Fatal(err)
	}
	q := queuesOf("VecAdmin", 4)
	want := map[string][]route.MessageQueue{"10.0.0.1": q[:2], "10.0.0.2": q[2:3], "10.0.0.3": q[3:]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func queuesOf(topic string, n int) []route.MessageQueue {
	out := make([]route.MessageQueue, n)
	for i := range out {
		out[i] = route.MessageQueue{Topic: topic, Broker: "broker-a", Queue: int32(i)}
	}
	return out
}

func membersOf(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = "member-" + strconv.Itoa(i)
	}
	return out
}

// checkWhole demands that every queue has exactly one owner.
func checkWhole(t *rapid.T, queues []route.MessageQueue, shares map[string][]route.MessageQueue) {
	t.Helper()
	owner := map[route.MessageQueue]string{}
	for m, share := range shares {
		for _, q := range share {
			if other, twice := owner[q]; twice {
				t.Fatalf("%v goes to %s and %s", q, other, m)
			}
			owner[q] = m
		}
	}
	for _, q := range queues {
		if _, ok := owner[q]; !ok {
			t.Fatalf("nobody gets %v", q)
		}
	}
	if len(owner) != len(queues) {
		t.Fatalf("%d queues of %d went out", len(owner), len(queues))
	}
}

func spread(shares map[string][]route.MessageQueue) int {
	lo, hi := 1<<30, 0
	for _, s := range shares {
		lo, hi = min(lo, len(s)), max(hi, len(s))
	}
	return hi - lo
}

func TestEveryQueueHasOneOwner(t *testing.T) {
	nearby := NearbyRoom{
		QueueRoom:  func(q route.MessageQueue) string { return strconv.Itoa(int(q.Queue) % 4) },
		MemberRoom: func(m string) string { return strconv.Itoa(len(m) % 3) },
	}
	room := MachineRoom{Rooms: []string{"r"}}
	rapid.Check(t, func(t *rapid.T) {
		queues := queuesOf("T", rapid.IntRange(1, 70).Draw(t, "queues"))
		members := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-c]{1,5}`), 1, 20, rapid.ID[string]).Draw(t, "members")
		for _, s := range []Strategy{Average{}, Circle{}, ConsistentHash{}, ConsistentHash{VirtualNodes: 3}, nearby, room} {
			qs := slices.Clone(queues)
			if s.Name() == NameMachineRoom {
				for i := range qs {
					qs[i].Broker = "r@broker-a"
				}
			}
			shares, err := Table(s, "CG", qs, members)
			if err != nil {
				t.Fatal(err)
			}
			checkWhole(t, qs, shares)
			if even := s.Name() == NameAverage || s.Name() == NameCircle || s.Name() == NameMachineRoom; even && spread(shares) > 1 {
				t.Fatalf("%s: shares differ by %d", s.Name(), spread(shares))
			}
		}
	})
}

func TestInputChecks(t *testing.T) {
	queues, members := queuesOf("T", 4), membersOf(2)
	nearby := NearbyRoom{QueueRoom: func(route.MessageQueue) string { return "r" }, MemberRoom: func(string) string { return "r" }}
	for _, s := range []Strategy{Average{}, Circle{}, ConsistentHash{}, MachineRoom{}, nearby} {
		if got, err := s.Allocate("CG", "stranger", queues, members); err != nil || len(got) != 0 {
			t.Errorf("%s to a stranger: %v, %v", s.Name(), got, err)
		}
		for name, f := range map[string]func() error{
			"no self":    func() error { _, err := s.Allocate("CG", "", queues, members); return err },
			"no queues":  func() error { _, err := s.Allocate("CG", members[0], nil, members); return err },
			"no members": func() error { _, err := s.Allocate("CG", members[0], queues, nil); return err },
		} {
			if f() == nil {
				t.Errorf("%s: %s passed", s.Name(), name)
			}
		}
	}
	for name, s := range map[string]NearbyRoom{
		"no functions":   {},
		"queue nowhere":  {QueueRoom: func(route.MessageQueue) string { return "" }, MemberRoom: nearby.MemberRoom},
		"member nowhere": {QueueRoom: nearby.QueueRoom, MemberRoom: func(string) string { return "" }},
	} {
		if _, err := s.Allocate("CG", members[0], queues, members); err == nil {
			t.Errorf("%s passed", name)
		}
	}
	if _, err := ByName("NO_SUCH"); err == nil {
		t.Error("unknown strategy found")
	}
	if got, err := (Config{Queues: queues[:1]}).Allocate("CG", "x", queues, members); err != nil || !slices.Equal(got, queues[:1]) {
		t.Errorf("%v, %v", got, err)
	}
}

// Inputs stay as they are and results share nothing with them.
func TestInputsAreLeftAlone(t *testing.T) {
	queues, members := queuesOf("T", 4), []string{"b", "a"}
	slices.Reverse(queues)
	wantQueues, wantMembers := slices.Clone(queues), slices.Clone(members)
	for _, s := range []Strategy{Average{}, Circle{}, ConsistentHash{}, Config{Queues: queues}} {
		got, err := s.Allocate("CG", "a", queues, members)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i].Topic = "overwritten"
		}
	}
	for _, share := range Sticky(queues, members, nil) {
		clear(share)
	}
	if !slices.Equal(queues, wantQueues) || !slices.Equal(members, wantMembers) {
		t.Errorf("%v %v", queues, members)
	}
}
