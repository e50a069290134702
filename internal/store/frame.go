// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"hash/crc32"
)

// A frame describes one batch as it was written to the log: where, how long,
// and a check sum over its bytes. Frames stand behind their segment, in the same
// file, in slots of slotSize bytes, in log order. Byte layout: docs/format/commitlog.md.
type frame struct {
	kind     frameKind
	slots    uint16 // length in slots; slots after the first hold entries, if numbered
	numbered bool
	start    int64  // physical offset of the first byte
	length   uint32 // bytes covered by dataCRC
	records  uint32
	stamp    int64 // store time of the records, ms
	durable  int64 // everything below was known synced when this was written
	term     uint64
	index    uint64
	dataCRC  uint32
}

type frameKind uint8

const (
	frameBatch frameKind = 1 // records
	frameEnd   frameKind = 2 // the filler at the end of a segment
	frameHole  frameKind = 3 // a damaged range that repair has set aside
)

const (
	slotSize   = 64
	frameMagic = 0x4f465231 // "OFR1"

	flagNumbered = 1 // the slots after the first hold entries
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func crcOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// end is where the next frame starts. The filler's length is the rest of its
// segment, though only its head is written and covered.
func (f *frame) end() int64 { return f.start + int64(f.length) }

// encode writes the frame, without entries, to b[:slotSize].
func (f *frame) encode(b []byte) {
	be := binary.BigEndian
	be.PutUint32(b, frameMagic)
	b[4] = byte(f.kind)
	b[5] = 0
	if f.numbered {
		b[5] = flagNumbered
	}
	be.PutUint16(b[6:], f.slots)
	be.PutUint64(b[8:], uint64(f.start))
	be.PutUint32(b[16:], f.length)
	be.PutUint32(b[20:], f.records)
	be.PutUint64(b[24:], uint64(f.stamp))
	be.PutUint64(b[32:], uint64(f.durable))
	be.PutUint64(b[40:], f.term)
	be.PutUint64(b[48:], f.index)
	be.PutUint32(b[56:], f.dataCRC)
	be.PutUint32(b[60:], crcOf(b[:60]))
}

// decodeFrame reads the frame whose first slot is at b; ok is false if there is
// no intact frame.
func decodeFrame(b []byte) (f frame, ok bool) {
	be := binary.BigEndian
	if len(b) < slotSize || be.Uint32(b) != frameMagic || be.Uint32(b[60:]) != crcOf(b[:60]) {
		return frame{}, false
	}
	f = frame{
		kind:    frameKind(b[4]),
		slots:   be.Uint16(b[6:]),
		start:   int64(be.Uint64(b[8:])),
		length:  be.Uint32(b[16:]),
		records: be.Uint32(b[20:]),
		stamp:   int64(be.Uint64(b[24:])),
		durable: int64(be.Uint64(b[32:])),
		term:    be.Uint64(b[40:]),
		index:   be.Uint64(b[48:]),
		dataCRC: be.Uint32(b[56:]),
	}
	f.numbered = b[5]&flagNumbered != 0
	ok = f.kind >= frameBatch && f.kind <= frameHole && f.slots > 0 && f.start >= 0 && f.length > 0
	return f, ok
}

func crcUpdate(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli, b) }

// blankHead is how much of the filler at the end of a segment is written.
const blankHead = 8
