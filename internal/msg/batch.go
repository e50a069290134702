// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// BatchMessage is one message of a batch send body. Topic, queue, times and host
// come from the request around it.
type BatchMessage struct {
	Flag       int32
	Body       []byte
	Properties string // raw property string
}

// Layout: total size 4, magic 4 (0), body CRC 4 (0), flag 4, body 4 + n,
// properties 2 + n.
const batchFixed = 22

// maxUnwrapped bounds the properties of all messages of an inner batch together:
// the outer ones are repeated in each of them.
const maxUnwrapped = 64 << 20

// AppendBatch appends the batch send body of msgs.
func AppendBatch(dst []byte, msgs []BatchMessage) ([]byte, error) {
	start := len(dst)
	for i := range msgs {
		m := &msgs[i]
		size := batchFixed + len(m.Body) + len(m.Properties)
		if len(m.Properties) > MaxProperties || size > math.MaxInt32 {
			return dst[:start], fmt.Errorf("batch: message %d has %d bytes of properties and %d of body: %w",
				i, len(m.Properties), len(m.Body), ErrTooLong)
		}
		dst = binary.BigEndian.AppendUint32(dst, uint32(size))
		dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
		dst = binary.BigEndian.AppendUint32(dst, uint32(m.Flag))
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(m.Body)))
		dst = append(dst, m.Body...)
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.Properties)))
		dst = append(dst, m.Properties...)
	}
	return dst, nil
}

// DecodeBatch reads a batch send body of at most limit messages; 0 means no
// limit but the length of b. Bodies share b's memory.
func DecodeBatch(b []byte, limit int) ([]BatchMessage, error) {
	var out []BatchMessage
	for at := 0; at < len(b); {
		if limit > 0 && len(out) == limit {
			return nil, fmt.Errorf("batch: more than %d messages: %w", limit, ErrTooLong)
		}
		m, n, err := decodeBatchMessage(b[at:])
		if err != nil {
			return nil, fmt.Errorf("batch: message %d at byte %d: %w", len(out), at, err)
		}
		out = append(out, m)
		at += n
	}
	return out, nil
}

func decodeBatchMessage(b []byte) (m BatchMessage, n int, err error) {
	if len(b) < batchFixed {
		return m, 0, fmt.Errorf("%d bytes: %w", len(b), ErrTruncated)
	}
	n = int(int32(binary.BigEndian.Uint32(b)))
	if n < batchFixed {
		return m, 0, fmt.Errorf("size %d: %w", n, ErrCorrupt)
	}
	if n > len(b) {
		return m, 0, fmt.Errorf("size %d, %d bytes there: %w", n, len(b), ErrTruncated)
	}
	m.Flag = int32(binary.BigEndian.Uint32(b[12:]))
	body := int(int32(binary.BigEndian.Uint32(b[16:])))
	if body < 0 || body > n-batchFixed {
		return m, 0, fmt.Errorf("body of %d bytes in a message of %d: %w", body, n, ErrCorrupt)
	}
	end := 20 + body
	m.Body = b[20:end:end]
	props := int(int16(binary.BigEndian.Uint16(b[end:])))
	if props < 0 || end+2+props != n {
		return m, 0, fmt.Errorf("properties of %d bytes in a message of %d: %w", props, n, ErrCorrupt)
	}
	m.Properties = string(b[end+2 : n])
	return m, n, nil
}

// Unwrap returns the messages inside an inner batch (a record of a topic whose
// queue type is BatchCQ), or m itself if it is none. Each gets the outer
// properties under its own, and its own queue offset.
func Unwrap(m Message) ([]Message, error) {
	if m.SysFlag&FlagNeedUnwrap == 0 || m.SysFlag&FlagInnerBatch == 0 {
		return []Message{m}, nil
	}
	inner, err := DecodeBatch(m.Body, 0)
	if err != nil {
		return nil, fmt.Errorf("unwrap message at queue offset %d: %w", m.QueueOffset, err)
	}
	base := m.QueueOffset
	if s, ok := m.Property(PropInnerBase); ok {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			base = n
		}
	}
	out := make([]Message, len(inner))
	merged := 0
	for i := range inner {
		one := m
		one.SysFlag &^= FlagNeedUnwrap | FlagInnerBatch
		one.QueueOffset = base + int64(i)
		one.Flag, one.Body, one.BodyCRC = inner[i].Flag, inner[i].Body, BodyCRC(inner[i].Body)
		if inner[i].Properties != "" {
			one.Properties = mergeProperties(m.Properties, inner[i].Properties)
			merged += len(one.Properties)
		}
		if merged > maxUnwrapped {
			return nil, fmt.Errorf("unwrap message at queue offset %d: more than %d bytes of properties: %w",
				m.QueueOffset, maxUnwrapped, ErrTooLong)
		}
		out[i] = one
	}
	return out, nil
}

func mergeProperties(under, over string) string {
	for name, value := range Properties(over) {
		under = SetProperty(under, name, value)
	}
	return under
}
