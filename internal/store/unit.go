// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"hash/crc32"
)

// unit is what the queue index keeps of one message.
type unit struct {
	phys  int64
	tag   int64
	stamp int64 // store time, ms
	key   uint32
	size  uint32
}

const (
	unitSize = 32
	// maxRecord is the largest record a unit can describe.
	maxRecord = 1<<24 - 1
)

// encode writes the unit to b[:unitSize]. The check sum is seeded with the
// queue offset, so that a unit in a wrong place is no valid one. Byte layout:
// docs/format/queueindex.md.
func (u *unit) encode(b []byte, offset int64) {
	be := binary.BigEndian
	be.PutUint64(b, uint64(u.phys)<<8|uint64(u.size>>16))
	be.PutUint16(b[8:], uint16(u.size))
	be.PutUint64(b[10:], uint64(u.tag))
	be.PutUint32(b[18:], u.key)
	be.PutUint32(b[22:], uint32(u.stamp>>16))
	be.PutUint16(b[26:], uint16(u.stamp))
	be.PutUint32(b[28:], unitCheck(b, offset))
}

func decodeUnit(b []byte, offset int64) (u unit, ok bool) {
	be := binary.BigEndian
	if be.Uint32(b[28:]) != unitCheck(b, offset) {
		return unit{}, false
	}
	head := be.Uint64(b)
	return unit{
		phys:  int64(head >> 8),
		size:  uint32(head&0xff)<<16 | uint32(be.Uint16(b[8:])),
		tag:   int64(be.Uint64(b[10:])),
		key:   be.Uint32(b[18:]),
		stamp: int64(be.Uint32(b[22:]))<<16 | int64(be.Uint16(b[26:])),
	}, true
}

func unitCheck(b []byte, offset int64) uint32 {
	seed := uint32(uint64(offset) * 0x9e3779b97f4a7c15 >> 32)
	return crc32.Update(seed, castagnoli, b[:28])
}
