// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/orderlymq/orderly/internal/msg"
)

// core is a store between two recoveries: Reopen replaces it.
type core struct {
	o      *Options
	segs   *segments
	files  *fileCache
	check  *verifier
	tail   *tail
	queues *table
	floors *floorsFile
	ckpt   *ckptFile
	index  *indexer

	in      *intake
	fill    *filler
	batches chan *batch   // free ones; bounds how many are under way
	synced  chan *batch   // from the writer, in Synced mode
	done    chan *batch   // to the completer
	syncing atomic.Int32  // batches between writer and completer, in Synced mode
	synchro chan struct{} // tells the writer when there are fewer
	lag     *lag          // Async mode: what is not synced

	// The stages. Each is moved by one goroutine.
	pos struct{ assigned, written, synced, committed, dispatched atomic.Int64 }

	mu       sync.Mutex
	mark     syncMark // matches pos.synced, with its place among the frames
	fenced   *fenceError
	stamp    int64 // newest store time given out; moved by the writer
	diskLow  atomic.Bool
	usage    atomic.Pointer[diskState]
	readErrs atomic.Int64

	active  atomic.Pointer[active] // the segment being written
	repairs []Repair
	keeper  *keeper
	pipe    sync.WaitGroup // writer, syncer, completer: end when the intake is empty
	back    sync.WaitGroup // the others: end with stop
	stop    chan struct{}
}

// syncMark is a place that is durable: log position and frame position.
type syncMark struct {
	pos      int64
	framePos int64
}

// batch is what goes through the pipeline as one.
type batch struct {
	appends  []*Append
	told     []Committed
	units    []placedUnit
	bytes    int64 // of the appends, for the intake
	segs     []*active
	end      syncMark
	after    int64 // where the log ended when the batch was made
	stamp    int64
	last     frameRef // the batch's frame
	retire   *active  // a segment that is full: its files can be closed once synced
	rolled   frameRef // the last frame of that segment
	err      error
	assigned bool // offsets were given out
}

type placedUnit struct {
	q      *queue
	offset int64
	u      unit
}

func (b *batch) reset() {
	clear(b.appends)
	clear(b.told)
	clear(b.units)
	clear(b.segs)
	*b = batch{appends: b.appends[:0], told: b.told[:0], units: b.units[:0], segs: b.segs[:0]}
}

// pipelineDepth bounds the batches between writer and completer.
const pipelineDepth = 8

// start runs the goroutines on a recovered core.
func (c *core) start(w *writer) {
	c.back.Go(c.fill.run)
	c.pipe.Go(w.run)
	if c.o.Mode == Synced {
		c.pipe.Go(c.runSyncer)
	} else {
		c.back.Go(c.runLagSyncer)
	}
	c.pipe.Go(c.runCompleter)
	c.back.Go(c.index.run)
	c.back.Go(c.keeper.run)
}

// close completes what was taken, makes everything durable and says so.
func (c *core) close() error {
	c.in.close(ErrClosed)
	c.pipe.Wait()
	select {
	case <-c.stop: // halted by a Reopen that failed
		c.release()
		return c.fenceErr(false)
	default:
	}
	close(c.stop)
	c.back.Wait()
	c.index.finish()
	p := c.keeper.claims()
	p.clean = !p.fenced && p.synced == c.pos.dispatched.Load()
	err := c.ckpt.commit(p)
	if p.fenced {
		err = errors.Join(err, c.fenceErr(false))
	}
	err = errors.Join(err, c.ckpt.close(), c.floors.close())
	for _, a := range []*active{c.active.Load(), c.fill.next} {
		if a != nil {
			err = errors.Join(err, a.close())
		}
	}
	c.files.closeAll()
	return err
}

// append checks and enqueues a.
func (c *core) append(ctx context.Context, a *Append) error {
	if err := c.prepare(a); err != nil {
		return err
	}
	if len(a.Msgs) == 0 {
		return c.in.put(ctx, a) // it needs no room
	}
	if c.diskLow.Load() {
		return ErrDiskFull
	}
	if c.index.stuck.Load() {
		return c.index.stuckErr()
	}
	return c.in.put(ctx, a)
}

// prepare works out what can be worked out before the writer's turn.
func (c *core) prepare(a *Append) error {
	if len(a.Msgs) == 0 && a.Turn != nil {
		a.prep, a.size = nil, 0
		return nil
	}
	if len(a.Msgs) == 0 {
		return fmt.Errorf("append without messages: %w", ErrInvalid)
	}
	if len(a.Msgs) == 1 {
		a.prep = a.prep1[:]
	} else {
		a.prep = make([]prep, len(a.Msgs))
	}
	a.size = 0
	for i := range a.Msgs {
		m := &a.Msgs[i]
		if !m.StoreHost.IsValid() {
			m.StoreHost = c.o.StoreHost
		}
		n, err := msg.RecordSize(m)
		if err != nil {
			return fmt.Errorf("append message %d: %w: %w", i, ErrInvalid, err)
		}
		if n > maxRecord || m.QueueID < 0 {
			return fmt.Errorf("append message %d of %d bytes to queue %d: %w", i, n, m.QueueID, ErrTooLarge)
		}
		m.StoreSize = int32(n)
		a.size += n
		if a.size > c.maxAppend() {
			return fmt.Errorf("append of more than %d bytes: %w", c.maxAppend(), ErrTooLarge)
		}
	}
	var q *queue
	for i := range a.Msgs {
		m := &a.Msgs[i]
		if q == nil || q.id != m.QueueID || q.topic != m.Topic {
			q = c.queues.make(m.Topic, m.QueueID)
		}
		a.prep[i] = hashes(m.Properties)
		a.prep[i].q = q
	}
	return nil
}

// hashes finds tag and ordering key in one go, by the rules of msg.Message.
func hashes(properties string) (p prep) {
	var tag, key, goKey string
	for name, value := range msg.Properties(properties) {
		switch name {
		case msg.PropTags:
			tag = value
		case msg.PropShardingKey:
			key = value
		case msg.PropShardingKeyGo:
			goKey = value
		}
	}
	if key == "" {
		key = goKey
	}
	p.tag = msg.TagHash(tag)
	if key != "" {
		p.key = msg.KeyHash(key)
	}
	return p
}

// maxAppend leaves room for the filler at a segment's end.
func (c *core) maxAppend() int { return min(c.o.MaxAppend, int(c.segs.size-blankHead)) }

// fence stops all writing for good: nothing that is not complete will be
// acknowledged.
func (c *core) fence(err error) {
	c.mu.Lock()
	first := c.fenced == nil
	if first {
		c.fenced = &fenceError{cause: err}
	}
	c.mu.Unlock()
	if first {
		c.in.close(&fenceError{cause: err})
		c.o.Logger.Error("store: log is fenced", "error", err)
		c.keeper.poke()
	}
}

// fenceErr returns why the log is fenced; unknown tells what it means for an
// append that was on its way.
func (c *core) fenceErr(unknown bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fenced == nil {
		return nil
	}
	return &fenceError{cause: c.fenced.cause, unknown: unknown}
}

func (c *core) setSynced(m syncMark) {
	c.mu.Lock()
	c.mark = m
	c.mu.Unlock()
	c.pos.synced.Store(m.pos)
	if c.o.Mode == Async {
		poke(c.index.wake) // runs wait for this
	}
}

func (c *core) syncedMark() (syncMark, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mark, c.fenced != nil
}

// runCompleter completes batches in log order.
func (c *core) runCompleter() {
	for b := range c.done {
		if b.end.pos > 0 && !errors.Is(b.err, ErrFenced) {
			c.publish(b) // a refused batch may still have ended a segment
		}
		for _, a := range b.appends {
			if a.Done != nil {
				a.Done(a, cmp.Or(b.err, a.out))
			}
		}
		if b.err == nil && c.o.OnCommit != nil && len(b.told) > 0 {
			c.o.OnCommit(b.told)
		}
		c.in.done(b.bytes)
		b.reset()
		c.batches <- b
	}
}

// publish makes a batch readable.
func (c *core) publish(b *batch) {
	c.pos.committed.Store(b.end.pos)
	for i := range b.units {
		p := &b.units[i]
		if p.q.push(p.offset, p.u) {
			c.index.touch(p.q)
		}
	}
	c.pos.dispatched.Store(b.end.pos)
	c.index.advance(b)
}

// positions returns how far each stage has come.
func (c *core) positions() Positions {
	p := Positions{
		Assigned: c.pos.assigned.Load(), Written: c.pos.written.Load(), Synced: c.pos.synced.Load(),
		Committed: c.pos.committed.Load(), Dispatched: c.pos.dispatched.Load(), KeyIndexed: c.index.keyed(),
	}
	if l := c.segs.snapshot(); len(l) > 0 {
		p.Start = l[0].base
	}
	return p
}
