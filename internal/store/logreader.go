// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/orderlymq/orderly/internal/msg"
)

// logReader reads a segment frame by frame, checked.
type logReader struct {
	segs  *segments
	files *fileCache
	buf   []byte
}

// step is what a reader meets: a frame with its bytes, or a range that cannot
// be trusted.
type step struct {
	frame frame
	ref   frameRef
	data  []byte // of a batch; valid until the next step
	bad   *DamagedError
}

// segment calls fn for each frame of the segment that reaches beyond from and
// starts below to. A range between frames, or one whose check fails, is told as
// bad.
func (r *logReader) segment(ctx context.Context, g *segment, from, to int64, fn func(step) error) error {
	h, err := r.files.get(r.segs.logPath(g.base))
	if err != nil {
		return fmt.Errorf("open log file: %w", err)
	}
	defer r.files.put(h)
	frames := g.frames(h.f)
	size, err := frames.Size()
	if err != nil {
		return fmt.Errorf("size of frames: %w", err)
	}
	pos, err := findFrame(frames, size, from)
	if err != nil {
		return err
	}
	return r.walk(ctx, g, scanFrames(frames, pos), h.f, from, to, fn)
}

func (r *logReader) walk(ctx context.Context, g *segment, s *frameScan, log io.ReaderAt, at, to int64, fn func(step) error) error {
	for at < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err := s.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if s.gap {
			continue // told by the place where the next frame starts
		}
		f := s.frame
		if f.end() <= at {
			continue
		}
		if f.start > at {
			if err := fn(r.bad(g, at, min(f.start, to), "its check sums cannot be read")); err != nil {
				return err
			}
		}
		if f.start >= to {
			return nil
		}
		st, err := r.load(g, log, f)
		if err != nil {
			return err
		}
		st.ref = frameRef{pos: s.from, crc: f.dataCRC}
		if err := fn(st); err != nil {
			return err
		}
		at = f.end()
	}
	if at < to {
		return fn(r.bad(g, at, to, "its check sums are missing"))
	}
	return nil
}

func (r *logReader) bad(g *segment, from, to int64, why string) step {
	return step{bad: &DamagedError{File: r.segs.logPath(g.base), From: from, To: to, Reason: why}}
}

// load reads and checks the bytes of a frame.
func (r *logReader) load(g *segment, log io.ReaderAt, f frame) (step, error) {
	n := int(f.length)
	if f.kind == frameEnd {
		n = blankHead
	}
	if f.start < g.base || f.end() > g.end() || n > int(f.length) {
		return r.bad(g, max(f.start, g.base), min(f.end(), g.end()), "its frame points out of the segment"), nil
	}
	if f.kind == frameHole {
		return step{frame: f}, nil
	}
	if cap(r.buf) < n {
		r.buf = make([]byte, max(n, 64*kib))
	}
	b := r.buf[:n]
	got, err := log.ReadAt(b, f.start-g.base)
	if got < n && err != nil && !errors.Is(err, io.EOF) {
		return step{}, fmt.Errorf("read log: %w", err)
	}
	if got < n || crcOf(b) != f.dataCRC {
		st := r.bad(g, f.start, f.end(), "check sum does not match")
		st.data, st.frame = b[:got], f
		return st, nil
	}
	return step{frame: f, data: b}, nil
}

// eachRecord calls fn for every record of a batch's bytes.
func eachRecord(data []byte, pos int64, fn func(v msg.View, phys int64) error) error {
	for len(data) > 0 {
		v, n, err := msg.ParseView(data)
		if err != nil {
			return fmt.Errorf("record at %d: %w", pos, err)
		}
		if err := fn(v, pos); err != nil {
			return err
		}
		data = data[n:]
		pos += int64(n)
	}
	return nil
}
