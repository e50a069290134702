// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/orderlymq/orderly/internal/msg"
)

// writer is the one goroutine that writes the log. It alone gives out offsets,
// so that the order of a queue is the order of the log.
type writer struct {
	c        *core
	cur      *active
	pos      int64  // next log byte
	framePos int64  // next frame slot
	slots    []byte // buffer: a frame
	entries  []entry
	marks    []floorEntry
}

func (w *writer) run() {
	defer w.finish()
	for w.c.in.wait() {
		w.gather()
		items := w.c.in.take()
		for len(items) > 0 {
			n, size := w.cut(items)
			w.process(items[:n], size)
			items = items[n:]
		}
	}
}

// gather lets a batch grow as long as that costs its callers nothing: in Synced
// mode while a sync is under way, which they have to wait for anyhow, and in any
// mode by one turn of the scheduler, in which callers that are ready to append
// do so.
func (w *writer) gather() {
	for w.c.syncing.Load() > 0 {
		if _, n, closed := w.c.in.waiting(); n >= bigBatch || closed {
			break
		}
		select {
		case <-w.c.synchro:
		case <-w.c.in.big:
		}
	}
	for n, turn := 0, 0; turn < 4; turn++ {
		have, _, _ := w.c.in.waiting()
		if have == n {
			return
		}
		n = have
		runtime.Gosched()
	}
}

// finish hands the end of the stream on.
func (w *writer) finish() {
	if w.c.o.Mode == Synced {
		close(w.c.synced)
	} else {
		close(w.c.done)
	}
}

// cut returns how many of the items go into one batch.
func (w *writer) cut(items []*Append) (n, size int) {
	limit := min(w.c.o.MaxBatch, int(w.c.segs.size-blankHead))
	for n < min(len(items), maxEntries) && (n == 0 || size+items[n].size <= limit) {
		size += items[n].size
		n++
	}
	return n, size
}

// process writes one batch, or as much of it as fits the segment and the rest
// to the next one.
func (w *writer) process(items []*Append, size int) {
	for len(items) > 0 {
		n, part := w.fitting(items, size)
		b := <-w.c.batches
		b.appends = append(b.appends, items[:n]...)
		b.bytes = int64(part)
		b.err = w.write(b, part)
		w.pass(b)
		items = items[n:]
		size -= part
	}
}

// fitting returns how many items go into the active segment; if not even one
// does, all of them go to the next.
func (w *writer) fitting(items []*Append, size int) (n, part int) {
	left := int(w.cur.end()-w.pos) - blankHead
	if size <= left {
		return len(items), size
	}
	for n < len(items) && part+items[n].size <= left {
		part += items[n].size
		n++
	}
	if n == 0 {
		return len(items), size
	}
	return n, part
}

// pass hands a batch to the next stage.
func (w *writer) pass(b *batch) {
	if w.c.o.Mode == Synced {
		w.c.syncing.Add(1)
		w.c.synced <- b
		return
	}
	if len(b.segs) > 0 {
		w.c.lag.wrote(b)
	}
	w.c.done <- b
}

// write makes the batch's bytes and writes them with their frame.
func (w *writer) write(b *batch, size int) error {
	if err := w.c.fenceErr(false); err != nil {
		return err
	}
	if int64(size)+blankHead > w.cur.end()-w.pos {
		if err := w.roll(b); err != nil {
			return err
		}
	}
	slots := 1 + entrySlots(numbered(b.appends))
	if size > 0 {
		if err := w.c.fill.prepare(w.pos+int64(size), w.framePos+int64(slots)*slotSize); err != nil {
			return w.refuse(err)
		}
		if err := w.reserveMarks(b); err != nil {
			return err
		}
	}
	b.after = w.pos
	if size = w.assign(b); size == 0 {
		return nil // nothing to write: marks, and what its turn has refused
	}
	buf := w.c.tail.alloc(w.pos, size)
	if err := w.encode(b, buf); err != nil {
		return w.fail(err)
	}
	f := frame{
		kind: frameBatch, slots: uint16(1 + entrySlots(len(w.entries))), numbered: len(w.entries) > 0,
		start: w.pos, length: uint32(size), records: uint32(len(b.told)),
		stamp: b.stamp, durable: w.c.pos.synced.Load(), dataCRC: crcOf(buf),
	}
	if err := w.put(b, &f, buf); err != nil {
		return w.fail(err)
	}
	return nil
}

// refuse turns the filler's error into the append's: nothing was written yet.
func (w *writer) refuse(err error) error {
	if errors.Is(err, ErrDiskFull) || errors.Is(err, ErrClosed) {
		return err
	}
	w.c.fence(err)
	return w.c.fenceErr(false)
}

// fail fences the log with the batch half written.
func (w *writer) fail(err error) error {
	w.c.fence(err)
	return w.c.fenceErr(true)
}

// numbered counts the appends with numbers.
func numbered(appends []*Append) (n int) {
	for _, a := range appends {
		if a.Numbers.Producer != 0 {
			n++
		}
	}
	return n
}

// assign gives out offsets to what its turn lets in, and returns how many bytes
// that is.
func (w *writer) assign(b *batch) (size int) {
	for _, a := range b.appends {
		a.out = nil
		if a.Turn != nil {
			next := int64(0)
			if len(a.Msgs) > 0 {
				next = a.prep[0].q.nextOffset()
			}
			if a.out = a.Turn(a, next); a.out != nil {
				continue
			}
		}
		for i := range a.Msgs {
			a.Msgs[i].QueueOffset = 0
			if isIndexed(a.Msgs[i].SysFlag) {
				a.Msgs[i].QueueOffset = a.prep[i].q.assign()
			}
		}
		size += a.size
	}
	return size
}

// encode makes the records in buf.
func (w *writer) encode(b *batch, buf []byte) error {
	b.stamp = w.c.nextStamp()
	b.assigned = true
	w.entries = w.entries[:0]
	at := 0
	for _, a := range b.appends {
		if a.out != nil {
			continue
		}
		if a.Numbers.Producer != 0 {
			w.entries = append(w.entries, entry{Numbers: a.Numbers, count: uint32(len(a.Msgs)), at: uint32(at)})
		}
		for i := range a.Msgs {
			m := &a.Msgs[i]
			p := &a.prep[i]
			m.PhysicalOffset = w.pos + int64(at)
			m.StoreTimestamp = b.stamp
			out, err := msg.AppendRecord(buf[at:at], m)
			if err != nil || len(out) != int(m.StoreSize) {
				return fmt.Errorf("encode message %d of %s: %d bytes for %d: changed after Append? %w", i, m.Topic, len(out), m.StoreSize, err)
			}
			at += len(out)
			b.note(m, p, isIndexed(m.SysFlag))
		}
	}
	w.c.pos.assigned.Store(w.pos + int64(at))
	return nil
}

// note keeps what the completer needs of a message.
func (b *batch) note(m *msg.Message, p *prep, indexed bool) {
	b.told = append(b.told, Committed{
		Topic: p.q.topic, Queue: m.QueueID, Offset: m.QueueOffset, Physical: m.PhysicalOffset,
		Size: m.StoreSize, TagHash: p.tag, StoreTime: m.StoreTimestamp,
	})
	if indexed {
		b.units = append(b.units, placedUnit{q: p.q, offset: m.QueueOffset, u: unit{
			phys: m.PhysicalOffset, tag: p.tag, stamp: m.StoreTimestamp, key: p.key, size: uint32(m.StoreSize),
		}})
	}
}

// isIndexed tells messages from the two transaction marks that take no place in
// a queue.
func isIndexed(sysFlag int32) bool {
	kind := sysFlag & msg.FlagTransactionMask
	return kind != msg.FlagPrepared && kind != msg.FlagRollback
}

// put writes a frame and its bytes, and moves on.
func (w *writer) put(b *batch, f *frame, data []byte) error {
	if _, err := w.cur.log.WriteAt(data, f.start-w.cur.base); err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	w.slots = append(w.slots[:0], make([]byte, slotSize)...)
	f.encode(w.slots)
	if f.numbered {
		// Entries first: whoever finds the head after a kill finds them too.
		w.slots = appendEntries(w.slots, w.entries)
		if _, err := w.cur.frames.WriteAt(w.slots[slotSize:], w.framePos+slotSize); err != nil {
			return fmt.Errorf("write frame's entries: %w", err)
		}
	}
	if _, err := w.cur.frames.WriteAt(w.slots[:slotSize], w.framePos); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	b.last = frameRef{pos: w.framePos, crc: f.dataCRC}
	w.pos = f.end()
	w.framePos += int64(f.slots) * slotSize
	b.segs = append(b.segs, w.cur)
	b.end = syncMark{pos: w.pos, framePos: w.framePos}
	w.cur.newest.Store(f.stamp)
	w.c.pos.written.Store(w.pos)
	return nil
}

// roll ends the active segment and goes on to the next.
func (w *writer) roll(b *batch) error {
	if err := w.c.fill.prepare(w.pos+blankHead, w.framePos+slotSize); err != nil {
		return w.refuse(err)
	}
	next, err := w.c.fill.peekNext()
	if err != nil {
		return w.refuse(err)
	}
	left := w.cur.end() - w.pos
	blank := msg.AppendBlank(make([]byte, 0, blankHead), int32(left))
	f := frame{
		kind: frameEnd, slots: 1, start: w.pos, length: uint32(left),
		stamp: w.c.lastStamp(), durable: w.c.pos.synced.Load(), dataCRC: crcOf(blank),
	}
	if err := w.put(b, &f, blank); err != nil {
		return w.fail(err)
	}
	b.retire, b.rolled = w.cur, b.last
	w.c.pos.assigned.Store(w.pos)
	w.c.segs.add(next.segment)
	w.c.fill.enter(next)
	w.c.active.Store(next)
	w.cur, w.framePos = next, 0
	b.end.framePos = 0
	return nil
}

// nextStamp returns the store time of the next batch: the clock, unless it has
// gone back.
func (c *core) nextStamp() int64 {
	now := c.o.Clock().UnixMilli()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stamp = max(c.stamp, now)
	return c.stamp
}

func (c *core) lastStamp() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stamp
}

// assign gives out the next offset.
func (q *queue) assign() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.next
	q.next++
	return n
}
