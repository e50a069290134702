// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"context"
	"errors"
	"fmt"
	"path"
)

// position is a place in the log where reading can go on.
type position struct {
	segment int // index in the listing
	at      int
	next    uint64 // number of the next record there
	ok      bool
}

// replay replays the segments behind the snapshot.
func (r *recovery) replay(ctx context.Context) error {
	snapshot := r.found.Snapshot
	r.want, r.synced = snapshot+1, snapshot
	first := -1
	for i, seq := range r.have.segments {
		if seq <= snapshot+1 {
			first = i
		}
	}
	switch {
	case len(r.have.segments) == 0:
		return nil // new, or the snapshot is all there is
	case first < 0:
		if err := r.lose(&DamageError{
			File: fileName(r.have.segments[0], segmentExt), Seq: snapshot + 1, Next: r.have.segments[0],
			Why: "the segment before it is missing",
		}, nil); err != nil {
			return err
		}
		first = 0
	}
	r.want = r.have.segments[first]
	for i, at := first, fileHeader; i < len(r.have.segments); {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("replay change log: %w", err)
		}
		resume, err := r.replaySegment(i, at)
		if err != nil {
			return err
		}
		i, at = i+1, fileHeader
		if resume.ok {
			i, at, r.want = resume.segment, resume.at, resume.next
		}
	}
	if r.want <= snapshot { // the snapshot outlived the log's end: go on behind it, in a new segment
		r.o.Logger.Warn("change log ends before its snapshot", "end", r.want-1, "snapshot", snapshot)
		r.want = snapshot + 1
		return r.abandonLast()
	}
	return nil
}

// replaySegment replays one segment from a position on, to its end or to a
// damaged place, behind which it answers where to go on.
func (r *recovery) replaySegment(i, at int) (position, error) {
	b, err := readFile(r.o.FS, r.o.Dir, fileName(r.have.segments[i], segmentExt))
	if err != nil {
		return position{}, err
	}
	return r.replayBytes(i, b, at)
}

// replayBytes is replaySegment with the bytes of the segment's file.
func (r *recovery) replayBytes(i int, b []byte, at int) (position, error) {
	name := fileName(r.have.segments[i], segmentExt)
	if at == fileHeader {
		r.unsynced = unsyncedFrames{}
		if err := r.enterSegment(b, i); err != nil {
			return position{}, err
		}
	}
	for {
		f, err := r.sum.parse(b[at:])
		if err == nil {
			err = r.take(f, name, at)
			if errors.Is(err, errBadFrame) || err == nil {
				r.synced = max(r.synced, f.synced)
			}
		}
		switch {
		case err == nil:
			if f.kind == frameRecord {
				r.unsynced.add(f.seq, at)
			}
			at += f.size
			continue
		case !isFrameError(err):
			return position{}, err
		case errors.Is(err, errNoFrame) && allZero(b[at:]):
			return position{}, r.leaveSegment(i, b, at, at)
		}
		return r.judge(i, b, at, err)
	}
}

func isFrameError(err error) bool {
	return errors.Is(err, errNoFrame) || errors.Is(err, errCutFrame) || errors.Is(err, errBadFrame) || errors.Is(err, errBadContent)
}

// enterSegment checks that a segment begins with the record that is due.
func (r *recovery) enterSegment(b []byte, i int) error {
	seq := r.have.segments[i]
	name := fileName(seq, segmentExt)
	if seq > max(r.want, r.found.Snapshot+1) {
		err := r.lose(&DamageError{File: name, Seq: r.want, Next: seq, Why: "the records before this segment are missing"}, nil)
		if err != nil {
			return err
		}
	}
	r.want = max(r.want, seq)
	if err := r.checkHeader(b, segmentMagic, 0); err != nil {
		damage := &DamageError{File: name, To: fileHeader, Seq: seq, Next: seq, Why: err.Error()}
		if err := r.lose(damage, b[:min(fileHeader, len(b))]); err != nil {
			return err
		}
		return r.mendHeader(name)
	}
	return nil
}

// mendHeader writes a segment's header anew: all it says is known.
func (r *recovery) mendHeader(name string) error {
	f, err := r.o.FS.OpenRW(path.Join(r.o.Dir, name))
	if err != nil {
		return fmt.Errorf("mend header of %s: %w", name, err)
	}
	_, err = f.WriteAt(appendFileHeader(nil, segmentMagic, r.found.id, 0), 0)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("mend header of %s: %w", name, err)
	}
	return nil
}

// take replays a frame, if it is the one that is due.
func (r *recovery) take(f frame, name string, at int) error {
	switch {
	case f.kind == frameMark && f.seq+1 == r.want:
		return nil
	case f.kind != frameRecord || f.seq != r.want:
		return errBadFrame
	}
	if f.seq > r.found.Snapshot {
		if err := r.m.Replay(f.seq, f.payload); err != nil {
			return fmt.Errorf("replay record %d in %s at byte %d: %w", f.seq, name, at, err)
		}
		r.found.Replayed++
		r.found.tail += int64(f.size)
	}
	r.want++
	return nil
}

// judge decides about a place that is not a frame and not the end: dropped, if
// nothing says that a record there was ever synced; else lost.
func (r *recovery) judge(i int, b []byte, at int, why error) (position, error) {
	synced, resume := r.evidence(i, b, at)
	synced = max(synced, r.synced)
	last := i == len(r.have.segments)-1
	name := fileName(r.have.segments[i], segmentExt)
	switch {
	case resume.ok && resume.next <= max(r.want, r.found.Snapshot+1):
		r.o.Logger.Warn("change log: damage that costs no record passed over", "file", name, "at", at, "why", why)
		return resume, nil
	case last && synced < r.want:
		end := len(b)
		for end > at && b[end-1] == 0 {
			end--
		}
		r.found.Dropped = int64(end - at)
		r.o.Logger.Warn("change log: torn tail dropped", "file", name, "from", at, "bytes", end-at)
		return position{}, r.leaveSegment(i, b, at, end)
	case !resume.ok && synced <= r.found.Snapshot:
		r.o.Logger.Warn("change log: damaged end that the snapshot holds passed over", "file", name, "at", at, "why", why)
		r.want = r.found.Snapshot + 1
		return position{}, r.abandonLast()
	}
	to := len(b)
	if resume.ok && resume.segment == i {
		to = resume.at
	}
	damage := &DamageError{File: name, From: int64(at), To: int64(to), Seq: r.want, Next: resume.next, Why: why.Error()}
	if err := r.lose(damage, b[at:to]); err != nil {
		return position{}, err
	}
	if !resume.ok { // nothing whole behind it: never use the lost numbers again
		r.want = synced + 1
		return position{}, r.abandonLast()
	}
	return resume, nil
}

// evidence looks at all that is behind a bad place: up to which record it says
// that the log was synced, and where reading can go on.
func (r *recovery) evidence(i int, b []byte, at int) (synced uint64, resume position) {
	look := func(i int, b []byte, at int) {
		for {
			f, pos, ok := r.sum.next(b, at)
			if !ok {
				return
			}
			at = pos + f.size
			synced = max(synced, f.synced)
			next := f.seq
			if f.kind == frameMark {
				next++
			}
			if !resume.ok && f.kind <= frameMark && next >= r.want {
				resume = position{segment: i, at: pos, next: next, ok: true}
			}
		}
	}
	look(i, b, at)
	for i++; i < len(r.have.segments); i++ {
		seq := r.have.segments[i]
		synced = max(synced, seq-1)
		if !resume.ok && seq >= r.want {
			resume = position{segment: i, at: fileHeader, next: seq, ok: true}
		}
	}
	return synced, resume
}

// leaveSegment notes, at the end of the last segment, how it can go on.
func (r *recovery) leaveSegment(i int, b []byte, pos, garbage int) error {
	if i != len(r.have.segments)-1 || r.o.readOnly {
		return nil
	}
	name := fileName(r.have.segments[i], segmentExt)
	f, err := r.o.FS.OpenRW(path.Join(r.o.Dir, name))
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	r.found.name, r.found.file, r.found.pos, r.found.garbage = name, f, int64(pos), int64(garbage)
	r.found.rewrite = b[r.unsynced.from(r.synced, pos):pos]
	return nil
}

// abandonLast leaves the last segment as it is; the log goes on in a new one.
func (r *recovery) abandonLast() error {
	if r.found.file == nil {
		return nil
	}
	err := r.found.file.Close()
	r.found.file, r.found.name = nil, ""
	if err != nil {
		return fmt.Errorf("close last segment: %w", err)
	}
	return nil
}

// lose refuses to go on without records that were synced; with Repair it sets
// the damaged bytes aside and goes on.
func (r *recovery) lose(damage *DamageError, bytes []byte) error {
	if !r.o.Repair {
		return damage
	}
	r.found.Damage = append(r.found.Damage, damage)
	r.o.Logger.Error("change log: repair passes over damage", "err", damage)
	if len(bytes) == 0 {
		return nil
	}
	aside := fmt.Sprintf("%s.%d%s", damage.File, damage.From, damagedExt)
	r.found.Aside = append(r.found.Aside, aside)
	f, err := r.o.FS.Create(path.Join(r.o.Dir, aside))
	if err != nil {
		return fmt.Errorf("set damaged range aside: %w", err)
	}
	_, err = f.WriteAt(bytes, 0)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("set damaged range aside: %w", err)
	}
	return nil
}

// unsyncedFrames remembers where records begin, as long as they may be
// unsynced.
type unsyncedFrames struct {
	seqs []uint64
	ats  []int
}

func (u *unsyncedFrames) add(seq uint64, at int) {
	u.seqs, u.ats = append(u.seqs, seq), append(u.ats, at)
}

// from is where the first record behind synced begins, else end.
func (u *unsyncedFrames) from(synced uint64, end int) int {
	for i, seq := range u.seqs {
		if seq > synced {
			return u.ats[i]
		}
	}
	return end
}
