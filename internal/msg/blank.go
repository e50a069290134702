// SPDX-License-Identifier: Apache-2.0

package msg

import "encoding/binary"

// BlankSize is how many bytes of a blank record are written, and so how many
// have to stay free at the end of every commit-log file.
const BlankSize = 8

// Kind says what stands at a place of the commit log.
type Kind uint8

// What Peek can find.
const (
	KindEnd    Kind = iota // zeros: nothing written here yet (or a hole)
	KindRecord             // a record, not yet checked
	KindBlank              // filler: go on with the next file
	KindBad                // anything else, or too few bytes to tell
)

// Peek looks at the first 8 bytes at a place of the log and says what starts
// there and how long it claims to be.
func Peek(b []byte) (kind Kind, size int) {
	if len(b) < BlankSize {
		return KindBad, 0
	}
	size = int(int32(binary.BigEndian.Uint32(b)))
	switch magic := binary.BigEndian.Uint32(b[posMagic:]); {
	case magic == 0 && size == 0:
		return KindEnd, 0
	case magic == MagicBlank && size >= BlankSize:
		return KindBlank, size
	case (magic == MagicV1 || magic == MagicV2) && size >= MinRecordSize:
		return KindRecord, size
	}
	return KindBad, size
}

// AppendBlank appends the 8 bytes that end a file with left bytes to go.
func AppendBlank(dst []byte, left int32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(left))
	return binary.BigEndian.AppendUint32(dst, MagicBlank)
}
