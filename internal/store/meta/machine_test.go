// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/store/changelog"
	"github.com/orderlymq/orderly/internal/vfs"
)

func mark(name string) Decision {
	return func(*View) ([]Change, error) { return []Change{SetMark{name, 1}}, nil }
}

func marks(v *View) string {
	var names []string
	for name := range v.Marks("") {
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestReadersSeeOnlyWhatIsWritten(t *testing.T) {
	m := machine{}
	m.Reset()
	prepare := func(seq uint64, name string) {
		t.Helper()
		if _, err := m.prepare(nil, seq, mark(name)); err != nil {
			t.Fatal(err)
		}
	}
	want := func(names string) {
		t.Helper()
		if got := marks(m.published.Load()); got != names {
			t.Errorf("readers see %q, want %q", got, names)
		}
	}
	prepare(1, "a")
	prepare(2, "b")
	want("")
	m.Written(1) // b did not fit into the same write
	want("a")
	m.Written(2)
	want("a b")
	prepare(3, "c")
	m.Discard()
	prepare(3, "d")
	m.Written(3)
	want("a b d")
	prepare(4, "e")
	items := 0
	err := m.Freeze()(func(item []byte) error {
		items++
		return decodeChanges(item, func(c Change) error {
			if c == (SetMark{"e", 1}) {
				t.Error("a snapshot holds what is not written")
			}
			return nil
		})
	})
	if err != nil || items != 1 {
		t.Errorf("%d items, %v", items, err)
	}
}

func TestDecisionsSeeEachOther(t *testing.T) {
	s := openState(t, Options{FS: vfs.NewMem(), Dir: "/meta"})
	answers := make(chan error, 100)
	for range 100 {
		err := s.Submit(t.Context(), &Request{
			Decide: func(v *View) ([]Change, error) {
				n, _ := v.Mark("n")
				return []Change{SetMark{"n", n + 1}}, nil
			},
			Done: func(err error) { answers <- err },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		if err := <-answers; err != nil {
			t.Fatal(err)
		}
	}
	if n, _ := s.View().Mark("n"); n != 100 {
		t.Errorf("counted to %d", n)
	}
	closeState(t, s)
}

// A Done may submit, however many are under way.
func TestDoneSubmits(t *testing.T) {
	s := openState(t, Options{FS: vfs.NewMem(), Dir: "/meta"})
	const n = 20_000 // more than fit into the queue
	answers := make(chan error, n)
	for range n {
		err := s.Submit(t.Context(), &Request{Decide: mark("a"), Done: func(err error) {
			if err != nil {
				answers <- err
				return
			}
			err = s.Submit(context.Background(), &Request{Decide: mark("b"), Done: func(err error) { answers <- err }})
			if err != nil {
				answers <- err
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		if err := <-answers; err != nil {
			t.Fatal(err)
		}
	}
	closeState(t, s)
}

func TestApplySyncSurvivesPowerCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	mem := vfs.NewMem()
	o := Options{FS: mem, Dir: "/meta", SyncEvery: time.Hour}
	s := openState(t, o)
	if first, err := s.ReserveEpochs(t.Context(), 10); err != nil || first != 1 {
		t.Fatal(first, err)
	}
	if first, err := s.ReserveEpochs(t.Context(), 10); err != nil || first != 11 {
		t.Fatal(first, err)
	}
	if err := s.ApplySync(t.Context(), SetMark{"kept", 1}); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), SetMark{"perhaps", 1}); err != nil {
		t.Fatal(err)
	}
	lost := 0
	for range 40 {
		o.FS = mem.CrashClone(rng, vfs.PowerCut)
		cut := openState(t, o)
		if _, ok := cut.View().Mark("kept"); !ok || cut.View().EpochLimit() != 20 {
			t.Errorf("after a power cut: %q, epochs below %d", marks(cut.View()), cut.View().EpochLimit())
		}
		if _, ok := cut.View().Mark("perhaps"); !ok {
			lost++
		}
		closeState(t, cut)
	}
	if lost == 0 || lost == 40 {
		t.Errorf("what was not synced was lost %d times of 40", lost)
	}
	closeState(t, s)
}

func TestWindowIsBounded(t *testing.T) {
	s := openState(t, Options{FS: vfs.NewMem(), Dir: "/meta"})
	defer closeState(t, s)
	key := QueueKey{"G", "T", 0}
	var window *WindowError
	apply := func(c Commit) error {
		c.QueueKey = key
		return s.Apply(t.Context(), c)
	}
	var ranges []Range
	for i := range int64(MaxRanges) {
		ranges = append(ranges, Range{1 + 2*i, 2 + 2*i})
	}
	if err := apply(Commit{Offset: 0, Settled: ranges}); err != nil {
		t.Fatal(err)
	}
	if err := apply(Commit{Offset: None, Settled: []Range{{1 << 20, 1<<20 + 1}}}); !errors.As(err, &window) {
		t.Errorf("one range too many: %v", err)
	}
	if err := apply(Commit{Offset: None, Settled: []Range{{2, 3}}}); err != nil {
		t.Errorf("a range that joins two: %v", err)
	}
	var attempts []Attempt
	for i := range int64(MaxAttempts) { // far apart: 16 bytes each, and 3
		ranges[i] = Range{i << 50, i<<50 + 1<<49}
		attempts = append(attempts, Attempt{i, 2})
	}
	if err := apply(Commit{Offset: 0, Settled: ranges, Attempts: attempts, Replace: true}); !errors.As(err, &window) {
		t.Errorf("ranges that take too much room: %v", err)
	}
	if err := apply(Commit{Offset: 0, Attempts: attempts, Replace: true}); err != nil {
		t.Fatal(err)
	}
	if err := apply(Commit{Offset: None, Attempts: []Attempt{{1 << 20, 1}}}); !errors.As(err, &window) {
		t.Errorf("one attempt too many: %v", err)
	}
	if q, _ := s.View().Queue(key); len(q.Attempts) != MaxAttempts || len(q.Ranges) != 0 {
		t.Errorf("%d attempts, %d ranges", len(q.Attempts), len(q.Ranges))
	}
}

func TestInvalidChangesAreRefused(t *testing.T) {
	s := openState(t, Options{FS: vfs.NewMem(), Dir: "/meta"})
	defer closeState(t, s)
	key := QueueKey{"G", "T", 0}
	long := strings.Repeat("x", maxName+1)
	group := func(alter func(g *Group)) PutGroup {
		g := DefaultGroup("G")
		alter(&g)
		return PutGroup{Group: g}
	}
	for _, c := range []Change{
		PutTopic{},
		PutTopic{Topic: Topic{Name: long}},
		PutTopic{Topic: Topic{Name: "T", WriteQueues: -1}},
		PutTopic{Topic: Topic{Name: "T", ReadQueues: maxQueues + 1}},
		PutTopic{Topic: Topic{Name: "T", LaneFunc: 9}},
		PutTopic{Topic: Topic{Name: "T", WriteQueues: 2, Lanes: &LaneMap{Queue: []int32{0, 2}}}},
		PutTopic{Topic: Topic{Name: "T", Attributes: map[string]string{"": "x"}}},
		DeleteTopic{},
		DeleteGroup{},
		DeleteMark{},
		SetMark{},
		PutKV{Key: "k"},
		PutKV{Namespace: "n", Key: "k", Value: strings.Repeat("x", maxText+1)},
		group(func(g *Group) { g.Name = "" }), group(func(g *Group) { g.GraceMs = 249 }), group(func(g *Group) { g.GraceMs = 60_001 }),
		group(func(g *Group) { g.LeaseMs = -1 }), group(func(g *Group) { g.BackoffMs = []int32{-1} }), group(func(g *Group) { g.Poison = 3 }),
		group(func(g *Group) { g.BackoffMs = make([]int32, maxEntries+1) }),
		SetForbidden{Group: "G"},
		Commit{QueueKey: QueueKey{Topic: "T"}},
		Commit{QueueKey: QueueKey{"G", "T", -1}},
		Commit{QueueKey: key, Offset: -2},
		Commit{QueueKey: key, Settled: []Range{{5, 5}}},
		Commit{QueueKey: key, Settled: []Range{{-1, 5}}},
		Commit{QueueKey: key, Attempts: []Attempt{{1, -1}}},
		Commit{QueueKey: key, Settled: make([]Range, MaxRanges+1)},
		FixStart{key, -1},
		ResetOffset{QueueKey: key, Offset: -1},
		GrantLease{QueueKey: key},
		GrantLease{key, Lease{Holder: "h", Kind: 2}},
		DropLease{},
		ClearReset{},
		DropQueues{Group: long},
		StartBroker{BootID: long},
		AddFrame{},
		PutProducer{Producer{ClientID: long}},
	} {
		var invalid *InvalidError
		if err := s.Apply(t.Context(), SetMark{"with it", 1}, c); !errors.As(err, &invalid) {
			t.Errorf("%T%+v: %v", c, c, err)
		}
	}
	if v := s.View(); v.Seq() != 0 || marks(v) != "" {
		t.Errorf("refused requests left something: %d, %q", v.Seq(), marks(v))
	}
	var changes []Change
	for range 17 {
		changes = append(changes, PutKV{"n", "k", strings.Repeat("x", maxText)})
	}
	if err := s.Apply(t.Context(), changes...); !errors.Is(err, changelog.ErrTooLarge) {
		t.Errorf("a request that is too large: %v", err)
	}
	if _, ok := s.View().KV("n", "k"); ok {
		t.Error("the request that is too large is there")
	}
}
