// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// The binary header: code int16, language byte, version int16, opaque int32,
// flag int32, remark (int32 length), ext block (int32 length) of entries, each
// a key (int16 length) and a value (int32 length). All big-endian.
const binaryFixed = 2 + 1 + 2 + 4 + 4

func decodeBinary(h []byte, c *Command) error {
	if len(h) < binaryFixed+4+4 {
		return malformed("binary header of %d bytes", len(h))
	}
	c.Code = int32(int16(binary.BigEndian.Uint16(h)))
	c.Language = languageOf(int(h[2]))
	c.Version = int32(int16(binary.BigEndian.Uint16(h[3:])))
	c.Opaque = int32(binary.BigEndian.Uint32(h[5:]))
	c.Flag = int32(binary.BigEndian.Uint32(h[9:]))
	text := string(h[binaryFixed:])
	remark, text, ok := cut(text, 4)
	if !ok {
		return malformed("binary header: remark length")
	}
	c.Remark = remark
	ext, _, ok := cut(text, 4) // what follows is left unread, as in the Go client
	if !ok {
		return malformed("binary header: ext length")
	}
	return decodeBinaryExt(ext, c)
}

func decodeBinaryExt(ext string, c *Command) error {
	if ext == "" {
		return nil
	}
	const smallest = 2 + 4
	c.Ext = make(Fields, 0, min(len(ext)/smallest+1, 16))
	for ext != "" {
		var f Field
		var ok bool
		if f.Key, ext, ok = cut(ext, 2); !ok {
			return malformed("binary header: key length of ext entry %d", len(c.Ext))
		}
		if f.Value, ext, ok = cut(ext, 4); !ok {
			return malformed("binary header: value length of ext entry %d", len(c.Ext))
		}
		if len(c.Ext) == MaxFields {
			return malformed("more than %d ext entries", MaxFields)
		}
		c.Ext = append(c.Ext, f)
	}
	return nil
}

// cut takes a string with a length of lenBytes (2 or 4) bytes, read signed, off
// the front of s.
func cut(s string, lenBytes int) (head, rest string, ok bool) {
	if len(s) < lenBytes {
		return "", s, false
	}
	n := int(int16(uint16(s[0])<<8 | uint16(s[1])))
	if lenBytes == 4 {
		n = n<<16 | int(s[2])<<8 | int(s[3])
	}
	s = s[lenBytes:]
	if n < 0 || n > len(s) {
		return "", s, false
	}
	return s[:n], s[n:], true
}

func appendBinary(dst []byte, c *Command) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(c.Code))
	dst = append(dst, byte(languageOf(int(c.Language))))
	dst = binary.BigEndian.AppendUint16(dst, uint16(c.Version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(c.Opaque))
	dst = binary.BigEndian.AppendUint32(dst, uint32(c.Flag))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(c.Remark)))
	dst = append(dst, c.Remark...)
	extAt := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for _, f := range c.Ext {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(f.Key)))
		dst = append(dst, f.Key...)
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(f.Value)))
		dst = append(dst, f.Value...)
	}
	binary.BigEndian.PutUint32(dst[extAt:], uint32(len(dst)-extAt-4))
	return dst
}
