// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"fmt"
	"io"
)

// maxBatch is how many bytes are collected before they are written.
const maxBatch = 1 << 20

// writer is what belongs to the writer's goroutine alone.
type writer struct {
	seq     uint64 // number of the last record prepared
	pos     int64  // end of what is written in the segment
	batch   []byte
	answers []prepared

	spares spares

	marked   uint64 // number in the last mark
	snapshot snapshots
}

type prepared struct {
	answer
	sync bool
}

func newWriter(seq uint64, pos int64) writer {
	return writer{
		seq: seq, pos: pos,
		spares:   spares{ready: make(chan spare, 1)},
		snapshot: snapshots{done: make(chan snapshotResult, 1)},
	}
}

// write is the writer's goroutine.
func (l *Log) write() {
	defer close(l.stop)
	var buf []*Record
	for open := true; open; {
		select {
		case <-l.queue.wake:
			buf, open = l.queue.take(buf)
			l.writeAll(buf)
			clear(buf)
		case <-l.mark:
			l.tryMark()
		case done := <-l.force:
			l.startSnapshot(done)
		case r := <-l.w.snapshot.done:
			l.endSnapshot(r)
		}
	}
}

// writeAll prepares records and writes them, and begins a snapshot if due.
func (l *Log) writeAll(records []*Record) {
	for _, r := range records {
		l.prepare(r)
		if len(l.w.batch) >= maxBatch {
			l.flush()
		}
	}
	l.flush()
	l.snapshotIfDue()
}

// prepare adds a record to the batch.
func (l *Log) prepare(r *Record) {
	w := &l.w
	if err := l.fenced(); err != nil {
		w.answers = append(w.answers, prepared{answer{0, err, r.Done}, false})
		return
	}
	before := len(w.batch)
	batch, at := begin(w.batch)
	batch, err := r.Prepare(batch, w.seq+1)
	payload := len(batch) - at - frameHeader
	w.batch = batch
	switch {
	case err != nil || payload == 0:
		w.batch = batch[:before]
		w.answers = append(w.answers, prepared{answer{w.seq, err, r.Done}, r.Sync})
		return
	case payload > MaxRecord:
		l.refuse(r, before, ErrTooLarge)
		return
	}
	if err := l.makeRoom(before); err != nil {
		l.refuse(r, len(w.batch)-payload-frameHeader, err)
		return
	}
	at = len(w.batch) - payload - frameHeader
	w.seq++
	w.batch = l.sum.finish(w.batch, at, frameRecord, w.seq, l.syncedNow())
	w.answers = append(w.answers, prepared{answer{w.seq, nil, r.Done}, r.Sync})
}

// refuse answers the record prepared last, whose frame begins at.
func (l *Log) refuse(r *Record, at int, err error) {
	l.m.Discard()
	l.w.batch = l.w.batch[:at]
	l.w.answers = append(l.w.answers, prepared{answer{l.w.seq, err, r.Done}, false})
}

// makeRoom begins a new segment if the last frame of the batch, without its
// padding, does not fit. The frames before it are written then, and the batch
// begins with it.
func (l *Log) makeRoom(at int) error {
	w := &l.w
	end := w.pos + int64(at+frameSize(len(w.batch)-at-frameHeader))
	if end <= l.o.SegmentSize || w.pos+int64(at) == fileHeader {
		return nil
	}
	rest := w.batch[at:]
	w.batch = w.batch[:at]
	l.flush()
	w.batch = append(w.batch[:0], rest...)
	if err := l.fenced(); err != nil {
		return err
	}
	return l.beginSegment(w.seq + 1)
}

// flush writes the batch, publishes it and answers.
func (l *Log) flush() {
	w := &l.w
	var err error
	if len(w.batch) > 0 {
		if err = l.writeBatch(); err == nil {
			l.m.Written(w.seq)
		}
	}
	l.answerAll(err, int64(len(w.batch)))
	w.batch = w.batch[:0]
	if cap(w.batch) > 2*maxBatch {
		w.batch = nil
	}
}

func (l *Log) writeBatch() error {
	w := &l.w
	n, err := l.file.WriteAt(w.batch, w.pos)
	if err == nil && n < len(w.batch) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return l.fail("write", l.name, fmt.Errorf("at byte %d: %w", w.pos, err))
	}
	w.pos += int64(n)
	return nil
}

// answerAll answers the records of the batch; those that asked for a sync
// become waiters of the syncer.
func (l *Log) answerAll(failed error, wrote int64) {
	w := &l.w
	due := make([]answer, 0, len(w.answers))
	l.mu.Lock()
	if failed == nil {
		l.written = w.seq
		l.tail += wrote
	}
	for _, a := range w.answers {
		if a.err == nil {
			a.err = failed
		}
		if a.sync && a.err == nil && a.seq > l.synced {
			if l.fence == nil {
				l.waiters = append(l.waiters, a.answer)
				continue
			}
			a.err = l.fence
		}
		due = append(due, a.answer)
	}
	waiting := len(w.answers) - len(due)
	l.mu.Unlock()
	l.answers.add(due...)
	clear(w.answers)
	w.answers = w.answers[:0]
	switch {
	case waiting > 0:
		poke(l.urgent)
	case wrote > 0 && failed == nil:
		poke(l.dirty)
	}
}

// tryMark writes a mark, if nothing was written since the last sync: without a
// record behind it nothing else would say that the last one was synced.
func (l *Log) tryMark() {
	l.mu.Lock()
	idle := l.fence == nil && l.synced == l.w.seq
	l.mu.Unlock()
	if idle {
		_ = l.writeMark() // a failure has fenced the log
	}
}

func (l *Log) writeMark() error {
	w := &l.w
	if w.marked == w.seq || w.pos+frameHeader > l.o.SegmentSize {
		return nil
	}
	b, at := begin(w.batch[:0])
	w.batch = l.sum.finish(b, at, frameMark, w.seq, l.syncedNow())
	err := l.writeBatch()
	w.batch = w.batch[:0]
	if err == nil {
		w.marked = w.seq
	}
	return err
}

func (l *Log) syncedNow() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.synced
}
