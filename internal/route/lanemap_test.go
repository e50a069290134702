// SPDX-License-Identifier: Apache-2.0

package route

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFirstMap(t *testing.T) {
	var implicit LaneMap
	for _, n := range []int32{1, 3, 8, 1024, 2000} {
		m := NewLaneMap(0, n)
		if err := m.Check(n); err != nil {
			t.Error(err)
		}
		for lane := range int32(Lanes) {
			if m.Of(lane, n) != lane%n || implicit.Of(lane, n) != lane%n {
				t.Fatalf("n=%d lane %d: %d %d", n, lane, m.Of(lane, n), implicit.Of(lane, n))
			}
		}
		if moved := m.Moved(&implicit, n, n); len(moved) != 0 {
			t.Errorf("n=%d: the first map in both forms differs in lanes %v", n, moved)
		}
	}
}

func TestLaneMapCheck(t *testing.T) {
	short := LaneMap{Queue: make([]int32, 3)}
	negative, high := NewLaneMap(1, 4), NewLaneMap(1, 4)
	negative.Queue[7], high.Queue[7] = -1, 4
	for _, m := range []LaneMap{short, negative, high} {
		if m.Check(4) == nil {
			t.Errorf("%.40v passed", m)
		}
	}
	if (&LaneMap{}).Check(0) == nil {
		t.Error("a topic without queues passed")
	}
}

// Growing fills the new queues evenly and moves lanes to new queues only.
func TestGrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Int32Range(1, 64).Draw(t, "from")
		m := LaneMap{Epoch: rapid.Int64Range(0, 9).Draw(t, "epoch")}
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			n := from + rapid.Int32Range(0, 64).Draw(t, "more")
			next, err := m.Grow(from, n)
			if err != nil || next.Check(n) != nil || next.Epoch != m.Epoch+1 {
				t.Fatal(err, next.Check(n))
			}
			for _, lane := range m.Moved(&next, from, n) {
				if next.Of(lane, n) < from {
					t.Fatalf("lane %d moved to old queue %d", lane, next.Of(lane, n))
				}
			}
			load := make([]int, n)
			for _, q := range next.Queue {
				load[q]++
			}
			if slices.Max(load)-slices.Min(load) > 1 {
				t.Fatalf("uneven: %v", load)
			}
			m, from = next, n
		}
	})
}

func TestGrowRefuses(t *testing.T) {
	m := NewLaneMap(0, 8)
	for _, n := range []int32{7, 0, -1, 1 << 20} {
		if _, err := m.Grow(8, n); err == nil {
			t.Errorf("8 to %d passed", n)
		}
	}
	if _, err := m.Grow(4, 16); err == nil {
		t.Error("a map that does not fit the topic passed")
	}
}

func TestLaneMapText(t *testing.T) {
	if s := (LaneMap{Epoch: 3}).String(); s != "3" {
		t.Error(s)
	}
	one := LaneMap{Epoch: 4, Queue: make([]int32, Lanes)}
	one.Queue[0] = 2
	if s := one.String(); s != "4:2,0*1023" {
		t.Error(s)
	}
	rapid.Check(t, func(t *rapid.T) {
		m := LaneMap{Epoch: rapid.Int64Range(0, 1<<62).Draw(t, "epoch")}
		if rapid.Bool().Draw(t, "explicit") {
			m.Queue = rapid.SliceOfN(rapid.Int32Range(0, 3), Lanes, Lanes).Draw(t, "queues")
		}
		got, err := ParseLaneMap(m.String())
		if err != nil || got.Epoch != m.Epoch || !slices.Equal(got.Queue, m.Queue) {
			t.Fatalf("%v, %v", got, err)
		}
	})
	for _, bad := range []string{"", "x", "-1", "1:", "1:0", "1:0*1023", "1:0*1025", "1:-1*1024", "1:x*1024", "1:0*0,0*1024", "1:0*99999999999", "1:0*1024,1", strings.Repeat("9", 30)} {
		if m, err := ParseLaneMap(bad); err == nil {
			t.Errorf("%q passed: %v", bad, m)
		}
	}
}

func FuzzParseLaneMap(f *testing.F) {
	f.Add("3")
	f.Add("4:2,0*1023")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseLaneMap(s)
		if err != nil {
			return
		}
		if len(m.Queue) != 0 && len(m.Queue) != Lanes {
			t.Fatalf("%d lanes", len(m.Queue))
		}
		if again, err := ParseLaneMap(m.String()); err != nil || again.String() != m.String() {
			t.Fatal(err)
		}
	})
}
