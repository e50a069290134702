// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/orderlymq/orderly/internal/vfs"
)

// recovery finds the end of the log after a stop of any kind.
//
// The checkpoint names a place below which everything is durable; the frames
// from there on say the rest. Each frame also carries how far the log was
// durable when it was written. The largest of these claims is the durable mark:
// what is broken below it is damage and must not be cut off; the first thing
// broken at or above it is the torn end of what no one was promised, and goes
// with all that follows. If the kernel has run since, nothing that was written
// is lost, so that an intact frame alone vouches for its bytes.
type recovery struct {
	ctx    context.Context
	o      *Options
	fs     vfs.FS
	segs   *segments
	files  *fileCache
	ck     checkpoint
	hasCk  bool
	trust  bool // the kernel has run on since the store was written
	reread bool // after a failed sync: write again what is read back

	durable int64
	end     syncMark
	seg     *segment // holds end
	stamp   int64
	dropped int64 // bytes behind the end that were cleared
	framed  bool  // a frame was found
	repairs []Repair
	redo    map[int64]bool // segments whose indexes are void after a repair
}

// Repair tells of a range of the log that was set aside.
type Repair struct {
	From, To int64
	Reason   string
	File     string   // where the bytes are now
	Held     []string // what could be read of it
	// Kept: the records were all readable and stay in the log; only their check
	// sums were lost.
	Kept bool

	next []floorEntry // where queues went on, as far as the bytes tell
}

// list finds the segments on disk. Those below the start of the log were being
// removed.
func (r *recovery) list() error {
	names, err := r.fs.List(r.segs.dir + "/" + logDir)
	if err != nil {
		return fmt.Errorf("list log: %w", err)
	}
	var bases []int64
	for _, n := range names {
		base, ok := parseSegName(n)
		if !ok {
			r.o.Logger.Warn("store: ignoring a foreign file in the log directory", "file", n)
			continue
		}
		bases = append(bases, base)
	}
	slices.Sort(bases)
	if err := r.size(bases); err != nil {
		return err
	}
	for _, base := range bases {
		if r.hasCk && base+r.segs.size <= r.ck.start {
			if err := r.remove(base); err != nil {
				return err
			}
			continue
		}
		r.segs.list = append(r.segs.list, newSegment(base, r.segs.size))
	}
	return r.gaps()
}

// size adopts the segment size of a store that exists.
func (r *recovery) size(bases []int64) error {
	switch {
	case r.hasCk:
		r.segs.size = r.ck.segSize
	case len(bases) > 1:
		r.segs.size = bases[1] - bases[0]
	case len(bases) == 1:
		size, err := findSize(r.fs, r.segs.logPath(bases[0]), bases[0])
		if err != nil {
			return err
		}
		def(&size, r.segs.size)
		r.segs.size = size
	}
	if r.segs.size < minSegment {
		return &DamagedError{File: r.segs.dir, Reason: fmt.Sprintf("segment size of %d bytes", r.segs.size)}
	}
	if r.segs.size != r.o.SegmentSize && len(bases) > 0 {
		r.o.Logger.Info("store: keeping the segment size this store was made with", "size", r.segs.size)
	}
	return nil
}

// gaps refuses a log with a missing file.
func (r *recovery) gaps() error {
	want := int64(0)
	if r.hasCk {
		want = r.ck.start
	} else if len(r.segs.list) > 0 {
		want = r.segs.list[0].base
	}
	for _, g := range r.segs.list {
		if g.base != want {
			return r.missing(want, g.base)
		}
		want = g.end()
	}
	if want < r.ck.synced {
		return r.missing(want, r.ck.synced)
	}
	return nil
}

func (r *recovery) missing(from, to int64) error {
	return &DamagedError{File: r.segs.logPath(from), From: from, To: to, Reason: "the file is missing", Gone: true}
}

// remove deletes the file of a segment.
func (r *recovery) remove(base int64) error {
	if err := r.fs.Remove(r.segs.logPath(base)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove segment: %w", err)
	}
	return nil
}

// run finds the end and makes everything below it durable and everything
// behind it gone.
func (r *recovery) run() error {
	r.end = syncMark{pos: r.ck.synced, framePos: r.ck.framePos}
	r.durable = max(r.durable, r.ck.synced)
	r.stamp = r.ck.stamp
	if len(r.segs.list) == 0 {
		return nil // a new store
	}
	if !r.hasCk {
		r.end.pos = r.segs.list[0].base
	}
	if r.o.Repair {
		// Damage that a read has found may lie anywhere.
		r.end = syncMark{pos: r.segs.list[0].base}
	}
	first := r.at(r.end.pos)
	if err := r.claims(first); err != nil {
		return err
	}
	if err := r.walk(first); err != nil {
		return err
	}
	return r.settle(first)
}

// at returns the index of the segment that holds a place; the end of the last
// one is in none.
func (r *recovery) at(pos int64) int { return int((pos - r.segs.list[0].base) / r.segs.size) }

// claims reads all frame heads behind the checkpoint for the durable mark.
func (r *recovery) claims(first int) error {
	for i := first; i < len(r.segs.list); i++ {
		pos := int64(0)
		if i == first {
			pos = r.end.framePos
		}
		if err := r.claimsOf(r.segs.list[i], pos); err != nil {
			return err
		}
	}
	if !r.framed && !r.hasCk {
		return r.foreign(r.segs.list[first])
	}
	return nil
}

func (r *recovery) claimsOf(g *segment, pos int64) error {
	h, err := r.files.get(r.segs.logPath(g.base))
	if err != nil {
		return fmt.Errorf("open log file: %w", err)
	}
	defer r.files.put(h)
	for s := scanFrames(g.frames(h.f), pos); ; {
		more, err := s.next()
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
		if !s.gap && s.frame.start >= g.base && s.frame.end() <= g.end() {
			r.claim(&s.frame)
			r.framed = true
		}
	}
}

func (r *recovery) claim(f *frame) {
	r.durable = max(r.durable, f.durable)
	if r.trust {
		r.durable = max(r.durable, f.end())
	}
}

// foreign refuses, when there is no checkpoint either, a log without frames:
// it is another broker's, and taking it for a torn end would wipe it.
func (r *recovery) foreign(g *segment) error {
	path := r.segs.logPath(g.base)
	var head [blankHead]byte
	if _, err := r.files.readAt(path, head[:], 0); err != nil || allZero(head[:]) {
		return nil //nolint:nilerr // too short to hold anything
	}
	return fmt.Errorf("%s holds messages but was not written by this store: import it instead of opening it", path)
}

// walk checks the log from the checkpoint to its end.
func (r *recovery) walk(first int) error {
	for i := first; i < len(r.segs.list); i++ {
		g := r.segs.list[i]
		if i > first {
			r.end.framePos = 0
		}
		done, err := r.segment(g)
		if err != nil {
			return err
		}
		r.seg = g
		if done {
			return nil
		}
	}
	return nil // the last segment is full
}

// segment checks one segment and reports whether the log ends in it.
func (r *recovery) segment(g *segment) (done bool, err error) {
	rd := segmentReader{r: r, g: g}
	if err := rd.open(); err != nil {
		return false, err
	}
	defer rd.close()
	for r.end.pos < g.end() {
		if err := r.ctx.Err(); err != nil {
			return false, err
		}
		good, err := rd.next()
		if err != nil {
			return false, err
		}
		if good {
			continue
		}
		if r.end.pos >= r.durable {
			return true, nil
		}
		if err := rd.damage(); err != nil {
			return false, err
		}
	}
	return false, nil
}
