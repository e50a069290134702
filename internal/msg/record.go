// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"net/netip"
)

// Layout of a stored record. All integers are big-endian.
//
//	 0 total size        4   whole record, these bytes included
//	 4 magic             4
//	 8 body CRC          4   CRC-32 (IEEE) of the stored body, without its top bit
//	12 queue id          4
//	16 flag              4
//	20 queue offset      8
//	28 physical offset   8   the record's place in the commit log
//	36 sysFlag           4
//	40 born timestamp    8
//	48 born host         8   or 20: address and port, the port as int32
//	   store timestamp   8
//	   store host        8   or 20
//	   reconsume times   4
//	   prepared offset   8
//	   body              4 + n
//	   topic             1 + n, or 2 + n with MagicV2
//	   properties        2 + n
const (
	MagicV1    uint32 = 0xDAA320A7
	MagicV2    uint32 = 0xDAA320AB // topic of more than 127 bytes
	MagicBlank uint32 = 0xCBD43194 // filler at the end of a file

	// MinRecordSize is the size of a record with nothing in it.
	MinRecordSize = 91
	// MaxTopicV1 is the longest topic that fits a V1 record.
	MaxTopicV1 = 127
	// MaxProperties is the longest property string.
	MaxProperties = math.MaxInt16

	posMagic       = 4
	posBodyCRC     = 8
	posQueueID     = 12
	posFlag        = 16
	posQueueOffset = 20
	posPhysical    = 28
	posSysFlag     = 36
	posBornTime    = 40
	posBornHost    = 48
	hostV4Size     = 8
	hostV6Size     = 20
	crcMask        = 0x7fffffff
)

// Errors of the record codec, to be tested with errors.Is.
var (
	// ErrTruncated: the bytes end before the record does.
	ErrTruncated = errors.New("record is cut off")
	// ErrCorrupt: the bytes cannot be a record, whatever follows.
	ErrCorrupt = errors.New("not a valid record")
	// ErrTooLong: a field of the message does not fit the format.
	ErrTooLong = errors.New("message does not fit the record format")
)

// BodyCRC returns the check sum that a record keeps of its body: 0 for no body.
func BodyCRC(body []byte) uint32 { return crc32.ChecksumIEEE(body) & crcMask }

// RecordSize returns how many bytes AppendRecord will append.
func RecordSize(m *Message) (int, error) {
	if m.Topic == "" {
		return 0, fmt.Errorf("record: no topic: %w", ErrCorrupt)
	}
	if len(m.Topic) > MaxLongTopic {
		return 0, fmt.Errorf("record: topic of %d bytes, at most %d: %w", len(m.Topic), MaxLongTopic, ErrTooLong)
	}
	if len(m.Properties) > MaxProperties {
		return 0, fmt.Errorf("record: properties of %d bytes, at most %d: %w", len(m.Properties), MaxProperties, ErrTooLong)
	}
	n := MinRecordSize + len(m.Body) + len(m.Topic) + len(m.Properties)
	if len(m.Topic) > MaxTopicV1 {
		n++
	}
	flag := recordSysFlag(m)
	if flag&FlagBornHostV6 != 0 {
		n += hostV6Size - hostV4Size
	}
	if flag&FlagStoreHostV6 != 0 {
		n += hostV6Size - hostV4Size
	}
	if n > math.MaxInt32 {
		return 0, fmt.Errorf("record: %d bytes in all: %w", n, ErrTooLong)
	}
	return n, nil
}

// AppendRecord appends the stored record of m to dst. It works out sizes, magic
// and body check sum itself and sets the host bits of sysFlag where a host needs
// 16 bytes; a bit that is set already stays, and a 4-byte host is then written
// as a mapped one, as RocketMQ does. It allocates only if dst has no room.
func AppendRecord(dst []byte, m *Message) ([]byte, error) {
	n, err := RecordSize(m)
	if err != nil {
		return dst, err
	}
	dst = appendFixed(dst, m, n)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.Properties)))
	return append(dst, m.Properties...), nil
}

// appendFixed appends everything before the length of the properties.
func appendFixed(dst []byte, m *Message, size int) []byte {
	be := binary.BigEndian
	magic := MagicV1
	if len(m.Topic) > MaxTopicV1 {
		magic = MagicV2
	}
	flag := recordSysFlag(m)
	dst = be.AppendUint32(dst, uint32(size))
	dst = be.AppendUint32(dst, magic)
	dst = be.AppendUint32(dst, BodyCRC(m.Body))
	dst = be.AppendUint32(dst, uint32(m.QueueID))
	dst = be.AppendUint32(dst, uint32(m.Flag))
	dst = be.AppendUint64(dst, uint64(m.QueueOffset))
	dst = be.AppendUint64(dst, uint64(m.PhysicalOffset))
	dst = be.AppendUint32(dst, uint32(flag))
	dst = be.AppendUint64(dst, uint64(m.BornTimestamp))
	dst = appendHost(dst, m.BornHost, flag&FlagBornHostV6 != 0)
	dst = be.AppendUint64(dst, uint64(m.StoreTimestamp))
	dst = appendHost(dst, m.StoreHost, flag&FlagStoreHostV6 != 0)
	dst = be.AppendUint32(dst, uint32(m.ReconsumeTimes))
	dst = be.AppendUint64(dst, uint64(m.PreparedTransactionOffset))
	dst = be.AppendUint32(dst, uint32(len(m.Body)))
	dst = append(dst, m.Body...)
	if magic == MagicV2 {
		dst = be.AppendUint16(dst, uint16(len(m.Topic)))
	} else {
		dst = append(dst, byte(len(m.Topic)))
	}
	return append(dst, m.Topic...)
}

// recordSysFlag returns m's sysFlag with the bits that its hosts need.
func recordSysFlag(m *Message) int32 {
	flag := m.SysFlag
	if needs16(m.BornHost.Addr()) {
		flag |= FlagBornHostV6
	}
	if needs16(m.StoreHost.Addr()) {
		flag |= FlagStoreHostV6
	}
	return flag
}

func needs16(a netip.Addr) bool { return a.Is6() && !a.Is4In6() }

// appendHost writes no address as 0.0.0.0.
func appendHost(dst []byte, host netip.AddrPort, v6 bool) []byte {
	addr := host.Addr()
	if !addr.IsValid() {
		addr = netip.IPv4Unspecified()
	}
	if v6 {
		ip := addr.As16()
		dst = append(dst, ip[:]...)
	} else {
		ip := addr.Unmap().As4()
		dst = append(dst, ip[:]...)
	}
	return binary.BigEndian.AppendUint32(dst, uint32(host.Port()))
}

// DecodeRecord reads the record at the start of b and returns its size. The
// body shares b's memory; topic and properties are copied. Check sums are not
// looked at: see VerifyRecord.
func DecodeRecord(b []byte) (m Message, n int, err error) {
	v, n, err := ParseView(b)
	if err != nil {
		return Message{}, 0, err
	}
	return v.Message(), n, nil
}

// DecodeRecords reads all records of a pull answer. Bodies share b's memory.
func DecodeRecords(b []byte) ([]Message, error) {
	var out []Message
	for at := 0; at < len(b); {
		m, n, err := DecodeRecord(b[at:])
		if err != nil {
			return out, fmt.Errorf("record %d at byte %d: %w", len(out), at, err)
		}
		out = append(out, m)
		at += n
	}
	return out, nil
}

// PatchRecord writes what is known only when a record gets its place in the log.
// rec is one whole record. A record with a whole-record check has to be sealed
// again afterwards (SealRecord).
func PatchRecord(rec []byte, queueOffset, physicalOffset, storeTimestamp int64) {
	be := binary.BigEndian
	be.PutUint64(rec[posQueueOffset:], uint64(queueOffset))
	be.PutUint64(rec[posPhysical:], uint64(physicalOffset))
	be.PutUint64(rec[View(rec).storeTimePos():], uint64(storeTimestamp))
}
