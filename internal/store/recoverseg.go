// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io"

	"github.com/orderlymq/orderly/internal/vfs"
)

// segmentReader is recovery's walk over one segment: r.end moves on with it.
type segmentReader struct {
	r      *recovery
	g      *segment
	log    vfs.File
	frames frameArea
	buf    []byte
}

func (s *segmentReader) open() (err error) {
	if s.log, err = s.r.fs.OpenRW(s.r.segs.logPath(s.g.base)); err != nil {
		return fmt.Errorf("open log file: %w", err)
	}
	s.frames = s.g.frames(s.log)
	return nil
}

func (s *segmentReader) close() { s.log.Close() }

// next steps over the frame that is due, if it and its bytes are intact.
func (s *segmentReader) next() (bool, error) {
	r := s.r
	var slot [slotSize]byte
	if _, err := s.frames.ReadAt(slot[:], r.end.framePos); err != nil {
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		return false, fmt.Errorf("read frames: %w", err)
	}
	f, ok := decodeFrame(slot[:])
	if !ok || f.start != r.end.pos {
		return false, nil
	}
	good, err := s.intact(&f, r.end.framePos)
	if err != nil || !good {
		return false, err
	}
	if r.reread {
		if err := s.rewrite(&f); err != nil {
			return false, err
		}
	}
	s.pass(&f)
	return true, nil
}

// intact tells whether the frame, whose first slot is at pos, and its bytes are
// what was written.
func (s *segmentReader) intact(f *frame, pos int64) (bool, error) {
	if _, ok, err := readEntries(s.frames, pos, f); err != nil || !ok {
		return false, err
	}
	if f.kind == frameHole {
		return f.end() <= s.g.end(), nil
	}
	if s.buf == nil {
		s.buf = make([]byte, mib)
	}
	return checkData(s.log, s.g, f, s.buf)
}

func (s *segmentReader) pass(f *frame) {
	s.r.end.pos = f.end()
	s.r.end.framePos += int64(f.slots) * slotSize
	s.r.stamp = max(s.r.stamp, f.stamp)
	s.g.newest.Store(max(s.g.newest.Load(), f.stamp))
}

// rewrite makes the pages of a frame dirty again: after a failed sync the
// kernel may believe them written although the disk never got them.
func (s *segmentReader) rewrite(f *frame) error {
	n := int64(f.length)
	if f.kind == frameEnd {
		n = blankHead
	}
	b := make([]byte, n)
	if f.kind != frameHole {
		if _, err := s.log.ReadAt(b, f.start-s.g.base); err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		if _, err := s.log.WriteAt(b, f.start-s.g.base); err != nil {
			return fmt.Errorf("write log: %w", err)
		}
	}
	slots := make([]byte, int(f.slots)*slotSize)
	if _, err := s.frames.ReadAt(slots, s.r.end.framePos); err != nil {
		return fmt.Errorf("read frame: %w", err)
	}
	if _, err := s.frames.WriteAt(slots, s.r.end.framePos); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

// damage deals with a range below the durable mark that is not intact: up to
// the next good frame, or to the mark.
func (s *segmentReader) damage() error {
	r := s.r
	d, to, framePos, err := s.nextGood()
	if err != nil {
		return err
	}
	if !r.o.Repair {
		return d
	}
	return s.setAside(d, to, framePos)
}

// nextGood looks for the next intact frame behind the end. framePos is -1 if the
// segment has none.
func (s *segmentReader) nextGood() (d *DamagedError, to, framePos int64, err error) {
	r := s.r
	d = &DamagedError{File: r.segs.logPath(s.g.base), From: r.end.pos, Reason: "check sum does not match"}
	to = min(r.durable, s.g.end())
	framePos = -1
	sc := scanFrames(s.frames, r.end.framePos)
	for {
		more, err := sc.next()
		if err != nil {
			return nil, 0, 0, err
		}
		if !more {
			break
		}
		f := &sc.frame
		if sc.gap || f.start <= r.end.pos && f.end() <= r.end.pos {
			continue
		}
		if f.start == r.end.pos {
			continue // the one that is broken
		}
		if ok, err := s.intact(f, sc.from); err != nil {
			return nil, 0, 0, err
		} else if ok {
			to, framePos = f.start, sc.from
			break
		}
	}
	d.To = to
	return d, to, framePos, nil
}
