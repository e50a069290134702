// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"encoding/binary"
	"fmt"
)

// kind is the number of a change in its encoded form. A number is never used
// again for another change.
type kind uint8

// shape is what the codec knows of a kind of change.
type shape struct {
	version uint8 // the newest there is, which is what gets written
	// through writes c, or reads into a copy of it.
	through func(x *coder, c Change) Change
}

// fielded is a pointer to a change, which can show its fields.
type fielded[T any] interface {
	*T
	fields(x *coder)
}

func shapeOf[T Change, P fielded[T]](version uint8) shape {
	return shape{version, func(x *coder, c Change) Change {
		t, _ := c.(T) // reading, there is none yet
		P(&t).fields(x)
		return t
	}}
}

// shapeFor is the table of kinds.
func shapeFor(k kind) (shape, bool) {
	switch k {
	case 1:
		return shapeOf[PutTopic](1), true
	case 2:
		return shapeOf[DeleteTopic](1), true
	case 3:
		return shapeOf[PutGroup](1), true
	case 4:
		return shapeOf[DeleteGroup](1), true
	case 5:
		return shapeOf[SetForbidden](1), true
	case 6:
		return shapeOf[Commit](1), true
	case 7:
		return shapeOf[FixStart](1), true
	case 8:
		return shapeOf[ResetOffset](1), true
	case 9:
		return shapeOf[ClearReset](1), true
	case 10:
		return shapeOf[DropQueues](1), true
	case 11:
		return shapeOf[GrantLease](1), true
	case 12:
		return shapeOf[DropLease](1), true
	case 13:
		return shapeOf[PutKV](1), true
	case 14:
		return shapeOf[DeleteKV](1), true
	case 15:
		return shapeOf[SetMark](1), true
	case 16:
		return shapeOf[DeleteMark](1), true
	case 17:
		return shapeOf[ReserveEpochs](1), true
	case 18:
		return shapeOf[StartBroker](1), true
	case 19:
		return shapeOf[PutProducer](1), true
	case 20:
		return shapeOf[DropProducer](1), true
	case 21:
		return shapeOf[AddFrame](1), true
	case 22:
		return shapeOf[SetStateVersion](1), true
	case 128:
		return shapeOf[loadQueue](1), true
	case 129:
		return shapeOf[loadTables](1), true
	}
	return shape{}, false
}

func (PutTopic) kind() kind        { return 1 }
func (DeleteTopic) kind() kind     { return 2 }
func (PutGroup) kind() kind        { return 3 }
func (DeleteGroup) kind() kind     { return 4 }
func (SetForbidden) kind() kind    { return 5 }
func (Commit) kind() kind          { return 6 }
func (FixStart) kind() kind        { return 7 }
func (ResetOffset) kind() kind     { return 8 }
func (ClearReset) kind() kind      { return 9 }
func (DropQueues) kind() kind      { return 10 }
func (GrantLease) kind() kind      { return 11 }
func (DropLease) kind() kind       { return 12 }
func (PutKV) kind() kind           { return 13 }
func (DeleteKV) kind() kind        { return 14 }
func (SetMark) kind() kind         { return 15 }
func (DeleteMark) kind() kind      { return 16 }
func (ReserveEpochs) kind() kind   { return 17 }
func (StartBroker) kind() kind     { return 18 }
func (PutProducer) kind() kind     { return 19 }
func (DropProducer) kind() kind    { return 20 }
func (AddFrame) kind() kind        { return 21 }
func (SetStateVersion) kind() kind { return 22 }
func (loadQueue) kind() kind       { return 128 }
func (loadTables) kind() kind      { return 129 }

// appendChange appends a change: kind, version, length of the fields, fields.
func appendChange(dst []byte, c Change) []byte {
	s, _ := shapeFor(c.kind())
	x := coder{version: s.version, buf: append(dst, byte(c.kind()), s.version, 0)}
	at := len(x.buf)
	s.through(&x, c)
	n := len(x.buf) - at
	if n < 0x80 { // nearly always: the length fits the byte left for it
		x.buf[at-1] = byte(n)
		return x.buf
	}
	var size [binary.MaxVarintLen64]byte
	more := binary.PutUvarint(size[:], uint64(n)) - 1
	b := append(x.buf, size[:more]...)
	copy(b[at+more:], b[at:at+n])
	copy(b[at-1:], size[:more+1])
	return b
}

// decodeChanges calls each for every change in b.
func decodeChanges(b []byte, each func(Change) error) error {
	for n := 0; len(b) > 0; n++ {
		c, rest, err := decodeChange(b)
		if err != nil {
			return fmt.Errorf("change %d: %w", n, err)
		}
		if err := each(c); err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// decodeChange reads the first change in b.
func decodeChange(b []byte) (c Change, rest []byte, err error) {
	if len(b) < 3 {
		return nil, nil, errShort
	}
	k, version := kind(b[0]), b[1]
	s, ok := shapeFor(k)
	if !ok || version == 0 || version > s.version {
		return nil, nil, &UnknownError{Kind: uint8(k), Version: version}
	}
	head := coder{reading: true, buf: b[2:]}
	n := head.count(0, 1)
	if head.err != nil {
		return nil, nil, fmt.Errorf("kind %d: %w", k, head.err)
	}
	x := coder{reading: true, version: version, buf: head.buf[:n]}
	c = s.through(&x, nil)
	if x.err == nil && len(x.buf) > 0 {
		x.err = errNotMore
	}
	if x.err != nil {
		return nil, nil, fmt.Errorf("kind %d: %w", k, x.err)
	}
	return c, head.buf[n:], nil
}

// UnknownError says that a change is of a kind or version that this release
// does not know.
type UnknownError struct{ Kind, Version uint8 }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("change of kind %d version %d is unknown: the data was written by a newer release, start that one", e.Kind, e.Version)
}
