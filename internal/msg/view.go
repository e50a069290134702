// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"encoding/binary"
	"fmt"
	"iter"
	"net/netip"
)

// View is one whole record read in place. Its accessors neither copy nor check:
// make one with ParseView only. What they return shares the record's memory.
type View []byte

// ParseView checks the structure of the record at the start of b and returns a
// view of it and its size. Bytes after the record are not looked at.
func ParseView(b []byte) (View, int, error) {
	if len(b) < 8 {
		return nil, 0, fmt.Errorf("record: %d bytes: %w", len(b), ErrTruncated)
	}
	size := int(int32(binary.BigEndian.Uint32(b)))
	magic := binary.BigEndian.Uint32(b[posMagic:])
	if magic != MagicV1 && magic != MagicV2 {
		return nil, 0, fmt.Errorf("record: magic %#x: %w", magic, ErrCorrupt)
	}
	if size < MinRecordSize {
		return nil, 0, fmt.Errorf("record: size %d: %w", size, ErrCorrupt)
	}
	if size > len(b) {
		return nil, 0, fmt.Errorf("record: size %d, %d bytes there: %w", size, len(b), ErrTruncated)
	}
	v := View(b[:size:size])
	if err := v.check(magic); err != nil {
		return nil, 0, fmt.Errorf("record: %w", err)
	}
	return v, size, nil
}

// check follows the lengths; they have to end exactly at the end of the record,
// because clients step from record to record by them and not by its size.
func (v View) check(magic uint32) error {
	at := v.bodyLenPos()
	if at+4 > len(v) {
		return fmt.Errorf("hosts end behind the record: %w", ErrCorrupt)
	}
	body := int(int32(binary.BigEndian.Uint32(v[at:])))
	at += 4
	if body < 0 || body > len(v)-at {
		return fmt.Errorf("body of %d bytes: %w", body, ErrCorrupt)
	}
	at += body
	width := 1
	if magic == MagicV2 {
		width = 2
	}
	if at+width > len(v) {
		return fmt.Errorf("no room for the topic: %w", ErrCorrupt)
	}
	topic := v.topicLen(at)
	at += width
	if topic < 0 || topic > len(v)-at {
		return fmt.Errorf("topic of %d bytes: %w", topic, ErrCorrupt)
	}
	at += topic
	if at+2 > len(v) {
		return fmt.Errorf("no room for the properties: %w", ErrCorrupt)
	}
	props := int(int16(binary.BigEndian.Uint16(v[at:])))
	if at += 2; props < 0 || at+props != len(v) {
		return fmt.Errorf("properties of %d bytes, %d left: %w", props, len(v)-at, ErrCorrupt)
	}
	return nil
}

// topicLen reads the length at the given place; both forms are signed.
func (v View) topicLen(at int) int {
	if v.Magic() == MagicV2 {
		return int(int16(binary.BigEndian.Uint16(v[at:])))
	}
	return int(int8(v[at]))
}

// Views iterates over the records of a pull answer. A record that is broken is
// given as an error and ends the iteration.
func Views(b []byte) iter.Seq2[View, error] {
	return func(yield func(View, error) bool) {
		for len(b) > 0 {
			v, n, err := ParseView(b)
			if !yield(v, err) || err != nil {
				return
			}
			b = b[n:]
		}
	}
}

func (v View) u32(at int) uint32 { return binary.BigEndian.Uint32(v[at:]) }
func (v View) i64(at int) int64  { return int64(binary.BigEndian.Uint64(v[at:])) }

// Places behind the born host depend on how long the hosts are.
func (v View) storeTimePos() int { return posBornHost + v.hostSize(FlagBornHostV6) }
func (v View) storeHostPos() int { return v.storeTimePos() + 8 }
func (v View) reconsumePos() int { return v.storeHostPos() + v.hostSize(FlagStoreHostV6) }
func (v View) bodyLenPos() int   { return v.reconsumePos() + 12 }

func (v View) hostSize(bit int32) int {
	if v.SysFlag()&bit != 0 {
		return hostV6Size
	}
	return hostV4Size
}

// Size is the whole record's length in bytes.
func (v View) Size() int { return len(v) }

// Magic is MagicV1 or MagicV2.
func (v View) Magic() uint32 { return v.u32(posMagic) }

// BodyCRC is the stored check sum of the body.
func (v View) BodyCRC() uint32 { return v.u32(posBodyCRC) }

// QueueID is the queue's number within its broker.
func (v View) QueueID() int32 { return int32(v.u32(posQueueID)) }

// Flag is the application's own flag.
func (v View) Flag() int32 { return int32(v.u32(posFlag)) }

// QueueOffset is the message's place in its queue.
func (v View) QueueOffset() int64 { return v.i64(posQueueOffset) }

// PhysicalOffset is the record's place in the commit log.
func (v View) PhysicalOffset() int64 { return v.i64(posPhysical) }

// SysFlag holds the Flag… bits.
func (v View) SysFlag() int32 { return int32(v.u32(posSysFlag)) }

// BornTimestamp is the sender's time in milliseconds.
func (v View) BornTimestamp() int64 { return v.i64(posBornTime) }

// StoreTimestamp is the broker's time in milliseconds.
func (v View) StoreTimestamp() int64 { return v.i64(v.storeTimePos()) }

// BornHost is the sender's address.
func (v View) BornHost() netip.AddrPort { return v.host(posBornHost, FlagBornHostV6) }

// StoreHost is the broker's address.
func (v View) StoreHost() netip.AddrPort { return v.host(v.storeHostPos(), FlagStoreHostV6) }

// host keeps the low 16 bits of a port, which is all that a port has.
func (v View) host(at int, bit int32) netip.AddrPort {
	if v.SysFlag()&bit != 0 {
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(v[at:])), uint16(v.u32(at+16)))
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(v[at:])), uint16(v.u32(at+4)))
}

// ReconsumeTimes counts how often the message was sent back.
func (v View) ReconsumeTimes() int32 { return int32(v.u32(v.reconsumePos())) }

// PreparedTransactionOffset is the commit-log offset of the half message.
func (v View) PreparedTransactionOffset() int64 { return v.i64(v.reconsumePos() + 4) }

// Body is the body as stored, maybe compressed.
func (v View) Body() []byte {
	at := v.bodyLenPos()
	end := at + 4 + int(v.u32(at))
	return v[at+4 : end : end]
}

// Topic is the topic's name. Comparing or looking up string(v.Topic()) does not
// allocate.
func (v View) Topic() []byte {
	start, end := v.topicRange()
	return v[start:end:end]
}

func (v View) topicRange() (start, end int) {
	at := v.bodyLenPos()
	at += 4 + int(v.u32(at))
	width := 1
	if v.Magic() == MagicV2 {
		width = 2
	}
	return at + width, at + width + v.topicLen(at)
}

// Properties is the raw property string.
func (v View) Properties() []byte {
	_, end := v.topicRange()
	return v[end+2:]
}

// Property finds one property without copying.
func (v View) Property(name string) ([]byte, bool) { return findProperty(v.Properties(), name) }

// EachProperty iterates over the properties without copying, in their order.
func (v View) EachProperty() iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for raw := v.Properties(); len(raw) > 0; {
			name, value, rest, ok := nextPair(raw)
			if ok && !yield(name, value) {
				return
			}
			raw = rest
		}
	}
}

// TagHash is the tag code of the message, 0 without a tag.
func (v View) TagHash() int64 {
	tag, _ := v.Property(PropTags)
	return tagHash(tag)
}

// KeyHash is the hash of the ordering key, 0 without a key.
func (v View) KeyHash() uint32 {
	key, ok := v.Property(PropShardingKey)
	if !ok {
		key, _ = v.Property(PropShardingKeyGo)
	}
	return keyHash(key)
}

// Message copies the record into a value; only the body shares memory.
func (v View) Message() Message {
	start, end := v.topicRange()
	text := string(v[start:]) // one copy for topic and properties
	return Message{
		Topic:                     text[:end-start],
		QueueID:                   v.QueueID(),
		Flag:                      v.Flag(),
		SysFlag:                   v.SysFlag(),
		QueueOffset:               v.QueueOffset(),
		PhysicalOffset:            v.PhysicalOffset(),
		BornTimestamp:             v.BornTimestamp(),
		StoreTimestamp:            v.StoreTimestamp(),
		BornHost:                  v.BornHost(),
		StoreHost:                 v.StoreHost(),
		ReconsumeTimes:            v.ReconsumeTimes(),
		PreparedTransactionOffset: v.PreparedTransactionOffset(),
		Body:                      v.Body(),
		Properties:                text[end-start+2:],
		StoreSize:                 int32(len(v)),
		BodyCRC:                   v.BodyCRC(),
	}
}
