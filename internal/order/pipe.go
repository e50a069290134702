// SPDX-License-Identifier: Apache-2.0

package order

import (
	"slices"
	"time"
)

// Bounds of what is under way in one queue. A broker remembers twice as many
// frames as there may be unanswered ones.
const (
	PipeFrames   = 8
	PipeMessages = 1024
)

// PipeConfig is what a Pipe is told.
type PipeConfig struct {
	MaxBytes int           // of the parcels of a shared frame
	Patience time.Duration // how long a parcel that is given up waits for the broker's word
	First    time.Duration // wait before the first retry; it doubles
	Last     time.Duration // longest wait before a retry
	Continue bool          // a failed parcel does not stop its key
}

// Pipe carries the messages of one producer to one broker: per queue in the
// order in which they were added, several frames at a time, without repeats.
// A Pipe belongs to one goroutine.
//
// Invariants. The unanswered frames of a queue hold consecutive numbers. A
// frame never changes: a retry repeats it. After a failure nothing new goes out
// in the queue until all attempts of it have ended; then the frames go out again
// from the first. A number is used for another parcel only if no attempt that
// carried it is unaccounted for, or under a new epoch, which the broker puts
// behind everything that was sent before.
//
// A stock broker knows no numbers: there one frame is under way in a queue.
type Pipe struct {
	cfg    PipeConfig
	queues map[Queue]*pipeQueue
	order  []*pipeQueue // as they were met

	producer uint64
	epoch    uint32
	stock    bool
	fenced   bool
	want     bool // an epoch is needed before anything goes out
	anew     bool // the broker has forgotten the producer
	claiming bool
	claimAt  Time
	wait     time.Duration // before the next claim

	stopped map[string]bool // keys, by topic and key
	cause   any             // of being fenced
}

// Parcel is one message on its way.
type Parcel struct {
	Key      string // with its topic; empty: none
	Size     int
	Share    uint8 // parcels of the same value share a frame; 0: none does
	Oneway   bool  // it has no answer: it goes when all before it are answered
	Deadline Time
	Tries    int // frames it went out in
	Ref      any

	single bool // its shared frame was refused
	barred bool // an earlier one of its key was given up: it may be stored, but not sent
	told   bool // its end was told before the broker's word came
	maybe  bool // a stock broker may have stored it
}

// Frame is one request: stored whole or not at all.
type Frame struct {
	Queue    Queue
	Producer uint64 // 0: without numbers
	Epoch    uint32
	First    uint64
	Parcels  []*Parcel
	Ref      any // of the caller

	out     bool // an attempt is under way
	open    bool // an earlier attempt may still reach the broker
	shared  bool
	refused bool
	cause   any
}

type pipeQueue struct {
	id      Queue
	waiting []*Parcel
	frames  []*Frame // unanswered
	next    uint64   // number of the next new parcel
	stored  uint64   // below it everything is acknowledged or unanswered
	out     int      // attempts under way
	parcels int      // in frames
	retryAt Time
	wait    time.Duration
	cause   any // of the last failure
}

// NewPipe returns a pipe that has no identity yet.
func NewPipe(cfg PipeConfig) *Pipe {
	return &Pipe{cfg: cfg, queues: map[Queue]*pipeQueue{}, stopped: map[string]bool{}}
}

// PipeVerdict is what became of an attempt.
type PipeVerdict int

// The verdicts.
const (
	FrameStored   PipeVerdict = iota
	FrameUnsent               // it never left
	FrameBusy                 // refused for now: not stored
	FrameNoAnswer             // it may be stored, now or later
	FrameRefused              // refused for good: not stored
	FrameGap                  // not stored: the broker expects another number
	FrameUnknown              // not stored: the broker has forgotten the producer
	FrameFenced               // not stored: a newer epoch is there
)

// PipeActionKind says what the caller is to do.
type PipeActionKind int

// The kinds.
const (
	PipeSend   PipeActionKind = iota // Frame
	PipeClaim                        // ask for an epoch; Queues: of which to tell what is stored
	PipeStored                       // Frame is stored; Cause: what came with the answer
	PipeFound                        // Parcel is stored at Offset (-1: unknown)
	PipeFailed                       // Parcel is given up
	PipeLost                         // Queue: the broker lost the acknowledged numbers From up to To
)

// PipeAction is one thing to do.
type PipeAction struct {
	Kind     PipeActionKind
	Frame    *Frame
	Parcel   *Parcel
	Queue    Queue
	Queues   []Queue
	Producer uint64
	Epoch    uint32
	Offset   int64
	From, To uint64

	Why   PipeFailure
	Maybe bool // the parcel may be stored
	Cause any
}

// PipeFailure is why a parcel was given up.
type PipeFailure int

// The reasons.
const (
	ParcelRefused   PipeFailure = iota // Cause says how
	ParcelLate                         // its deadline passed
	ParcelStopped                      // an earlier one of its key was given up
	ParcelFenced                       // another producer has the name
	ParcelForgotten                    // the broker forgot the producer before it answered
	ParcelDropped                      // the producer was closed
)

// Add takes a parcel behind those added before it.
func (p *Pipe) Add(now Time, id Queue, m *Parcel, buf []PipeAction) []PipeAction {
	q := p.queues[id]
	if q == nil {
		q = &pipeQueue{id: id, wait: p.cfg.First}
		p.queues[id] = q
		p.order = append(p.order, q)
	}
	if buf, stopped := p.stop(m, buf); stopped {
		return buf
	}
	q.waiting = append(q.waiting, m)
	return buf
}

// Resume lets a key go on. Parcels of it that were added before are dealt with.
func (p *Pipe) Resume(key string) { delete(p.stopped, key) }

// Answered says what became of the attempt of f. next goes with FrameGap.
func (p *Pipe) Answered(now Time, f *Frame, v PipeVerdict, next uint64, cause any, buf []PipeAction) []PipeAction {
	q := p.queues[f.Queue]
	f.out = false
	q.out--
	if v != FrameStored {
		q.cause, q.retryAt = cause, now.Add(q.wait)
	}
	switch v {
	case FrameStored:
		q.wait = p.cfg.First
		return q.settle(f, cause, buf)
	case FrameNoAnswer:
		f.open = true
		q.wait = min(2*q.wait, p.cfg.Last)
	case FrameBusy, FrameUnsent:
		q.wait = min(2*q.wait, p.cfg.Last)
	case FrameRefused:
		f.refused, f.cause = true, cause
	case FrameGap:
		if next < q.stored {
			buf = append(buf, PipeAction{Kind: PipeLost, Queue: q.id, From: next, To: q.stored})
			q.stored = next
			p.want = true
		}
	case FrameUnknown:
		p.want, p.anew = true, true
	case FrameFenced:
		return p.fence(cause, buf)
	}
	return buf
}

// settle takes f off: it is stored.
func (q *pipeQueue) settle(f *Frame, answer any, buf []PipeAction) []PipeAction {
	i := slices.Index(q.frames, f)
	if i < 0 {
		return buf // it was given up
	}
	q.frames = slices.Delete(q.frames, i, i+1)
	q.parcels -= len(f.Parcels)
	if f.Producer != 0 {
		q.stored = max(q.stored, f.First+uint64(len(f.Parcels)))
	}
	return append(buf, PipeAction{Kind: PipeStored, Frame: f, Cause: answer})
}

// fence ends everything: the name is another's.
func (p *Pipe) fence(cause any, buf []PipeAction) []PipeAction {
	p.fenced, p.cause = true, cause
	return buf
}

// Drop gives up everything, now and to come.
func (p *Pipe) Drop(cause any, buf []PipeAction) []PipeAction {
	return p.end(ParcelDropped, cause, buf)
}

func (p *Pipe) end(why PipeFailure, cause any, buf []PipeAction) []PipeAction {
	for _, q := range p.order {
		for _, f := range q.frames {
			for _, m := range f.Parcels {
				if !m.told {
					buf = append(buf, PipeAction{Kind: PipeFailed, Parcel: m, Why: why, Maybe: f.open || f.out || m.maybe, Cause: cause})
				}
			}
		}
		for _, m := range q.waiting {
			buf = append(buf, PipeAction{Kind: PipeFailed, Parcel: m, Why: why, Maybe: m.maybe, Cause: cause})
		}
		q.frames, q.waiting, q.parcels = nil, nil, 0
	}
	return buf
}

// Idle reports whether nothing is waiting or under way.
func (p *Pipe) Idle() bool {
	for _, q := range p.order {
		if len(q.frames)+len(q.waiting) > 0 {
			return false
		}
	}
	return true
}
