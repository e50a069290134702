// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/vfs"
)

// Finding is something that Verify does not like.
type Finding struct {
	Kind     FindingKind `json:"kind"`
	File     string      `json:"file"`
	From, To int64       // log range
	What     string      `json:"what"`
}

// FindingKind says what a finding means.
type FindingKind string

const (
	// Damage: messages cannot be trusted or are lost.
	Damage FindingKind = "damage"
	// BadIndex: an index does not fit the log; it is rebuilt when it is read, or
	// at a start once it has been removed.
	BadIndex FindingKind = "index"
	// Note: nothing is lost, but it may be good to know.
	Note FindingKind = "note"
)

// Verification is the result of Verify.
type Verification struct {
	Messages int64     `json:"messages"`
	Bytes    int64     `json:"bytes"`
	End      int64     `json:"end"`
	Findings []Finding `json:"findings"`
}

// OK reports whether nothing was found that needs doing.
func (v *Verification) OK() bool {
	return !slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Kind != Note })
}

// maxFindings keeps a store full of damage from filling the memory.
const maxFindings = 1000

// Verify reads the whole store, running or not, and compares everything with
// everything: check sums, records, the order of each queue, both indexes.
// progress, if not nil, is told how many bytes of the log are done.
func Verify(ctx context.Context, fsys vfs.FS, dir string, progress func(done, total int64)) (*Verification, error) {
	x, err := openOffline(ctx, fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("verify store: %w", err)
	}
	defer x.close()
	v := &verify{x: x, next: map[QueueID]int64{}}
	if progress == nil {
		progress = func(int64, int64) {}
	}
	total := int64(0)
	for i := range x.frames {
		total += x.frames[i].end - x.frames[i].g.base
	}
	v.files()
	for i := range x.frames {
		if err := v.segment(ctx, &x.frames[i]); err != nil {
			return nil, fmt.Errorf("verify store: %w", err)
		}
		progress(v.out.Bytes, total)
	}
	return &v.out, nil
}

type verify struct {
	x     *offline
	out   Verification
	next  map[QueueID]int64 // next offset of each queue, as far as seen
	stamp int64

	// Of the segment under way:
	units map[QueueID][]memExtent
	keys  []keyRef
	bad   bool
}

func (v *verify) find(kind FindingKind, file string, from, to int64, format string, args ...any) {
	if len(v.out.Findings) < maxFindings {
		v.out.Findings = append(v.out.Findings, Finding{kind, file, from, to, fmt.Sprintf(format, args...)})
	}
}

// files looks at the small files.
func (v *verify) files() {
	x := v.x
	if !x.hasCk {
		v.find(Note, x.dir+"/"+ckptFileName, 0, 0, "no checkpoint is readable: the next start reads the whole log")
	}
	if _, end, err := readFloors(x.fs, x.dir, x.ck.floors); err != nil {
		v.find(Damage, x.dir+"/"+floorsName, 0, 0, "%v", err)
	} else if in, err := x.fs.Stat(x.dir + "/" + floorsName); err == nil && in.Size > end {
		v.find(Note, x.dir+"/"+floorsName, 0, 0, "%d bytes at the end are no group: a write was cut short", in.Size-end)
	}
	want := x.ck.start
	for i := range x.frames {
		g := x.frames[i].g
		if g.base != want && (i > 0 || x.hasCk) {
			v.find(Damage, x.segs.logPath(want), want, g.base, "the file is missing")
		}
		want = g.end()
	}
	if want < x.durable {
		v.find(Damage, x.segs.logPath(want), want, x.durable, "the file is missing")
	}
}

func (v *verify) segment(ctx context.Context, f *segmentFrames) error {
	x := v.x
	v.units, v.keys, v.bad = map[QueueID][]memExtent{}, nil, false
	path := x.segs.logPath(f.g.base)
	if f.err != nil {
		v.find(Damage, path, f.g.base, f.g.end(), "cannot be read: %v", f.err)
		return nil
	}
	if err := x.each(ctx, f, f.g.base, f.end, v.step); err != nil {
		return err
	}
	if limit := min(x.durable, f.g.end()); f.end < limit {
		v.bad = true
		v.find(Damage, path, f.end, limit, "check sums are missing")
	} else if f.broken > 0 && !v.bad {
		v.find(Note, path, f.end, f.end, "%d frame slots at the end cannot be read: a write was cut short", f.broken)
	}
	if f.fileSize < f.g.size {
		v.find(Damage, path, f.g.base, f.g.end(), "file of %d bytes, not %d", f.fileSize, f.g.size)
	}
	if v.bad {
		return nil // the indexes cannot be compared with what is not there
	}
	if err := v.queueIndex(f); err != nil {
		return err
	}
	return v.keyIndex(f)
}

func (v *verify) step(s step) error {
	if s.bad != nil {
		v.bad = true
		if s.bad.From >= v.x.durable {
			v.find(Note, s.bad.File, s.bad.From, s.bad.To, "torn end, dropped at the next start: %s", s.bad.Reason)
		} else {
			v.find(Damage, s.bad.File, s.bad.From, s.bad.To, "%s", s.bad.Reason)
		}
		return nil
	}
	v.out.End = s.frame.end()
	v.out.Bytes += int64(s.frame.length)
	switch s.frame.kind {
	case frameHole:
		v.find(Note, v.x.segs.logPath(v.x.segs.at(s.frame.start).base), s.frame.start, s.frame.end(), "set aside by repair")
		v.next = map[QueueID]int64{} // offsets may jump here
		return nil
	case frameEnd:
		return nil
	}
	file := v.x.segs.logPath(v.x.segs.at(s.frame.start).base)
	n := uint32(0)
	err := eachRecord(s.data, s.frame.start, func(r msg.View, phys int64) error {
		n++
		v.record(file, r, phys)
		return nil
	})
	if err != nil {
		v.find(Damage, file, s.frame.start, s.frame.end(), "%v", err)
	} else if n != s.frame.records {
		v.find(Damage, file, s.frame.start, s.frame.end(), "%d records where the frame says %d", n, s.frame.records)
	}
	return nil
}

// record compares a record with its place and its queue.
func (v *verify) record(file string, r msg.View, phys int64) {
	v.out.Messages++
	end := phys + int64(len(r))
	if r.PhysicalOffset() != phys {
		v.find(Damage, file, phys, end, "record says it is at %d", r.PhysicalOffset())
	}
	if msg.BodyCRC(r.Body()) != r.BodyCRC() {
		v.find(Damage, file, phys, end, "body does not match its check sum")
	}
	if msg.HasCheck(r) {
		if err := msg.VerifyRecord(r); err != nil {
			v.find(Damage, file, phys, end, "%v", err)
		}
	}
	if r.StoreTimestamp() < v.stamp {
		v.find(Note, file, phys, end, "store time goes back from %d to %d", v.stamp, r.StoreTimestamp())
	}
	v.stamp = max(v.stamp, r.StoreTimestamp())
	v.keys = appendKeys(v.keys, r, phys)
	if !isIndexed(r.SysFlag()) {
		return
	}
	id := QueueID{string(r.Topic()), r.QueueID()}
	off := r.QueueOffset()
	switch next, known := v.next[id]; {
	case known && off < next:
		v.find(Damage, file, phys, end, "%s queue %d: offset %d after %d", id.Topic, id.Queue, off, next-1)
	case known && off > next:
		v.find(Note, file, phys, end, "%s queue %d: no offsets from %d to %d", id.Topic, id.Queue, next, off-1)
	}
	v.next[id] = off + 1
	l := v.units[id]
	if n := len(l); n > 0 && l[n-1].end() == off {
		l[n-1].units = append(l[n-1].units, unitOf(r, phys))
	} else {
		v.units[id] = append(l, memExtent{base: off, units: []unit{unitOf(r, phys)}})
	}
}

// unitFor finds what the log says of a message.
func (v *verify) unitFor(id QueueID, off int64) (unit, bool) {
	for _, e := range v.units[id] {
		if off >= e.base && off < e.end() {
			return e.units[off-e.base], true
		}
	}
	return unit{}, false
}

var errIndexDiffers = errors.New("index differs from the log")
