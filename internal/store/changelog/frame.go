// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
)

// A frame is what files consist of behind their header. Frames begin at
// multiples of 8, so that a reader finds the next one behind damage.
const (
	frameMagic  = 0x4F43 // "OC"
	frameHeader = 24
	frameAlign  = 8
)

type frameKind byte

const (
	frameRecord frameKind = 1 // segment: one record
	frameMark   frameKind = 2 // segment: says what is synced, nothing else
	frameItem   frameKind = 3 // snapshot: one item, numbered from 1
	frameEnd    frameKind = 4 // snapshot: the last frame, its number is the count of items
)

type frame struct {
	kind    frameKind
	seq     uint64
	synced  uint64 // all records up to this one were synced when the frame was written
	payload []byte
	size    int // with header and padding
}

var (
	errNoFrame    = errors.New("no frame")    // zeros, or the end of the file
	errCutFrame   = errors.New("cut frame")   // goes on behind the end of the file
	errBadFrame   = errors.New("bad frame")   // not a frame
	errBadContent = errors.New("bad content") // a header, but the checksum differs
)

// checksums belong to one log: a frame of another one is not a frame.
type checksum struct {
	table *crc32.Table
	seed  uint32
}

func newChecksum(id uint64) checksum {
	c := checksum{table: crc32.MakeTable(crc32.Castagnoli)}
	c.seed = crc32.Checksum(binary.BigEndian.AppendUint64(nil, id), c.table)
	return c
}

func (c checksum) of(header, payload []byte) uint32 {
	return crc32.Update(crc32.Update(c.seed, c.table, header), c.table, payload)
}

// begin makes room for a frame's header and answers where the frame starts;
// the payload is to be appended, then finish called.
func begin(dst []byte) ([]byte, int) {
	at := len(dst)
	return append(dst, make([]byte, frameHeader)...), at
}

// finish fills in the header of the frame that starts at and ends with dst.
func (c checksum) finish(dst []byte, at int, kind frameKind, seq, synced uint64) []byte {
	h := dst[at : at+frameHeader]
	payload := dst[at+frameHeader:]
	binary.BigEndian.PutUint16(h[0:], frameMagic)
	h[2], h[3] = byte(kind), 0
	binary.BigEndian.PutUint32(h[4:], uint32(len(payload)))
	binary.BigEndian.PutUint64(h[8:], seq)
	binary.BigEndian.PutUint32(h[16:], uint32(min(seq-min(synced, seq), math.MaxUint32)))
	binary.BigEndian.PutUint32(h[20:], c.of(h[:20], payload))
	return append(dst, make([]byte, padding(len(payload)))...)
}

func padding(payload int) int { return -payload & (frameAlign - 1) }

// frameSize is the room a frame with such a payload takes.
func frameSize(payload int) int { return frameHeader + payload + padding(payload) }

// parse reads the frame at the beginning of b. The payload is part of b.
func (c checksum) parse(b []byte) (frame, error) {
	if len(b) < frameHeader {
		if allZero(b) {
			return frame{}, errNoFrame
		}
		return frame{}, errCutFrame
	}
	h := b[:frameHeader]
	if allZero(h) {
		return frame{}, errNoFrame
	}
	f := frame{kind: frameKind(h[2]), seq: binary.BigEndian.Uint64(h[8:])}
	length := binary.BigEndian.Uint32(h[4:])
	if binary.BigEndian.Uint16(h) != frameMagic || f.kind < frameRecord || f.kind > frameEnd || length > MaxRecord {
		return frame{}, errBadFrame
	}
	f.size = frameSize(int(length))
	if len(b) < f.size {
		return frame{}, errCutFrame
	}
	f.payload = b[frameHeader : frameHeader+length : frameHeader+length]
	if c.of(h[:20], f.payload) != binary.BigEndian.Uint32(h[20:]) {
		return frame{}, errBadContent
	}
	f.synced = f.seq - min(uint64(binary.BigEndian.Uint32(h[16:])), f.seq)
	return f, nil
}

// next finds the first whole frame in b at or behind from; false if there is
// none.
func (c checksum) next(b []byte, from int) (frame, int, bool) {
	for at := (from + frameAlign - 1) &^ (frameAlign - 1); at+frameHeader <= len(b); at += frameAlign {
		if binary.BigEndian.Uint16(b[at:]) != frameMagic {
			continue
		}
		if f, err := c.parse(b[at:]); err == nil {
			return f, at, true
		}
	}
	return frame{}, 0, false
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
