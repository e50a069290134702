// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// blockSize is how much of a segment is checked at once before its first byte
// is served from disk.
const blockSize = 256 * kib

// verifier checks what is read from log files against the frames.
type verifier struct {
	segs  *segments
	files *fileCache
	bufs  sync.Pool // of *[]byte
}

func newVerifier(segs *segments, files *fileCache) *verifier {
	return &verifier{segs: segs, files: files, bufs: sync.Pool{New: func() any {
		b := make([]byte, blockSize)
		return &b
	}}}
}

// check makes sure that the range of the segment is what was written. limit is
// the end of what is committed, which is the end of a frame.
func (v *verifier) check(g *segment, from, to, limit int64) error {
	first, last := (from-g.base)/blockSize, (to-1-g.base)/blockSize
	for b := first; b <= last; b++ {
		word, bit := &g.verified[b/64], uint64(1)<<(b%64)
		if word.Load()&bit != 0 {
			continue
		}
		lo := g.base + b*blockSize
		hi := min(lo+blockSize, g.end())
		open := hi > limit // the block is still being written
		if open {
			if done := g.checked.Load(); done > lo && done >= min(to, hi) {
				continue
			}
			hi = limit
		}
		bad, err := v.block(g, lo, hi, from, to)
		switch {
		case err != nil:
			return err
		case bad:
		case open:
			g.checked.Store(limit)
		default:
			word.Or(bit)
		}
	}
	return nil
}

// block checks the frames that touch [lo, hi). Damage inside [from, to) is an
// error; elsewhere it makes bad true.
func (v *verifier) block(g *segment, lo, hi, from, to int64) (bad bool, err error) {
	h, err := v.files.get(v.segs.logPath(g.base))
	if err != nil {
		return true, fmt.Errorf("open log file: %w", err)
	}
	defer v.files.put(h)
	frames := g.frames(h.f)
	size, err := frames.Size()
	if err != nil {
		return true, fmt.Errorf("size of frames: %w", err)
	}
	pos, err := findFrame(frames, size, lo)
	if err != nil {
		return true, err
	}
	return v.walk(scanFrames(frames, pos), h.f, g, lo, hi, from, to)
}

// walk steps through the frames from one at or before lo, or from the first.
func (v *verifier) walk(s *frameScan, log io.ReaderAt, g *segment, lo, hi, from, to int64) (bad bool, err error) {
	at := int64(-1) // end of the frame before
	if s.pos == 0 {
		at = g.base
	}
	for {
		more, err := s.next()
		if err != nil {
			return true, err
		}
		if !more || (s.gap && s.zero) {
			break
		}
		if s.gap {
			continue // told by the next frame's start, or by the end
		}
		f := &s.frame
		if at >= 0 && f.start != at {
			if overlaps(at, f.start, from, to) {
				return true, v.damaged(g, at, f.start, "its check sums cannot be read")
			}
			bad = true
		}
		if f.start >= hi {
			return bad, nil
		}
		at = f.end()
		if at <= lo {
			continue
		}
		err = v.frame(log, g, f)
		switch {
		case err == nil:
		case errors.Is(err, ErrDamaged) && !overlaps(f.start, at, from, to):
			bad = true
		default:
			return true, err
		}
	}
	if at < to {
		return true, v.damaged(g, max(at, from), to, "its check sums are missing")
	}
	return bad, nil
}

func overlaps(a0, a1, b0, b1 int64) bool { return a0 < b1 && b0 < a1 }

func (v *verifier) damaged(g *segment, from, to int64, why string) error {
	return &DamagedError{File: v.segs.logPath(g.base), From: from, To: to, Reason: why}
}

// frame compares the log bytes of a frame with its check sum.
func (v *verifier) frame(log io.ReaderAt, g *segment, f *frame) error {
	if f.kind == frameHole {
		return v.damaged(g, f.start, f.end(), "set aside by repair")
	}
	buf := v.bufs.Get().(*[]byte)
	defer v.bufs.Put(buf)
	ok, err := checkData(log, g, f, *buf)
	if err != nil {
		return err
	}
	if !ok {
		return v.damaged(g, f.start, f.end(), "check sum does not match")
	}
	return nil
}

// checkData reports whether the log bytes of f are the ones it describes.
func checkData(r io.ReaderAt, g *segment, f *frame, buf []byte) (bool, error) {
	left := int64(f.length)
	if f.kind == frameEnd {
		left = blankHead
	}
	pos := f.start - g.base
	if pos < 0 || f.end() > g.end() || left > int64(f.length) {
		return false, nil
	}
	sum := uint32(0)
	for left > 0 {
		n := min(left, int64(len(buf)))
		got, err := r.ReadAt(buf[:n], pos)
		if int64(got) < n {
			if err == nil || errors.Is(err, io.EOF) {
				return false, nil // the file is shorter than it should be
			}
			return false, fmt.Errorf("read log: %w", err)
		}
		sum = crcUpdate(sum, buf[:n])
		pos += n
		left -= n
	}
	return sum == f.dataCRC, nil
}
