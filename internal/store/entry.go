// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Numbers say whose an append is and how its producer numbers it. They are
// stored with the messages, in the batch's frame.
type Numbers struct {
	Producer uint64 // 0: none
	Epoch    uint32
	First    uint64 // number of the first message; the others follow
}

// entry is one append's numbers as they stand in the slots behind a frame's
// first: two in a slot. Byte layout: docs/format/commitlog.md.
type entry struct {
	Numbers
	count uint32
	at    uint32 // of the first record, from the frame's start
}

const (
	entryMagic   = 0x4f504e31 // "OPN1"
	entrySize    = 28
	entriesASlot = 2
	maxEntries   = 1 << 15 // of a frame: its slots are counted in 16 bits
)

func entrySlots(entries int) int { return (entries + entriesASlot - 1) / entriesASlot }

// appendEntries appends whole slots.
func appendEntries(b []byte, entries []entry) []byte {
	be := binary.BigEndian
	for len(entries) > 0 {
		var slot [slotSize]byte
		be.PutUint32(slot[:], entryMagic)
		for i := range min(len(entries), entriesASlot) {
			e, at := &entries[i], slot[8+i*entrySize:]
			be.PutUint64(at, e.Producer)
			be.PutUint32(at[8:], e.Epoch)
			be.PutUint64(at[12:], e.First)
			be.PutUint32(at[20:], e.count)
			be.PutUint32(at[24:], e.at)
		}
		be.PutUint32(slot[4:], crcOf(slot[8:]))
		b = append(b, slot[:]...)
		entries = entries[min(len(entries), entriesASlot):]
	}
	return b
}

// decodeEntries reads the slots behind a frame's first; ok is false if one of
// them is not intact.
func decodeEntries(b []byte) (entries []entry, ok bool) {
	be := binary.BigEndian
	for ; len(b) >= slotSize; b = b[slotSize:] {
		if be.Uint32(b) != entryMagic || be.Uint32(b[4:]) != crcOf(b[8:slotSize]) {
			return nil, false
		}
		for i := range entriesASlot {
			at := b[8+i*entrySize:]
			e := entry{
				Numbers: Numbers{Producer: be.Uint64(at), Epoch: be.Uint32(at[8:]), First: be.Uint64(at[12:])},
				count:   be.Uint32(at[20:]), at: be.Uint32(at[24:]),
			}
			if e.Producer != 0 {
				entries = append(entries, e)
			}
		}
	}
	return entries, len(b) == 0
}

// readEntries reads the entries of the frame whose first slot is at pos.
func readEntries(r io.ReaderAt, pos int64, f *frame) (entries []entry, ok bool, err error) {
	if !f.numbered {
		return nil, true, nil
	}
	b := make([]byte, int(f.slots-1)*slotSize)
	if n, err := r.ReadAt(b, pos+slotSize); n < len(b) {
		if err == io.EOF { //nolint:errorlint // as ReadAt returns it
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("read frame's entries: %w", err)
	}
	entries, ok = decodeEntries(b)
	return entries, ok, nil
}
