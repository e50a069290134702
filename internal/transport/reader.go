// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/orderlymq/orderly/internal/wire"
)

const (
	smallBuffer = 4 << 10  // held by every connection
	largeBuffer = 64 << 10 // borrowed while a connection is busy
	prefixSize  = 8        // length and header mark
)

// largeBuffers lends read buffers to busy connections.
var largeBuffers = sync.Pool{New: func() any { return new([largeBuffer]byte) }}

// head is a frame whose header has been decoded and whose body has not been
// read.
type head struct {
	cmd     *wire.Command
	bodyLen int
	size    int // of the whole frame, length field included
}

// frameReader cuts a byte stream into frames. It checks every length before it
// allocates. The header is decoded from the read buffer; the body is allocated
// once, at its exact size, and read straight into place.
type frameReader struct {
	read      func([]byte) (int, error) // one read of the connection; may wait
	maxFrame  int
	maxHeader int

	buf   []byte // small or large
	small []byte
	large *[largeBuffer]byte // nil if not borrowed
	r, w  int                // unread bytes are buf[r:w]
	full  bool               // the last read filled the buffer, so more is waiting

	inside int // size of the frame whose header or body is being read, else 0
}

func newFrameReader(read func([]byte) (int, error), l Limits) *frameReader {
	small := make([]byte, smallBuffer)
	return &frameReader{read: read, maxFrame: l.MaxFrame, maxHeader: l.MaxHeader, buf: small, small: small}
}

// next returns the next frame's head; the caller then calls body or skip. At
// the end of the stream between frames it returns io.EOF.
func (f *frameReader) next() (head, error) {
	if err := f.need(prefixSize); err != nil {
		return head{}, f.truncated(err, "the frame's first 8 bytes")
	}
	length := int64(binary.BigEndian.Uint32(f.buf[f.r:]))
	mark := binary.BigEndian.Uint32(f.buf[f.r+4:])
	headerLen := int64(mark & 0xffffff)
	if err := f.check(length, headerLen, byte(mark>>24)); err != nil {
		return head{}, err
	}
	f.inside = int(length + 4)
	cmd, err := f.header(int(headerLen))
	if err != nil {
		return head{}, err
	}
	if headerLen == length-4 {
		f.inside = 0
	}
	return head{cmd: cmd, bodyLen: int(length - 4 - headerLen), size: int(length + 4)}, nil
}

func (f *frameReader) check(length, headerLen int64, serialize byte) error {
	switch {
	case length+4 > int64(f.maxFrame):
		return &FrameError{Reason: fmt.Sprintf("%d bytes announced, at most %d allowed%s", length+4, f.maxFrame, guess(uint32(length)))}
	case length < 4:
		return &FrameError{Reason: fmt.Sprintf("length %d is less than the 4 bytes of the header mark", length)}
	case headerLen > length-4:
		return &FrameError{Reason: fmt.Sprintf("header of %d bytes announced in a frame that has room for %d", headerLen, length-4)}
	case headerLen > int64(f.maxHeader):
		return &FrameError{Reason: fmt.Sprintf("header of %d bytes, at most %d allowed", headerLen, f.maxHeader)}
	case serialize > 1:
		return &FrameError{Reason: fmt.Sprintf("unknown serialization %d, only 0 (JSON) and 1 (ROCKETMQ) are known", serialize)}
	}
	return nil
}

// guess names other protocols by what their first four bytes make of a length.
func guess(length uint32) string {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], length)
	switch {
	case b[0] == 0x16 && b[1] == 0x03:
		return " (this looks like TLS, which is not enabled on this port)"
	case string(b[:]) == "GET " || string(b[:]) == "POST" || string(b[:]) == "HEAD" || string(b[:]) == "PRI ":
		return " (this looks like HTTP; this port speaks the RocketMQ remoting protocol)"
	}
	return ""
}

// header decodes a header of n bytes and moves behind it.
func (f *frameReader) header(n int) (*wire.Command, error) {
	var frame []byte // mark and header
	if prefixSize+n <= largeBuffer {
		if err := f.need(prefixSize + n); err != nil {
			return nil, f.truncated(err, "a header")
		}
		frame = f.buf[f.r+4 : f.r+prefixSize+n]
		f.r += prefixSize + n
	} else {
		frame = make([]byte, 4+n)
		f.r += 4
		if err := f.fill(frame); err != nil {
			return nil, f.truncated(err, "a header")
		}
	}
	cmd, err := wire.Decode(frame)
	if err != nil {
		return nil, &FrameError{Reason: "header does not decode", Err: err}
	}
	return cmd, nil
}

// body reads the body of h into its command.
func (f *frameReader) body(h head) error {
	if h.bodyLen == 0 {
		return nil
	}
	b := make([]byte, h.bodyLen)
	if err := f.fill(b); err != nil {
		return f.truncated(err, "a body")
	}
	f.inside = 0
	h.cmd.Body = b
	return nil
}

// skip reads the body of h and forgets it.
func (f *frameReader) skip(h head) error {
	for left := h.bodyLen; left > 0; {
		if f.r == f.w {
			if err := f.more(); err != nil {
				return f.truncated(err, "a body")
			}
		}
		n := min(left, f.w-f.r)
		f.r += n
		left -= n
	}
	f.inside = 0
	return nil
}

// partial reports whether a frame has begun and not ended.
func (f *frameReader) partial() bool { return f.inside > 0 || f.r < f.w }

// fill reads exactly len(b) bytes.
func (f *frameReader) fill(b []byte) error {
	n := copy(b, f.buf[f.r:f.w])
	f.r += n
	for n < len(b) {
		k, err := f.read(b[n:])
		n += k
		if err != nil && n < len(b) {
			return err
		}
	}
	return nil
}

// need makes n bytes available in the buffer, n <= largeBuffer.
func (f *frameReader) need(n int) error {
	for f.w-f.r < n {
		if f.r+n > len(f.buf) || f.r == f.w {
			f.resize(n)
		}
		if err := f.more(); err != nil {
			return err
		}
	}
	return nil
}

// resize moves the unread bytes to the start of a buffer that has room for n.
// A connection that waits between frames always waits with its small buffer;
// the large one is borrowed inside a frame, if the small one came back full.
func (f *frameReader) resize(n int) {
	unread := f.buf[f.r:f.w]
	switch {
	case f.large == nil && (n > smallBuffer || f.full && len(unread) > 0):
		f.large = largeBuffers.Get().(*[largeBuffer]byte)
		f.buf = f.large[:]
	case f.large != nil && n <= smallBuffer && len(unread) == 0:
		largeBuffers.Put(f.large)
		f.large, f.buf = nil, f.small
	}
	f.w = copy(f.buf, unread)
	f.r = 0
}

// more reads once into the free part of the buffer.
func (f *frameReader) more() error {
	if f.r == f.w {
		f.r, f.w = 0, 0
	}
	n, err := f.read(f.buf[f.w:])
	f.w += n
	f.full = f.w == len(f.buf)
	if n > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// release gives a borrowed buffer back.
func (f *frameReader) release() {
	if f.large != nil {
		largeBuffers.Put(f.large)
		f.large, f.buf = nil, nil
	}
}

// truncated turns an end of the stream inside a frame into a FrameError.
func (f *frameReader) truncated(err error, where string) error {
	if err != io.EOF || !f.partial() {
		return err
	}
	return &FrameError{Reason: "the stream ended inside " + where, Err: io.ErrUnexpectedEOF}
}
