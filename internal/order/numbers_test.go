// SPDX-License-Identifier: Apache-2.0

package order

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// naiveNumbers keeps everything and forgets nothing.
type naiveNumbers struct {
	epoch  map[uint64]uint32
	stored map[uint64]map[Queue][]NumberedFrame // of the present epoch
	end    map[Queue]int64
}

// decide is the rule in its plainest form.
func (w *naiveNumbers) decide(f *NumberedFrame) NumberAnswer {
	epoch, ok := w.epoch[f.Producer]
	if !ok || f.Epoch > epoch {
		return NumberAnswer{Verdict: NumberUnknown}
	}
	if f.Epoch < epoch {
		return NumberAnswer{Verdict: NumberFenced}
	}
	all := w.stored[f.Producer][f.Queue]
	next := uint64(0)
	for i, s := range all {
		next = s.First + uint64(s.Count)
		if s.First == f.First && s.Count == f.Count && i >= len(all)-KeptFrames {
			return NumberAnswer{Verdict: NumberRepeat, Offset: s.Offset}
		}
	}
	if f.First != next {
		return NumberAnswer{Verdict: NumberGap, Next: next}
	}
	w.stored[f.Producer][f.Queue] = append(all, *f)
	w.end[f.Queue] += int64(f.Count)
	return NumberAnswer{}
}

func (w *naiveNumbers) advance(id uint64, epoch uint32) {
	if old, ok := w.epoch[id]; !ok || epoch > old {
		w.epoch[id] = epoch
		w.stored[id] = map[Queue][]NumberedFrame{}
	}
}

func TestNumbersAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := NewNumbers(NumbersConfig{})
		w := &naiveNumbers{epoch: map[uint64]uint32{}, stored: map[uint64]map[Queue][]NumberedFrame{}, end: map[Queue]int64{}}
		var noted []NumberedFrame
		now := Time(0)
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			now += Time(rapid.IntRange(0, 60).Draw(t, "seconds")) * Time(time.Second)
			id := rapid.Uint64Range(1, 3).Draw(t, "producer")
			switch rapid.IntRange(0, 20).Draw(t, "what") {
			case 0:
				epoch := w.epoch[id] + uint32(rapid.IntRange(0, 1).Draw(t, "more"))
				n.Advance(now, id, epoch)
				w.advance(id, epoch)
			case 1:
				noted, _ = n.Fresh(noted, 100)
			case 2: // as after a restart
				noted, _ = n.Fresh(noted, 100)
				n = NewNumbers(NumbersConfig{})
				for id, epoch := range w.epoch {
					n.Advance(now, id, epoch)
				}
				for i := range noted {
					n.Restore(now, &noted[i])
				}
				from := rapid.IntRange(0, len(noted)).Draw(t, "again from")
				for i := range noted[from:] {
					n.Restore(now, &noted[from+i])
				}
				n.Fresh(nil, 100)
			default:
				q := Queue{"T", rapid.Int32Range(0, 1).Draw(t, "queue")}
				epoch := w.epoch[id] + uint32(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 1, -1}).Draw(t, "epoch"))
				f := NumberedFrame{id, epoch, q, KeptFrame{Count: uint32(rapid.IntRange(1, 3).Draw(t, "count")), Offset: w.end[q]}}
				if all := w.stored[id][q]; len(all) > 0 {
					last := all[len(all)-1]
					f.First = last.First + uint64(last.Count)
					if rapid.IntRange(0, 2).Draw(t, "again") == 0 {
						f.KeptFrame = all[rapid.IntRange(0, len(all)-1).Draw(t, "which")].KeptFrame
					}
				}
				f.First += uint64(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 5}).Draw(t, "skip"))
				got, want := n.Admit(now, &f), w.decide(&f)
				if got != want {
					t.Fatalf("%+v: %+v, want %+v", f, got, want)
				}
			}
		}
	})
}

func TestNumbersBounds(t *testing.T) {
	n := NewNumbers(NumbersConfig{Producers: 2, Pairs: 2})
	at := func(minutes int) Time { return Time(minutes) * Time(time.Minute) }
	send := func(now Time, id uint64, queue int32, first uint64) NumberAnswer {
		return n.Admit(now, &NumberedFrame{id, 1, Queue{"T", queue}, KeptFrame{First: first, Count: 1}})
	}
	want := func(what string, got NumberAnswer, verdict NumberVerdict) {
		t.Helper()
		if got.Verdict != verdict {
			t.Errorf("%s: %v, want %v", what, got.Verdict, verdict)
		}
	}
	n.Advance(0, 1, 1)
	n.Advance(at(5), 2, 1)
	if n.Advance(at(6), 3, 1) {
		t.Error("a third producer fits")
	}
	want("first", send(at(5), 1, 0, 0), NumberAdmit)
	want("second", send(at(7), 1, 1, 0), NumberAdmit)
	want("third while the first is busy", send(at(14), 1, 2, 0), NumberTooMany)
	want("third", send(at(15), 1, 2, 0), NumberAdmit)
	want("forgotten", send(at(15), 1, 0, 1), NumberUnknown)
	want("not forgotten", send(at(15), 1, 1, 1), NumberAdmit)
	if !n.Advance(at(15), 3, 1) {
		t.Error("a third producer does not fit although one is idle")
	}
	want("forgotten producer", send(at(15), 2, 0, 0), NumberUnknown)
	if gone := n.Expire(at(15), 10, nil); len(gone) != 1 || gone[0] != 2 {
		t.Errorf("gone: %v, want 2", gone)
	}
	n.Advance(at(20), 1, 2)
	if got := n.Admit(at(20), &NumberedFrame{1, 2, Queue{"T", 0}, KeptFrame{First: 1, Count: 1}}); got.Verdict != NumberGap || got.Next != 0 {
		t.Errorf("a new epoch forgets what was forgotten: %+v", got)
	}
	n.DropTopic("T")
	if s := n.Stats(); s.Pairs != 0 {
		t.Errorf("pairs of a dropped topic: %d", s.Pairs)
	}
	if gone := n.Expire(at(20+24*60), 10, nil); len(gone) != 2 {
		t.Errorf("after a day idle: gone %v", gone)
	}
}

func FuzzNumbers(f *testing.F) {
	f.Add([]byte{0, 1, 0, 1, 2, 3, 1, 1, 0, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		n := NewNumbers(NumbersConfig{Producers: 3, Pairs: 4})
		next := map[[3]uint64]uint64{}
		now := Time(0)
		for ; len(data) >= 4; data = data[4:] {
			now += Time(data[0]) * Time(time.Minute)
			id := uint64(data[1] % 4)
			if data[2] < 32 {
				n.Advance(now, id, uint32(data[2]%8))
				continue
			}
			epoch, known := n.Epoch(id)
			fr := NumberedFrame{id, epoch, Queue{"T", int32(data[2] % 8)}, KeptFrame{First: uint64(data[3] % 16), Count: 1 + uint32(data[3]/64)}}
			key := [3]uint64{id, uint64(epoch), uint64(fr.Queue.ID)}
			switch a := n.Admit(now, &fr); a.Verdict {
			case NumberAdmit:
				if !known || fr.First != 0 && fr.First != next[key] {
					t.Fatalf("admitted %+v, expected number %d", fr, next[key])
				}
				next[key] = fr.First + uint64(fr.Count)
			case NumberFenced:
				t.Fatalf("fenced in the present epoch: %+v", fr)
			}
			if s := n.Stats(); s.Producers > 3 || s.Pairs > 4 {
				t.Fatalf("beyond the bounds: %+v", s)
			}
		}
	})
}
