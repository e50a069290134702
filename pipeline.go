// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
)

// pipeline drives the pipe of one producer to one broker. Its goroutine owns the
// pipe and ends with the producer.
type pipeline struct {
	p      *Producer
	broker string
	inbox  *mailbox[pipeEvent]

	core    *order.Pipe
	acts    []order.PipeAction
	causes  map[string]error // first failures of the keys that core holds stopped
	tellers map[Queue]*teller
}

type pipeEventKind int

const (
	pipeAdd pipeEventKind = iota
	pipeAnswer
	pipeGrant
	pipeResume
)

type pipeEvent struct {
	kind    pipeEventKind
	o       *outgoing
	frame   *order.Frame
	verdict order.PipeVerdict
	next    uint64
	resp    *wire.Command
	status  SendStatus
	err     error
	key     string
	grant   order.PipeGrant
}

// Sizes of what shares a frame.
const (
	sharedBytes = 1 << 20
	shareKeyed  = 1
	shareChosen = 2
)

func newPipeline(p *Producer, broker string) *pipeline {
	return &pipeline{
		p: p, broker: broker, inbox: newMailbox[pipeEvent](), causes: map[string]error{}, tellers: map[Queue]*teller{},
		core: order.NewPipe(order.PipeConfig{
			MaxBytes: sharedBytes, Patience: p.cfg.AttemptTimeout, First: firstRetry, Last: lastRetry, Continue: p.cfg.OnFailure == Continue,
		}),
	}
}

func (l *pipeline) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if at := l.core.Next(); at != order.Never {
			timer.Reset(at.Sub(l.p.c.now()))
		} else {
			timer.Stop()
		}
		select {
		case <-l.inbox.wake:
		case <-timer.C:
		case <-l.p.ctx.Done():
			l.end()
			return
		}
		for _, e := range l.inbox.take() {
			l.take(&e)
		}
		l.acts = l.core.Pump(l.p.c.now(), l.acts)
		l.carryOut()
	}
}

// end gives up what is left, and what was posted and not seen.
func (l *pipeline) end() {
	for _, e := range l.inbox.close() {
		l.take(&e)
	}
	l.acts = l.core.Drop(context.Cause(l.p.ctx), l.acts)
	l.carryOut()
}

func (l *pipeline) take(e *pipeEvent) {
	now := l.p.c.now()
	switch e.kind {
	case pipeAdd:
		q := order.Queue{Topic: e.o.queue.Topic, ID: int32(e.o.queue.ID)}
		l.acts = l.core.Add(now, q, &e.o.parcel, l.acts)
	case pipeResume:
		delete(l.causes, e.key)
		l.core.Resume(e.key)
	case pipeAnswer:
		var cause any
		if cause = e.err; e.verdict == order.FrameStored {
			cause = l.receipts(e)
		}
		l.acts = l.core.Answered(now, e.frame, e.verdict, e.next, cause, l.acts)
	case pipeGrant:
		l.granted(now, e)
	}
}

// carryOut does what the pipe says. The connection is taken once for all frames,
// so that they stand on it in order.
func (l *pipeline) carryOut() {
	for len(l.acts) > 0 {
		acts := l.acts
		l.acts = nil
		var conn *transport.Conn
		var connErr error
		for i := range acts {
			a := &acts[i]
			switch a.Kind {
			case order.PipeSend:
				if conn == nil && connErr == nil {
					conn, connErr = l.conn()
				}
				l.send(conn, connErr, a.Frame)
			case order.PipeClaim:
				claim := *a
				l.p.wg.Go(func() { l.inbox.post(l.claim(l.p.ctx, claim)) })
			case order.PipeStored:
				l.stored(a)
			case order.PipeFound:
				l.found(a)
			case order.PipeFailed:
				l.failed(a)
			case order.PipeLost:
				l.lost(a)
			}
		}
		clear(acts)
		if l.acts == nil {
			l.acts = acts[:0]
			return
		}
	}
}

func (l *pipeline) conn() (*transport.Conn, error) {
	b := l.p.c.broker(l.broker)
	if b == nil {
		return nil, ErrClosed
	}
	addr, err := b.address()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(l.p.ctx, l.p.cfg.AttemptTimeout)
	defer cancel()
	return l.p.c.pool.Get(ctx, addr)
}

// frameOf is what a frame travels as.
type frameOf struct {
	q    Queue
	outs []*outgoing
	one  [1]*outgoing
	body []byte // of a shared frame, made once
}

func (l *pipeline) send(conn *transport.Conn, err error, f *order.Frame) {
	fo, _ := f.Ref.(*frameOf)
	if fo == nil {
		fo = &frameOf{q: Queue{Topic: f.Queue.Topic, Broker: l.broker, ID: int(f.Queue.ID)}}
		fo.outs = fo.one[:0]
		for _, m := range f.Parcels {
			fo.outs = append(fo.outs, m.Ref.(*outgoing))
		}
		f.Ref = fo
	}
	if err != nil {
		l.answered(pipeEvent{frame: f, verdict: order.FrameUnsent, err: err})
		return
	}
	cmd, err := l.p.frameCommand(f, fo)
	if err != nil {
		l.answered(pipeEvent{frame: f, verdict: order.FrameRefused, err: err})
		return
	}
	if f.Parcels[0].Oneway {
		e := pipeEvent{frame: f}
		if e.err = sendOneway(conn, cmd); e.err != nil {
			e.verdict = order.FrameUnsent
		}
		l.answered(e)
		return
	}
	begun := time.Now()
	b := l.p.c.broker(l.broker)
	conn.CallAsync(cmd, begun.Add(l.p.cfg.AttemptTimeout), func(resp *wire.Command, err error) {
		if b != nil {
			b.heard(conn, err)
		}
		if err == nil {
			l.p.health.answered(l.broker, time.Since(begun))
		} else {
			l.p.health.failed(l.broker)
		}
		l.answered(verdictOf(conn, cmd, f, resp, err))
	})
}

// answered posts what became of an attempt.
func (l *pipeline) answered(e pipeEvent) {
	e.kind = pipeAnswer
	if e.err != nil {
		l.p.c.log.Debug("send failed", "broker", l.broker, "topic", e.frame.Queue.Topic, "queue", e.frame.Queue.ID,
			"messages", len(e.frame.Parcels), "err", e.err)
		if e.verdict == order.FrameUnsent || e.verdict == order.FrameNoAnswer || e.verdict == order.FrameBusy {
			l.p.c.routes.suspect(e.frame.Queue.Topic)
		}
	}
	l.inbox.post(e)
}

// teller runs the callbacks of a queue one after the other, so that neither the
// pipeline nor a connection waits for the application.
type teller struct {
	p       *Producer
	mu      sync.Mutex
	jobs    []*job
	running bool
}

func (l *pipeline) tell(q Queue, j *job) {
	t := l.tellers[q]
	if t == nil {
		t = &teller{p: l.p}
		l.tellers[q] = t
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.jobs = append(t.jobs, j)
	if !t.running {
		t.running = true
		go t.run() // ends before the sends of the producer count as settled
	}
}

func (t *teller) run() {
	for {
		t.mu.Lock()
		jobs := t.jobs
		if t.jobs = nil; len(jobs) == 0 {
			t.running = false
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		for _, j := range jobs {
			t.p.report(j)
			t.p.settled(j)
		}
	}
}

// mayHaveLeft tells whether a call that failed may reach the peer.
func mayHaveLeft(err error) bool { return !errors.Is(err, transport.ErrNotSent) }
