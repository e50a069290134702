// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strconv"
	"unicode/utf8"
)

// appendJSON writes the header as Java does: keys in alphabetical order, absent
// ones left out, no spaces. Every ext value is a string.
func appendJSON(dst []byte, c *Command) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(c.Code), 10)
	if c.Ext != nil {
		dst = append(dst, `,"extFields":{`...)
		for i, f := range c.Ext {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSONString(dst, f.Key)
			dst = append(dst, ':')
			dst = AppendJSONString(dst, f.Value)
		}
		dst = append(dst, '}')
	}
	dst = append(dst, `,"flag":`...)
	dst = strconv.AppendInt(dst, int64(c.Flag), 10)
	dst = append(dst, `,"language":"`...)
	dst = append(dst, c.Language.String()...)
	dst = append(dst, `","opaque":`...)
	dst = strconv.AppendInt(dst, int64(c.Opaque), 10)
	if c.Remark != "" || c.EmptyRemark {
		dst = append(dst, `,"remark":`...)
		dst = AppendJSONString(dst, c.Remark)
	}
	if c.namesType {
		dst = append(dst, `,"serializeTypeCurrentRPC":"JSON"`...)
	}
	dst = append(dst, `,"version":`...)
	dst = strconv.AppendInt(dst, int64(c.Version), 10)
	return append(dst, '}')
}

const hexDigits = "0123456789abcdef"

// AppendJSONString appends s as a JSON string: quotes, backslashes and control
// characters escaped, bytes that are not UTF-8 replaced by U+FFFD (a Java peer
// would refuse the whole header).
func AppendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			_, size := utf8.DecodeRuneInString(s[i:])
			if size == 1 {
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		if c == '"' || c == '\\' {
			dst = append(dst, '\\', c)
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
