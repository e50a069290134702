// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// MaxFrame is the largest frame, length prefix included: Java's default.
const MaxFrame = 16 << 20

// MaxFields bounds the entries of a custom header. Known peers send below 40.
const MaxFields = 1024

const (
	prefixLen    = 4 // length of the rest
	markLen      = 4 // serialize type and header length
	maxHeaderLen = 1<<24 - 1
)

// ErrFrameTooLarge is returned, wrapped, for a frame above the limit.
var ErrFrameTooLarge = errors.New("frame too large")

// ErrMalformed is returned, wrapped, for bytes that are no frame. The stream is
// out of step then: close the connection.
var ErrMalformed = errors.New("malformed frame")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}

// FrameLen reads the 4-byte length prefix and returns how many bytes follow it.
// A limit of 0 means MaxFrame.
func FrameLen(prefix []byte, limit int) (int, error) {
	if len(prefix) < prefixLen {
		return 0, malformed("length prefix of %d bytes", len(prefix))
	}
	if limit <= 0 {
		limit = MaxFrame
	}
	n := binary.BigEndian.Uint32(prefix)
	if n < markLen {
		return 0, malformed("length %d leaves no room for a header", int32(n))
	}
	if uint64(n)+prefixLen > uint64(limit) {
		return 0, fmt.Errorf("%w: %d bytes announced, the limit is %d", ErrFrameTooLarge, uint64(n)+prefixLen, limit)
	}
	return int(n), nil
}

// firstRead is how much ReadFrame allocates before it has seen a byte.
const firstRead = 64 << 10

// ReadFrame reads one frame and returns it without its length prefix, in a
// buffer of its own. It allocates as bytes arrive, not as announced, so a peer
// that announces 16 MiB and sends nothing costs 64 KiB. A limit of 0 means
// MaxFrame. At a clean end of the stream it returns io.EOF.
func ReadFrame(r io.Reader, limit int) ([]byte, error) {
	var prefix [prefixLen]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	n, err := FrameLen(prefix[:], limit)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, min(n, firstRead))
	for done := 0; ; {
		if _, err := io.ReadFull(r, buf[done:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if done = len(buf); done == n {
			return buf, nil
		}
		grown := make([]byte, min(n, 4*done))
		copy(grown, buf)
		buf = grown
	}
}

// Decode decodes a frame without its length prefix. Body aliases frame; the
// strings do not, but they may share one allocation, so clone what is to be kept
// for long out of a big header.
func Decode(frame []byte) (*Command, error) {
	if len(frame) < markLen {
		return nil, malformed("%d bytes leave no room for a header", len(frame))
	}
	mark := binary.BigEndian.Uint32(frame)
	headerLen := int(mark & maxHeaderLen)
	if headerLen > len(frame)-markLen {
		return nil, malformed("header length %d in a frame of %d bytes", headerLen, len(frame))
	}
	header := frame[markLen : markLen+headerLen]
	c := &Command{Serialize: SerializeType(mark >> 24)}
	var err error
	switch c.Serialize {
	case SerializeJSON:
		err = decodeJSON(header, c)
	case SerializeRocketMQ:
		err = decodeBinary(header, c)
	default:
		err = malformed("unknown serialize type %d", c.Serialize)
	}
	if err != nil {
		return nil, err
	}
	if rest := frame[markLen+headerLen:]; len(rest) > 0 {
		c.Body = rest
	}
	return c, nil
}

// AppendFrame appends the whole frame, length prefix and body included. On an
// error dst comes back unchanged.
func AppendFrame(dst []byte, c *Command) ([]byte, error) {
	dst, err := AppendHeader(dst, c, len(c.Body))
	if err != nil {
		return dst, err
	}
	return append(dst, c.Body...), nil
}

// AppendHeader appends the frame up to its body, announcing bodyLen bytes of
// body that the caller writes itself. On an error dst comes back unchanged.
func AppendHeader(dst []byte, c *Command, bodyLen int) ([]byte, error) {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	form := formOf(c)
	if form == SerializeRocketMQ {
		dst = appendBinary(dst, c)
	} else {
		dst = appendJSON(dst, c)
	}
	headerLen := len(dst) - start - prefixLen - markLen
	total := len(dst) - start + bodyLen
	if headerLen > maxHeaderLen || total > MaxFrame {
		return dst[:start], fmt.Errorf("encode %s: %w: %d bytes, the limit is %d", c.Name(), ErrFrameTooLarge, total, MaxFrame)
	}
	binary.BigEndian.PutUint32(dst[start:], uint32(total-prefixLen))
	binary.BigEndian.PutUint32(dst[start+prefixLen:], uint32(form)<<24|uint32(headerLen))
	return dst, nil
}

// formOf returns the header form that c is written in: its own, or JSON where
// the binary form has no room for it (the code is an int16 there, and so POP
// codes do not fit). Every receiver takes both.
func formOf(c *Command) SerializeType {
	if c.Serialize != SerializeRocketMQ || !isInt16(c.Code) || !isInt16(c.Version) {
		return SerializeJSON
	}
	for _, f := range c.Ext {
		if len(f.Key) > math.MaxInt16 {
			return SerializeJSON
		}
	}
	return SerializeRocketMQ
}

func isInt16(v int32) bool { return v >= math.MinInt16 && v <= math.MaxInt16 }
