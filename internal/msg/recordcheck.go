// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
)

// CheckSize is what AppendCheckedRecord adds to a record: a property that holds
// the CRC-32 of all bytes before it, ten digits, the lowest first.
const CheckSize = len(PropCRC) + 1 + checkDigits + 1

const checkDigits = 10

// ErrChecksum: the bytes of a record are not those that were written.
var ErrChecksum = errors.New("check sum does not match")

// CheckedRecordSize returns how many bytes AppendCheckedRecord will append.
func CheckedRecordSize(m *Message) (int, error) {
	n, err := RecordSize(m)
	if err != nil {
		return 0, err
	}
	props := checkedPropsSize(m.Properties)
	if props > MaxProperties {
		return 0, fmt.Errorf("record: properties of %d bytes with the check, at most %d: %w", props, MaxProperties, ErrTooLong)
	}
	return n - len(m.Properties) + props, nil
}

// AppendCheckedRecord is AppendRecord with a check over the whole record, in the
// form that RocketMQ reads and verifies: the property __CRC32# at the very end.
// A check that the properties already carry, from another record, is replaced.
func AppendCheckedRecord(dst []byte, m *Message) ([]byte, error) {
	n, err := CheckedRecordSize(m)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	dst = appendFixed(dst, m, n)
	dst = binary.BigEndian.AppendUint16(dst, uint16(checkedPropsSize(m.Properties)))
	props := WithoutCheck(m.Properties)
	dst = append(dst, props...)
	if needsSeparator(props) {
		dst = append(dst, propEnd)
	}
	dst = append(dst, PropCRC...)
	dst = append(dst, propIs)
	dst = append(dst, "0000000000"...)
	dst = append(dst, propEnd)
	SealRecord(dst[start:])
	return dst, nil
}

func checkedPropsSize(props string) int {
	props = WithoutCheck(props)
	n := len(props) + CheckSize
	if needsSeparator(props) {
		n++
	}
	return n
}

// SealRecord works out the check of rec again, after a patch. rec is one whole
// record; it reports false, and does nothing, if rec carries no check.
func SealRecord(rec []byte) bool {
	if !HasCheck(rec) {
		return false
	}
	covered := len(rec) - CheckSize
	putCheck(rec[covered+len(PropCRC)+1:], crc32.ChecksumIEEE(rec[:covered])&crcMask)
	return true
}

// HasCheck reports whether the record ends with a whole-record check.
func HasCheck(rec []byte) bool {
	if len(rec) < MinRecordSize+CheckSize {
		return false
	}
	tail := rec[len(rec)-CheckSize:]
	return string(tail[:len(PropCRC)]) == PropCRC && tail[len(PropCRC)] == propIs && tail[CheckSize-1] == propEnd
}

// VerifyCheckedRecord is VerifyRecord for a record that must carry a check over
// all of it: only then no change of any bit goes unnoticed, because damage to the
// check's own name makes a record look as if it had none.
func VerifyCheckedRecord(rec []byte) error {
	if err := VerifyRecord(rec); err != nil {
		return err
	}
	if !HasCheck(rec) {
		return fmt.Errorf("record: no check over the whole record: %w", ErrChecksum)
	}
	return nil
}

// VerifyRecord checks one whole record: its structure, its body's check sum and,
// where it has one, the check over all of it. rec must be exactly the record.
func VerifyRecord(rec []byte) error {
	v, n, err := ParseView(rec)
	if err != nil {
		return err
	}
	if n != len(rec) {
		return fmt.Errorf("record: %d bytes follow it: %w", len(rec)-n, ErrCorrupt)
	}
	if HasCheck(rec) {
		covered := n - CheckSize
		got, ok := readCheck(rec[covered+len(PropCRC)+1:])
		if !ok || got != crc32.ChecksumIEEE(rec[:covered])&crcMask {
			return fmt.Errorf("record: whole record: %w", ErrChecksum)
		}
	}
	if got := BodyCRC(v.Body()); got != v.BodyCRC() {
		return fmt.Errorf("record: body: stored %#x, found %#x: %w", v.BodyCRC(), got, ErrChecksum)
	}
	return nil
}

// WithoutCheck returns a property string without the whole-record check, which
// is no business of an application's.
func WithoutCheck(props string) string {
	if n := len(props) - CheckSize; n >= 0 && strings.HasPrefix(props[n:], PropCRC+"\x01") && (n == 0 || props[n-1] == propEnd) {
		return props[:n]
	}
	if !strings.Contains(props, PropCRC) {
		return props
	}
	return DeleteProperty(props, PropCRC)
}

func putCheck(dst []byte, sum uint32) {
	for i := range checkDigits {
		dst[i] = byte('0' + sum%10)
		sum /= 10
	}
}

func readCheck(b []byte) (uint32, bool) {
	var sum uint64
	for i := checkDigits - 1; i >= 0; i-- {
		if b[i] < '0' || b[i] > '9' {
			return 0, false
		}
		sum = sum*10 + uint64(b[i]-'0')
	}
	return uint32(sum), sum <= crcMask
}
