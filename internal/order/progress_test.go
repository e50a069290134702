// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRangesAsText(t *testing.T) {
	rs := []Range{{3, 5}, {5, 6}, {9, 12}}
	text := string(AppendRanges(nil, rs))
	if text != "3-5,5-6,9-12" {
		t.Errorf("written as %q", text)
	}
	if got, err := ParseRanges(nil, text); err != nil || !slices.Equal(got, rs) {
		t.Errorf("read back as %v, %v", got, err)
	}
	for _, bad := range []string{"3", "3-", "-3", "5-3", "3-3", "4-6,5-7", "a-b", "1-2,", ",", "-5-3", "1-2-3"} {
		if got, err := ParseRanges(nil, bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
	if _, err := ParseRanges(nil, string(make([]byte, maxSettledText+1))); err == nil {
		t.Error("a text beyond the bound is read")
	}
}

func TestAttemptsAsText(t *testing.T) {
	as := []Attempt{{7, 2, false}, {9, 0, true}}
	text := string(AppendAttempts(nil, as))
	if text != "7:2,9:0+" {
		t.Errorf("written as %q", text)
	}
	if got, err := ParseAttempts(nil, text); err != nil || !slices.Equal(got, as) {
		t.Errorf("read back as %v, %v", got, err)
	}
	for _, bad := range []string{"7", "7:", ":2", "7:-1", "7:2,7:3", "9:1,7:1", "7:2++", "7:99999999999"} {
		if got, err := ParseAttempts(nil, bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

// TestAfterCrash: an unclean end adds one to what was started and not ended,
// and to a delivered head that is not in back-off.
func TestAfterCrash(t *testing.T) {
	for _, c := range []struct {
		attempts  string
		head      int64
		delivered bool
		want      string
	}{
		{"", 5, false, ""},
		{"", 5, true, "5:1"},
		{"5:2", 5, true, "5:2"},
		{"5:2+", 5, true, "5:3"},
		{"7:1+,9:3", 5, true, "5:1,7:2,9:3"},
		{"2:1,7:1+", 5, true, "2:1,5:1,7:2"},
		{"7:1+", 5, false, "7:2"},
	} {
		as, err := ParseAttempts(nil, c.attempts)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(AppendAttempts(nil, AfterCrash(as, c.head, c.delivered))); got != c.want {
			t.Errorf("%q, head %d delivered %v: %q, want %q", c.attempts, c.head, c.delivered, got, c.want)
		}
	}
}

// TestProgressAgainstASet compares progress with a plain set of offsets.
func TestProgressAgainstASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p progress
		start := rapid.Int64Range(0, 5).Draw(t, "start")
		done := map[int64]bool{}
		g := Grant{Offset: start}
		for o := start; o < start+20; {
			from := o + rapid.Int64Range(0, 6).Draw(t, "gap")
			to := from + rapid.Int64Range(1, 4).Draw(t, "length")
			g.Settled = append(g.Settled, Range{from, to})
			for ; from < to; from++ {
				done[from] = true
			}
			o = to
		}
		p.start(&g)
		slots := map[int64]int32{}
		for range rapid.IntRange(0, 60).Draw(t, "moves") {
			switch rapid.IntRange(0, 2).Draw(t, "move") {
			case 0: // a message comes
				o := p.next + rapid.Int64Range(0, 2).Draw(t, "skip")
				for hole := p.next; hole < o; hole++ {
					done[hole] = true
				}
				if !p.settledBefore(o) {
					slots[o] = p.push(Entry{Offset: o})
				} else if !done[o] {
					t.Fatalf("%d is taken for settled", o)
				}
				p.advance(o + 1)
			case 1: // a message is finished
				for o, j := range slots {
					p.remove(j)
					delete(slots, o)
					done[o] = true
					break
				}
			}
			compare(t, &p, start, done)
		}
	})
}

func compare(t *rapid.T, p *progress, start int64, done map[int64]bool) {
	low := start
	for done[low] && low < p.next {
		low++
	}
	if p.low() != low {
		t.Fatalf("low %d, want %d", p.low(), low)
	}
	settled := map[int64]bool{}
	for _, r := range p.settled(nil) {
		for o := r.From; o < r.To; o++ {
			settled[o] = true
		}
	}
	for o := low; o < start+120; o++ {
		if want := done[o] && o > low; settled[o] != want {
			t.Fatal(fmt.Sprintf("%d settled %v, want %v; low %d next %d", o, settled[o], want, low, p.next))
		}
	}
}

func TestPingLog(t *testing.T) {
	var p PingLog
	if _, ok := p.Sent(0); ok {
		t.Error("ping 0 was answered")
	}
	for n := uint64(1); n <= 100; n++ {
		p.Answered(n, Time(n*10))
	}
	if at, ok := p.Sent(99); !ok || at != 990 {
		t.Errorf("answer 99 at %v, %v", at, ok)
	}
	if at, ok := p.Sent(36); ok {
		t.Errorf("answer 36, long ago, at %v", at)
	}
	if _, ok := p.Sent(101); ok {
		t.Error("an answer that was never sent")
	}
}

// TestFullWindow: at the bound nothing more is read ahead, and the lane says
// behind what it is stuck.
func TestFullWindow(t *testing.T) {
	l := NewLane(LaneConfig{ByKey: true, MaxCount: 1 << 20, Workers: 1})
	var acts []LaneAction
	acts = l.Step(0, &LaneEvent{Kind: LaneStart, Until: Never}, acts)
	next, pulls := int64(0), 0
	for len(acts) > 0 {
		var more []LaneAction
		for _, a := range acts {
			if a.Kind != LanePull {
				continue
			}
			pulls++
			var es []Entry
			for range 32 {
				es = append(es, Entry{Offset: next, Key: uint64(next) + 1, Size: 1})
				next++
			}
			more = l.Step(0, &LaneEvent{Kind: LanePulled, Until: Never, Entries: es, Next: next}, more)
		}
		acts = more
		if pulls > 1000 {
			t.Fatal("reading does not stop")
		}
	}
	if l.n < maxUnfinished || l.n > maxUnfinished+32 {
		t.Errorf("%d unfinished messages, the bound is %d", l.n, maxUnfinished)
	}
	ws := l.Waits(0, Never, nil)
	if len(ws) == 0 || ws[0].Why != LaneWindowFull || ws[0].Key != 1 {
		t.Errorf("first wait is %+v", ws[0])
	}
	if n := len(AppendRanges(nil, l.AppendSettled(nil))); n > maxSettledText {
		t.Errorf("%d bytes of settled ranges", n)
	}
}

// TestMemoryIsFlatBehindAStuckKey: a million messages behind a stuck one cost
// nothing once they are settled.
func TestMemoryIsFlatBehindAStuckKey(t *testing.T) {
	step, _ := steadyStuckLane()
	for range 1000 {
		step()
	}
	if n := testing.AllocsPerRun(1, func() {
		for range 100_000 {
			step()
		}
	}); n > 5 {
		t.Errorf("%v allocations for 100,000 messages behind a stuck one", n)
	}
}
