// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
)

// aged is a rig whose clock the test moves and whose segments are small.
func aged(t *testing.T, now *atomic.Int64, change func(*Options)) *rig {
	now.Store(1_700_000_000_000)
	return newRig(t, func(o *Options) {
		o.SegmentSize, o.Retention, o.TailCache = 16*kib, time.Hour, 8*kib
		o.Clock = func() time.Time { return time.UnixMilli(now.Load()) }
		if change != nil {
			change(o)
		}
	})
}

// settleIndex waits until both indexes are on disk up to the last full segment.
func settleIndex(r *rig) {
	r.t.Helper()
	x := r.core.Load().index
	for deadline := time.Now().Add(10 * time.Second); ; {
		x.mu.RLock()
		due := len(x.cuts)
		x.mu.RUnlock()
		if due == 0 {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatal("the indexer does not get done")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestRetentionByTime(t *testing.T) {
	var now atomic.Int64
	r := aged(t, &now, nil)
	old := r.fill(0, strings.Repeat("o", 300), 200)
	r.fill(1, strings.Repeat("o", 300), 1) // a queue that will have nothing left
	r.fill(0, strings.Repeat("o", 300), 60)
	now.Add(2 * time.Hour.Milliseconds())
	fresh := r.fill(0, strings.Repeat("n", 300), 60)
	settleIndex(r)
	r.tick()
	lo, hi := r.Bounds("T", 0)
	if lo <= int64(len(old)) || hi != 320 || lo > hi-int64(len(fresh)) {
		t.Fatalf("bounds [%d, %d)", lo, hi)
	}
	if res, err := r.Read("T", 0, 0, ReadLimit{}, nil); err != nil || res.Status != OffsetTooSmall || res.Next != lo {
		t.Fatalf("read below the start: %v %d, %v", res.Status, res.Next, err)
	}
	check := func(s *Store) {
		t.Helper()
		if got := bodies(t, s, "T", 0); len(got) != int(hi-lo) {
			t.Fatalf("%d messages in [%d, %d)", len(got), lo, hi)
		}
		if a, b := s.Bounds("T", 1); a != 1 || b != 1 {
			t.Fatalf("the empty queue is at [%d, %d)", a, b)
		}
	}
	check(r.Store)
	check(r.crash().Store)
	r.restart()
	check(r.Store)
	if out := mustAppend(t, r.Store, message("T", 1, "next")); out[0].QueueOffset != 1 {
		t.Fatalf("the empty queue goes on at %d", out[0].QueueOffset)
	}
	for _, f := range r.mem.Files() {
		if strings.Contains(f, segName(0)) {
			t.Errorf("%s is still there", f)
		}
	}
}

func TestRetentionKeepsWhatIsNeeded(t *testing.T) {
	var now, keep atomic.Int64
	var lost []int64
	r := aged(t, &now, func(o *Options) {
		o.KeepFrom = keep.Load
		o.OnLost = func(from, to int64) { lost = append(lost, from, to) }
	})
	want := r.fill(0, strings.Repeat("o", 300), 200)
	now.Add(2 * time.Hour.Milliseconds())
	settleIndex(r)
	r.tick()
	r.expect(0, want)
	keep.Store(20 * kib) // in the second segment
	r.tick()
	if start := r.Positions().Start; start != 16*kib {
		t.Fatalf("log starts at %d", start)
	}
	r.mem.SetCapacity(1) // a disk that is full
	r.o.DiskHigh = 0.5
	r.tick()
	if start := r.Positions().Start; start != 16*kib || len(lost) != 0 {
		t.Fatalf("log starts at %d, lost %v", start, lost)
	}
	r.mem.SetCapacity(0)
	r.o.DeleteUnfinished, r.o.DiskHigh = true, 0.5
	r.restart()
	r.mem.SetCapacity(1)
	r.tick()
	if start := r.Positions().Start; start == 16*kib || len(lost) == 0 {
		t.Fatalf("log starts at %d, lost %v", start, lost)
	}
	r.mem.SetCapacity(0)
}

func TestDropTopic(t *testing.T) {
	r := newRig(t, nil)
	r.fill(0, strings.Repeat("a", 300), 300)
	r.fill(2, "b", 3)
	mustAppend(t, r.Store, message("Other", 0, "kept"))
	if err := r.DropTopic("T"); err != nil {
		t.Fatal(err)
	}
	if err := r.DropTopic("Unknown"); err != nil {
		t.Fatal(err)
	}
	check := func(s *Store) {
		t.Helper()
		if got := fmt.Sprint(s.Topics()); got != "[Other]" {
			t.Fatalf("topics %s", got)
		}
		if lo, hi := s.Bounds("T", 0); lo != 300 || hi != 300 {
			t.Fatalf("bounds [%d, %d)", lo, hi)
		}
		if got, err := s.QueryKey(t.Context(), "T", "b1", 10, 0, 1<<60); err != nil || len(got) != 0 {
			t.Fatalf("query finds %d, %v", len(got), err)
		}
	}
	check(r.Store)
	check(r.crash().Store)
	r.restart()
	check(r.Store)
	if out := mustAppend(t, r.Store, message("T", 2, "again")); out[0].QueueOffset != 3 {
		t.Fatalf("goes on at %d", out[0].QueueOffset)
	}
	if got := bodies(t, r.Store, "T", 2); fmt.Sprint(got) != "[again]" {
		t.Fatalf("holds %v", got)
	}
	if got := fmt.Sprint(r.Topics(), r.Queues("T")); got != "[Other T] [2]" {
		t.Fatalf("lists %s", got)
	}
}

func TestRaiseFloor(t *testing.T) {
	r := newRig(t, nil)
	r.fill(0, "a", 3)
	r.RaiseFloor("T", 0, 2) // nothing to do
	r.RaiseFloor("T", 1, 5)
	if lo, hi := r.Bounds("T", 1); lo != 5 || hi != 5 {
		t.Fatalf("bounds [%d, %d)", lo, hi)
	}
	r.RaiseFloor("T", 0, 10)
	if out := mustAppend(t, r.Store, message("T", 0, "b")); out[0].QueueOffset != 10 {
		t.Fatalf("offset %d", out[0].QueueOffset)
	}
	res, err := r.Read("T", 0, 2, ReadLimit{}, nil)
	if err != nil || res.Count != 2 || res.Next != 11 || res.Holes != 7 {
		t.Fatalf("read over the hole: %+v, %v", res, err)
	}
	r.restart()
	if lo, hi := r.Bounds("T", 0); lo != 0 || hi != 11 {
		t.Fatalf("bounds [%d, %d)", lo, hi)
	}
}

func TestOffsetAtTime(t *testing.T) {
	var now atomic.Int64
	r := aged(t, &now, nil)
	first := now.Load()
	for i := range 300 { // three messages a second, over several segments
		if i%3 == 0 && i > 0 {
			now.Add(1000)
		}
		mustAppend(t, r.Store, message("T", 0, strings.Repeat("x", 200)), message("T", 1, "other"))
	}
	r.RaiseFloor("T", 0, 310)
	now.Add(1000)
	mustAppend(t, r.Store, message("T", 0, "behind a hole"))
	for _, c := range []struct {
		ms    int64
		upper bool
		want  int64
	}{
		{first - 1, false, 0},
		{first - 1, true, 0},
		{first, false, 0},
		{first, true, 2},
		{first + 1, false, 3},
		{first + 50_000, false, 150},
		{first + 50_000, true, 152},
		{first + 50_500, false, 153},
		{first + 50_500, true, 152},
		{first + 99_000, true, 299},
		{first + 99_001, false, 310},
		{first + 100_000, false, 310},
		{first + 100_000, true, 310},
		{first + 200_000, false, 311},
		{first + 200_000, true, 310},
	} {
		got, err := r.OffsetAtTime("T", 0, c.ms, c.upper)
		if err != nil || got != c.want {
			t.Errorf("at +%d, upper %v: %d, want %d, %v", c.ms-first, c.upper, got, c.want, err)
		}
	}
	if at, err := r.StoreTime("T", 0, 151); err != nil || at != first+50_000 {
		t.Errorf("store time %d, %v", at, err)
	}
	if _, err := r.StoreTime("T", 0, 305); err == nil {
		t.Error("store time of a hole")
	}
	if got, err := r.OffsetAtTime("T", 9, first, false); got != 0 || err != nil {
		t.Errorf("unknown queue: %d, %v", got, err)
	}
}

func TestRecordAndQuery(t *testing.T) {
	r := newRig(t, func(o *Options) { o.TailCache = 8 * kib })
	var all []msg.Message
	for i := range 300 {
		all = append(all, mustAppend(t, r.Store, message("T", int32(i%3), fmt.Sprint("body", i), msg.PropKeys, fmt.Sprintf("all k%d even%d", i, i%2), msg.PropUniqueKey, fmt.Sprint("U", i), msg.PropTags, fmt.Sprint("t", i%10)))...)
	}
	for _, m := range all {
		b, err := r.Record(m.PhysicalOffset)
		if err != nil || string(msg.View(b).Body()) != string(m.Body) {
			t.Fatalf("record at %d: %v", m.PhysicalOffset, err)
		}
	}
	end := r.Positions().Dispatched
	for _, bad := range []int64{-1, 1, all[5].PhysicalOffset + 8, end, end + 1, 1 << 50} {
		if _, err := r.Record(bad); err == nil {
			t.Errorf("record at %d", bad)
		}
	}
	for key, want := range map[string]int{"all": 100, "k17": 1, "U17": 1, "even1": 100, "": 0, "k": 0, "all k1": 0, TagKey("t3"): 30, "t3": 0} {
		got, err := r.QueryKey(t.Context(), "T", key, 100, 0, 1<<60)
		if err != nil || len(got) != want {
			t.Errorf("key %q: %d records, want %d, %v", key, len(got), want, err)
		}
		for i := 1; i < len(got); i++ {
			if msg.View(got[i-1]).PhysicalOffset() <= msg.View(got[i]).PhysicalOffset() {
				t.Errorf("key %q: not newest first", key)
			}
		}
	}
	if got, err := r.QueryKey(t.Context(), "T", "k17", 10, 0, all[17].StoreTimestamp-1); err != nil || len(got) != 0 {
		t.Errorf("before its time: %d, %v", len(got), err)
	}
}

func TestAppendStaysWhole(t *testing.T) {
	r := newRig(t, func(o *Options) { o.SegmentSize = 16 * kib; o.MaxBatch = 4 * kib })
	for i := range 60 {
		var msgs []msg.Message
		for j := range 1 + i%7 {
			msgs = append(msgs, message("T", int32(j), fmt.Sprint(i, strings.Repeat("x", 1500))))
		}
		out := mustAppend(t, r.Store, msgs...)
		for j := 1; j < len(out); j++ {
			if out[j].PhysicalOffset != out[j-1].PhysicalOffset+int64(out[j-1].StoreSize) {
				t.Fatalf("append %d is torn apart at %d", i, out[j].PhysicalOffset)
			}
		}
		if a, b := out[0].PhysicalOffset, out[len(out)-1].PhysicalOffset; a/(16*kib) != b/(16*kib) {
			t.Fatalf("append %d lies in two segments", i)
		}
	}
	v, err := Verify(t.Context(), r.mem, "/store", nil) // of a running store
	if err != nil || !v.OK() || v.Messages == 0 {
		t.Fatalf("verify: %+v, %v", v, err)
	}
}

func TestToolsOnARunningStore(t *testing.T) {
	r := newRig(t, func(o *Options) { o.SegmentSize = 16 * kib })
	want := r.fill(0, strings.Repeat("x", 100), 200)
	in, err := Inspect(t.Context(), r.mem, "/store")
	if err != nil || in.Messages != 200 || len(in.Queues) != 1 || in.Queues[0].Max != 200 || in.Queues[0].Count != 200 {
		t.Fatalf("inspect: %+v, %v", in, err)
	}
	if in.End != r.Positions().Dispatched || in.Durable > in.End || in.Checkpoint == nil || in.Checkpoint.Clean {
		t.Fatalf("inspect: %+v", in)
	}
	var got []string
	notes := 0
	err = Dump(t.Context(), r.mem, "/store", DumpOptions{Queue: -1}, func(d Dumped) error {
		if d.Record == nil {
			notes++
			return nil
		}
		got = append(got, string(d.Record.Body()))
		return nil
	})
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || notes != len(in.Segments)-1 && notes != len(in.Segments)-2 {
		t.Fatalf("dump: %d of %d records, %d notes, %v", len(got), len(want), notes, err)
	}
	n := 0
	err = Dump(t.Context(), r.mem, "/store", DumpOptions{From: 17 * kib, Topic: "T", Queue: 0, Max: 5}, func(d Dumped) error {
		if n++; d.Physical < 17*kib {
			t.Errorf("dump from 17 KiB gives %d", d.Physical)
		}
		return nil
	})
	if err != nil || n != 5 {
		t.Fatalf("dump of five: %d, %v", n, err)
	}
	if _, err := Inspect(t.Context(), r.mem, "/nothing"); err == nil {
		t.Error("inspected nothing")
	}
}
