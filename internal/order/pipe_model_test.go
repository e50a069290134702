// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// pipeWorld is a pipe, a network that loses, doubles, delays and reorders, and
// a naive broker that stores what has the next number.
type pipeWorld struct {
	t      *rapid.T
	p      *Pipe
	now    Time
	stock  bool
	epoch  uint32
	queues map[Queue]*pipeBroker
	fly    []pipeCopy // attempts that may still arrive
	calls  []*Frame   // attempts that have no answer yet
	claim  *PipeAction
	sent   map[string][]int // key: its calls
	ended  map[int]string   // call: what it was told
	refuse map[int]bool
	barred map[int]bool // calls behind one that was given up, made before its key went on
	failed map[string]bool
	n      int
}

type pipeBroker struct {
	next   map[uint32]uint64
	log    []int
	frames []pipeStored
}

type pipeStored struct {
	epoch uint32
	first uint64
	calls []int
}

// pipeCopy is what an attempt carries: frames do not change, but a pipe that
// changed one would be caught.
type pipeCopy struct {
	f     *Frame
	epoch uint32
	first uint64
	calls []int
	left  bool // the caller waits for its answer no more
}

func (w *pipeWorld) do(acts []PipeAction) {
	acts = w.p.Pump(w.now, acts)
	for i := range acts {
		a := &acts[i]
		switch a.Kind {
		case PipeSend:
			c := pipeCopy{f: a.Frame, epoch: a.Frame.Epoch, first: a.Frame.First}
			for _, m := range a.Frame.Parcels {
				c.calls = append(c.calls, m.Ref.(int))
				if w.barred[m.Ref.(int)] && a.Frame.Producer != 0 {
					w.t.Fatalf("call %d is sent behind one of its key that was given up", m.Ref)
				}
			}
			w.fly = append(w.fly, c)
			w.calls = append(w.calls, a.Frame)
			under, frames := 0, 0
			for _, f := range w.calls {
				if f.Queue == a.Frame.Queue {
					under, frames = under+len(f.Parcels), frames+1
				}
			}
			if under > PipeMessages || frames > PipeFrames || w.stock && frames > 1 {
				w.t.Fatalf("%d messages in %d frames under way", under, frames)
			}
		case PipeClaim:
			w.claim = a
		case PipeStored:
			for _, m := range a.Frame.Parcels {
				if !m.told {
					w.end(m.Ref.(int), "stored")
				}
			}
		case PipeFound:
			w.end(a.Parcel.Ref.(int), "stored")
		case PipeFailed:
			why := "failed"
			if a.Maybe {
				why = "maybe"
			}
			w.end(a.Parcel.Ref.(int), why)
		case PipeLost:
			w.t.Fatalf("lost %d..%d", a.From, a.To)
		}
	}
}

func (w *pipeWorld) end(call int, how string) {
	if was := w.ended[call]; was != "" {
		w.t.Fatalf("call %d ended twice: %s, %s", call, was, how)
	}
	w.ended[call] = how
	if how == "stored" || w.p.cfg.Continue {
		return
	}
	for k, calls := range w.sent {
		if slices.Contains(calls, call) {
			for _, later := range calls {
				w.barred[later] = w.barred[later] || later > call
			}
			w.failed[k] = true
		}
	}
}

func (w *pipeWorld) broker(q Queue) *pipeBroker {
	if w.queues[q] == nil {
		w.queues[q] = &pipeBroker{next: map[uint32]uint64{}}
	}
	return w.queues[q]
}

// arrive is a copy at the broker.
func (w *pipeWorld) arrive(c pipeCopy) (PipeVerdict, uint64) {
	b := w.broker(c.f.Queue)
	for _, call := range c.calls {
		if w.refuse[call] {
			return FrameRefused, 0
		}
	}
	if w.stock {
		b.log = append(b.log, c.calls...)
		return FrameStored, 0
	}
	if c.epoch != w.epoch {
		return FrameNoAnswer, 0 // of the past: refused, and nobody hears of it
	}
	for _, s := range b.frames {
		if s.epoch == c.epoch && s.first == c.first && len(s.calls) == len(c.calls) {
			if !slices.Equal(s.calls, c.calls) {
				w.t.Fatalf("number %d is used for %v and for %v", c.first, s.calls, c.calls)
			}
			return FrameStored, 0
		}
	}
	if next := b.next[c.epoch]; c.first != next {
		return FrameGap, next
	}
	b.frames = append(b.frames, pipeStored{c.epoch, c.first, c.calls})
	b.next[c.epoch] += uint64(len(c.calls))
	b.log = append(b.log, c.calls...)
	return FrameStored, 0
}

// answer ends an attempt for the pipe.
func (w *pipeWorld) answer(f *Frame, v PipeVerdict, next uint64) {
	i := slices.Index(w.calls, f)
	w.calls = slices.Delete(w.calls, i, i+1)
	for k := range w.fly {
		if w.fly[k].f == f {
			w.fly[k].left = true
		}
	}
	w.do(w.p.Answered(w.now, f, v, next, nil, nil))
}

func (w *pipeWorld) deliver(i int, lose bool) {
	c := w.fly[i]
	w.fly = slices.Delete(w.fly, i, i+1)
	v, next := w.arrive(c)
	if c.left {
		return
	}
	if lose {
		v, next = FrameNoAnswer, 0
	}
	w.answer(c.f, v, next)
}

func (w *pipeWorld) grant() {
	a := w.claim
	w.claim = nil
	g := PipeGrant{}
	if !w.stock {
		if a.Producer != 0 && a.Epoch != w.epoch {
			w.do(w.p.ClaimFenced("fenced", nil))
			return
		}
		old := w.epoch
		w.epoch++
		g = PipeGrant{Producer: 1, Epoch: w.epoch, Stored: func(q Queue, n uint64) (bool, int64) { return n < w.broker(q).next[old], -1 }}
	}
	w.do(w.p.Granted(g, nil))
}

func (w *pipeWorld) add(t *rapid.T, deadline time.Duration) {
	k := rapid.IntRange(0, 3).Draw(t, "key")
	w.n++
	m := &Parcel{
		Key: fmt.Sprint("k", k), Size: 1, Share: uint8(rapid.IntRange(0, 2).Draw(t, "share")), Deadline: w.now.Add(deadline), Ref: w.n,
	}
	w.refuse[w.n] = rapid.IntRange(0, 9).Draw(t, "bad") == 0
	w.sent[m.Key] = append(w.sent[m.Key], w.n)
	w.barred[w.n] = w.failed[m.Key]
	w.do(w.p.Add(w.now, Queue{"t", int32(k % 2)}, m, nil))
}

// check compares what is stored with what was called and told.
func (w *pipeWorld) check() {
	count := map[int]int{}
	for _, b := range w.queues {
		for _, call := range b.log {
			count[call]++
		}
	}
	for call, how := range w.ended {
		switch n := count[call]; {
		case how == "stored" && n == 0, how == "failed" && n > 0, n > 1 && !w.stock:
			w.t.Fatalf("call %d was told %q and is stored %d times", call, how, n)
		}
	}
	if w.stock {
		return
	}
	for k, calls := range w.sent {
		last := 0
		for _, call := range w.broker(Queue{"t", int32(k[1]-'0') % 2}).log {
			if slices.Contains(calls, call) {
				if call <= last {
					w.t.Fatalf("call %d of %s is stored behind %d", call, k, last)
				}
				last = call
			}
		}
	}
}

// Whatever the network does, each key is stored in the order of its calls, what
// is acknowledged is stored once, what is refused is not, and in the end every
// call is told.
func TestPipeModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &pipeWorld{
			t: t, queues: map[Queue]*pipeBroker{}, sent: map[string][]int{}, ended: map[int]string{}, refuse: map[int]bool{}, barred: map[int]bool{}, failed: map[string]bool{},
			stock: rapid.IntRange(0, 5).Draw(t, "stock") == 0,
			p: NewPipe(PipeConfig{
				MaxBytes: 4, Patience: time.Second, First: time.Millisecond, Last: 8 * time.Millisecond,
				Continue: rapid.Bool().Draw(t, "continue"),
			}),
		}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			w.step(t)
			w.check()
		}
		w.calm()
		w.check()
		if len(w.ended) != w.n {
			t.Fatalf("%d of %d calls ended: %+v", len(w.ended), w.n, w.p)
		}
	})
}

func (w *pipeWorld) step(t *rapid.T) {
	what := rapid.IntRange(0, 12).Draw(t, "what")
	switch {
	case what < 4:
		w.add(t, time.Duration(rapid.IntRange(10, 100).Draw(t, "deadline"))*time.Millisecond)
	case what < 8 && len(w.fly) > 0:
		i := rapid.IntRange(0, len(w.fly)-1).Draw(t, "copy")
		w.deliver(i, what == 7)
	case what == 8 && len(w.calls) > 0:
		f := w.calls[rapid.IntRange(0, len(w.calls)-1).Draw(t, "call")]
		w.answer(f, FrameNoAnswer, 0) // its copy may come yet
	case what == 9 && len(w.fly) > 0: // lost on the way
		i := rapid.IntRange(0, len(w.fly)-1).Draw(t, "lost")
		c := w.fly[i]
		w.fly = slices.Delete(w.fly, i, i+1)
		if !c.left {
			w.answer(c.f, FrameNoAnswer, 0)
		}
	case what == 10 && w.claim != nil:
		if rapid.IntRange(0, 3).Draw(t, "claim") == 0 {
			w.claim = nil
			w.p.ClaimFailed(w.now)
			w.do(nil)
			return
		}
		w.grant()
	case what == 11:
		k := fmt.Sprint("k", rapid.IntRange(0, 3).Draw(t, "key"))
		w.p.Resume(k)
		w.failed[k] = false
		w.do(nil)
	case what == 12:
		w.now = w.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "ms")) * time.Millisecond)
		w.do(nil)
	}
}

// calm lets everything arrive until nothing is left to do.
func (w *pipeWorld) calm() {
	for range 10000 {
		switch at := w.p.Next(); {
		case w.claim != nil:
			w.grant()
		case len(w.fly) > 0:
			w.deliver(0, false)
		case len(w.calls) > 0:
			w.answer(w.calls[0], FrameNoAnswer, 0)
		case at == Never:
			return
		default:
			w.now = max(w.now, at)
			w.do(nil)
		}
	}
	w.t.Fatalf("no end: %+v", w.p)
}
