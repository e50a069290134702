// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// frameScan walks over the frames of one file to its end. Slots that hold no
// intact frame are told as gaps.
type frameScan struct {
	r   io.ReaderAt
	buf []byte // slots read, from file position at on
	at  int64
	pos int64 // next slot
	end bool  // the file ends with buf

	// The step taken last: a frame, or a gap of slots [from, pos).
	frame frame
	from  int64
	gap   bool
	zero  bool // the gap holds zeros only
}

const scanBuf = 64 * kib

func scanFrames(r io.ReaderAt, pos int64) *frameScan { return &frameScan{r: r, pos: pos, at: pos} }

// next steps to the next frame or gap; false at the end of the file.
func (s *frameScan) next() (bool, error) {
	s.from, s.gap, s.zero = s.pos, false, true
	for {
		b, err := s.slot()
		if err != nil || b == nil {
			return s.gap, err
		}
		f, ok := decodeFrame(b)
		if ok && s.gap {
			return true, nil // the gap ends before this frame
		}
		if ok {
			s.frame = f
			s.pos += int64(f.slots) * slotSize
			return true, nil
		}
		s.gap = true
		s.zero = s.zero && allZero(b)
		s.pos += slotSize
	}
}

// slot returns the slot at pos, or nil at the end of the file.
func (s *frameScan) slot() ([]byte, error) {
	for {
		off := s.pos - s.at
		if off+slotSize <= int64(len(s.buf)) {
			return s.buf[off : off+slotSize], nil
		}
		if s.end {
			return nil, nil
		}
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
}

func (s *frameScan) fill() error {
	if s.buf == nil {
		s.buf = make([]byte, scanBuf)
	}
	s.at = s.pos
	n, err := s.r.ReadAt(s.buf[:scanBuf], s.pos)
	s.buf = s.buf[:n]
	s.end = n < scanBuf
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read frames: %w", err)
	}
	return nil
}

var zeros [64 * kib]byte

func allZero(b []byte) bool {
	for len(b) > len(zeros) {
		if !bytes.Equal(b[:len(zeros)], zeros[:]) {
			return false
		}
		b = b[len(zeros):]
	}
	return bytes.Equal(b, zeros[:len(b)])
}

// findFrame returns the file position of the last frame that starts at or
// before phys, so that a walk from there meets phys; 0 if the first frame
// starts later. size is the length of the file.
func findFrame(r io.ReaderAt, size, phys int64) (int64, error) {
	const page = 4 * kib
	buf := make([]byte, page)
	found := int64(0)
	lo, hi := int64(0), (size+page-1)/page // pages [lo, hi) may hold it
	for lo < hi {
		mid := lo + (hi-lo)/2
		pos, start, state, err := firstFrame(r, buf, mid*page, size)
		switch {
		case err != nil:
			return 0, err
		case state == pageZero || state == pageFrame && start > phys:
			hi = mid
		case state == pageFrame:
			found = pos
			lo = mid + 1
		default: // nothing readable here: look behind it only if nothing is found before
			lo = mid + 1
		}
	}
	return found, nil
}

type pageState int

const (
	pageFrame pageState = iota
	pageZero
	pageBroken
)

// firstFrame finds the first intact frame of a page. A page that is not zero
// and has none is followed by others until one has.
func firstFrame(r io.ReaderAt, buf []byte, at, size int64) (pos, start int64, state pageState, err error) {
	for ; at < size; at += int64(len(buf)) {
		n, err := r.ReadAt(buf, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, 0, fmt.Errorf("read frames: %w", err)
		}
		b := buf[:n]
		for i := 0; i+slotSize <= n; i += slotSize {
			if f, ok := decodeFrame(b[i:]); ok {
				return at + int64(i), f.start, pageFrame, nil
			}
		}
		if allZero(b) {
			return 0, 0, pageZero, nil
		}
	}
	return 0, 0, pageBroken, nil
}
