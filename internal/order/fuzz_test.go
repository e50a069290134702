// SPDX-License-Identifier: Apache-2.0

package order

import (
	"testing"
)

// byteChooser makes the choices that the fuzzer wrote.
type byteChooser struct{ b []byte }

func (c *byteChooser) pick(_ string, n int) int {
	if len(c.b) == 0 {
		return 0
	}
	v := int(c.b[0])
	c.b = c.b[1:]
	if n > 256 && len(c.b) > 0 {
		v = v<<8 | int(c.b[0])
		c.b = c.b[1:]
	}
	return v % n
}

func seedBytes(n, step int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * step)
	}
	return b
}

// FuzzWorld plays histories of a broker and its members.
func FuzzWorld(f *testing.F) {
	f.Add(seedBytes(200, 7))
	f.Add(seedBytes(400, 31))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &byteChooser{b}
		w := randomWorld(c)
		w.start(w.members[0])
		for len(c.b) > 0 && w.bad == "" {
			w.randomMove(c)
		}
		if w.play(c, 1); w.bad != "" {
			t.Fatal(w.bad)
		}
	})
}

// FuzzLane feeds a lane, with its invariants checked.
func FuzzLane(f *testing.F) {
	f.Add(seedBytes(200, 7))
	f.Add(seedBytes(400, 31))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &byteChooser{b}
		m := newLaneModel(c, func(m *laneModel, a *LaneAction) {
			if a == nil && !m.over && !m.lost && m.lane.CommitOffset() != m.lowest() {
				m.fail("commit offset %d, lowest unfinished is %d", m.lane.CommitOffset(), m.lowest())
			}
			if a == nil && m.lane.Next() <= m.now {
				m.fail("a tick is due in the past")
			}
		})
		for len(c.b) > 0 && m.bad == "" {
			m.move(c)
		}
		if m.bad != "" {
			t.Fatal(m.bad)
		}
	})
}

// FuzzLeases feeds a lease table, with its invariants checked.
func FuzzLeases(f *testing.F) {
	f.Add(seedBytes(200, 7))
	f.Add(seedBytes(400, 31))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &byteChooser{b}
		m := newLeaseModel(c, func(m *leaseModel, a *LeaseAction) {
			if a != nil && a.Kind == LeaseGranted && a.Fresh && (m.holds[a.Queue] != nil || a.Epoch <= m.epoch) {
				m.fail("%+v while %+v, epoch %d", a, m.holds[a.Queue], m.epoch)
			}
			if a != nil && a.Kind == LeaseStored && a.Offset < m.pos[a.Queue] {
				m.fail("%v goes back", a.Queue)
			}
		})
		for len(c.b) > 0 && m.bad == "" {
			m.move(c)
		}
		if m.bad != "" {
			t.Fatal(m.bad)
		}
	})
}

// FuzzProgressText: what is parsed is written back the same way.
func FuzzProgressText(f *testing.F) {
	for _, s := range []string{"", "1-2", "1-2,2-3,10-20", "7:2,9:1+", "3-3", "-1-2", "1:1,1:1", "9223372036854775807-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if rs, err := ParseRanges(nil, s); err == nil {
			again, err := ParseRanges(nil, string(AppendRanges(nil, rs)))
			if err != nil || len(again) != len(rs) {
				t.Fatalf("%q: %v %v %v", s, rs, again, err)
			}
		}
		if as, err := ParseAttempts(nil, s); err == nil {
			again, err := ParseAttempts(nil, string(AppendAttempts(nil, as)))
			if err != nil || len(again) != len(as) {
				t.Fatalf("%q: %v %v %v", s, as, again, err)
			}
		}
	})
}
