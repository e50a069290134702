// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

const (
	defaultMsgs  = 32
	defaultBytes = 256 * kib
	defaultScan  = 4096
	unitBatch    = 64 // units looked at in one step
)

// errIndexBad says that the queue index does not fit the log.
type errIndexBad struct{ file *indexFile }

func (e *errIndexBad) Error() string { return "queue index " + e.file.path + " is damaged" }

// read is one Read under way.
type read struct {
	c     *core
	q     *queue
	lim   ReadLimit
	match func(int64) bool
	res   ReadResult
	at    int64 // next offset to look at
	seen  int

	// Records that follow each other in the log are read at once.
	span  []spanUnit
	spans int // bytes in span
	start int // of this read's records in res.Records
}

type spanUnit struct {
	unit
	offset int64
}

func (c *core) read(topic string, id int32, from int64, lim ReadLimit, match func(int64) bool) (ReadResult, error) {
	def(&lim.MaxMsgs, defaultMsgs)
	def(&lim.MaxBytes, defaultBytes)
	def(&lim.MaxScan, defaultScan)
	q := c.queues.get(topic, id)
	if q == nil {
		return ReadResult{Status: NoMatchedQueue}, nil
	}
	res, ok := outOfRange(q, from)
	if !ok {
		return res, nil
	}
	var fixed *indexFile
	for {
		r := &read{c: c, q: q, lim: lim, match: match, at: from, res: res}
		r.res.Records, r.start = lim.Buf, len(lim.Buf)
		err := r.run()
		var bad *errIndexBad
		if errors.As(err, &bad) && bad.file != fixed {
			if err := c.index.fix(request{queue: bad.file}); err != nil {
				return ReadResult{}, err
			}
			fixed = bad.file
			continue
		}
		if err != nil {
			c.readErrs.Add(1)
			return ReadResult{}, fmt.Errorf("read %s queue %d at %d: %w", topic, id, r.at, err)
		}
		return r.res, nil
	}
}

// outOfRange answers a read that cannot find anything; ok means that it may.
func outOfRange(q *queue, from int64) (res ReadResult, ok bool) {
	lo, hi := q.bounds()
	res = ReadResult{Min: lo, Max: hi, Next: from}
	switch {
	case hi == 0:
		res.Status, res.Next = NoMessageInQueue, 0
	case from < lo:
		res.Status, res.Next = OffsetTooSmall, lo
	case from == hi:
		res.Status = OffsetOverflowOne
	case from > hi:
		res.Status, res.Next = OffsetOverflowBadly, hi
	default:
		return res, true
	}
	return res, false
}

func (r *read) run() error {
	var arr [unitBatch]unit
	for r.at < r.res.Max && r.seen < r.lim.MaxScan && r.res.Count+len(r.span) < r.lim.MaxMsgs {
		base, units, err := r.units(arr[:0])
		if err != nil {
			return r.partly(err)
		}
		if base < 0 || base >= r.res.Max {
			r.res.Holes += r.res.Max - r.at
			r.at = r.res.Max
			break
		}
		r.res.Holes += base - r.at
		r.at = base
		more, err := r.take(units)
		if err != nil {
			return r.partly(err)
		}
		if !more {
			break
		}
	}
	if err := r.flush(); err != nil {
		return r.partly(err)
	}
	r.finish()
	return nil
}

func (r *read) finish() {
	r.res.Next = r.at
	r.res.Status = Found
	if r.res.Count == 0 {
		r.res.Status = NoMatchedMessage
	}
}

// partly answers with what was read before the error, if that is anything: the
// next read starts at the place that failed.
func (r *read) partly(err error) error {
	if r.res.Count == 0 {
		return err
	}
	if len(r.span) > 0 {
		r.at = r.span[0].offset
	}
	r.finish()
	return nil
}

// units returns the units from the next message on.
func (r *read) units(buf []unit) (base int64, units []unit, err error) {
	base, units, disk := r.q.find(r.at, buf)
	if base < 0 || len(units) > 0 {
		return base, units, nil
	}
	n := min(disk.end()-base, int64(cap(buf)))
	if r.match == nil {
		n = min(n, int64(r.lim.MaxMsgs-r.res.Count-len(r.span)))
	}
	units, err = r.c.unitsOf(&disk, base, buf[:n])
	return base, units, err
}

// unitsOf reads units of an extent, from an offset on.
func (c *core) unitsOf(e *extent, from int64, out []unit) ([]unit, error) {
	var arr [unitBatch * unitSize]byte
	b := arr[:len(out)*unitSize]
	_, err := c.files.readAt(e.file.path, b, e.pos+(from-e.base)*unitSize)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF) {
		return nil, &errIndexBad{e.file}
	}
	if err != nil {
		return nil, fmt.Errorf("read queue index: %w", err)
	}
	for i := range out {
		u, ok := decodeUnit(b[i*unitSize:], from+int64(i))
		if !ok {
			return nil, &errIndexBad{e.file}
		}
		out[i] = u
	}
	return out, nil
}

// take goes through units and reports whether there is room for more.
func (r *read) take(units []unit) (more bool, err error) {
	for i := range units {
		u := &units[i]
		if r.at >= r.res.Max || r.seen >= r.lim.MaxScan {
			return false, nil
		}
		if r.match != nil && !r.match(u.tag) {
			r.at++
			r.seen++
			continue
		}
		bytes := len(r.res.Records) - r.start + r.spans
		if count := r.res.Count + len(r.span); count >= r.lim.MaxMsgs || count > 0 && bytes+int(u.size) > r.lim.MaxBytes {
			return false, nil
		}
		if err := r.add(u); err != nil {
			return false, err
		}
		r.at++
		r.seen++
	}
	return true, nil
}

// add puts a message on the span, after reading the span if it does not follow.
func (r *read) add(u *unit) error {
	if n := len(r.span); n > 0 && r.span[n-1].phys+int64(r.span[n-1].size) != u.phys {
		if err := r.flush(); err != nil {
			return err
		}
	}
	r.span = append(r.span, spanUnit{*u, r.at})
	r.spans += int(u.size)
	return nil
}

// flush reads the span.
func (r *read) flush() error {
	if len(r.span) == 0 {
		return nil
	}
	at := len(r.res.Records)
	out, cold, err := r.c.readLog(r.res.Records, r.span[0].phys, r.spans)
	if err != nil {
		return err
	}
	if err := r.verify(out[at:]); err != nil {
		return err
	}
	r.res.Records = out
	r.res.Cold = r.res.Cold || cold
	r.res.Count += len(r.span)
	r.span, r.spans = r.span[:0], 0
	return nil
}

// verify makes sure that the records are the ones the index meant.
func (r *read) verify(b []byte) error {
	be := binary.BigEndian
	for i := range r.span {
		u := &r.span[i]
		if be.Uint32(b) != u.size || int64(be.Uint64(b[28:])) != u.phys ||
			be.Uint32(b[12:]) != uint32(r.q.id) || int64(be.Uint64(b[20:])) != u.offset {
			return r.misplaced(u)
		}
		b = b[u.size:]
	}
	return nil
}

// misplaced finds out which index file led astray.
func (r *read) misplaced(u *spanUnit) error {
	_, _, disk := r.q.find(u.offset, nil)
	if disk.file != nil {
		return &errIndexBad{disk.file}
	}
	return fmt.Errorf("record at %d is not offset %d of the queue: %w", u.phys, u.offset, ErrDamaged)
}

// readLog appends a range of the log to dst, from memory or checked from disk.
func (c *core) readLog(dst []byte, pos int64, n int) (out []byte, cold bool, err error) {
	if out, ok := c.tail.append(dst, pos, n); ok {
		return out, false, nil
	}
	g := c.segs.at(pos)
	if g == nil || pos+int64(n) > g.end() {
		return dst, true, ErrNotFound
	}
	if err := c.check.check(g, pos, pos+int64(n), c.pos.committed.Load()); err != nil {
		return dst, true, err
	}
	at := len(dst)
	if cap(dst)-at < n {
		dst = append(make([]byte, 0, max(2*cap(dst), at+n)), dst...)
	}
	if _, err := c.files.readAt(c.segs.logPath(g.base), dst[at:at+n], pos-g.base); err != nil {
		return dst[:at], true, fmt.Errorf("read log: %w", err)
	}
	return dst[:at+n], true, nil
}
