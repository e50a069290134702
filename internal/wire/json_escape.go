// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// UnescapeJSON writes what the inside of a quoted JSON string means, and says
// whether its escapes are well formed. It never writes more bytes than it
// reads. A lone surrogate becomes U+FFFD.
func UnescapeJSON(w *strings.Builder, s []byte) bool {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			w.Write(s)
			return true
		}
		w.Write(s[:i])
		n := unescapeOne(w, s[i:])
		if n == 0 {
			return false
		}
		s = s[i+n:]
	}
}

// unescapeOne reads the escape at the start of s (two of them for a surrogate
// pair) and returns its length, 0 if it is malformed.
func unescapeOne(w *strings.Builder, s []byte) int {
	if len(s) < 2 {
		return 0
	}
	c := s[1]
	switch c {
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'v':
		c = '\v'
	case 'u':
		return unescapeUnicode(w, s)
	case '"', '\'', '\\', '/':
	default:
		return 0
	}
	w.WriteByte(c)
	return 2
}

func unescapeUnicode(w *strings.Builder, s []byte) int {
	const single = len(`\u0000`)
	c, ok := hex4(s)
	if !ok {
		return 0
	}
	n := single
	if utf16.IsSurrogate(c) {
		low, _ := hex4(s[single:])
		if c = utf16.DecodeRune(c, low); c != utf8.RuneError {
			n += single
		}
	}
	w.WriteRune(c)
	return n
}

// hex4 reads \uXXXX.
func hex4(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return utf8.RuneError, false
	}
	var c rune
	for _, b := range s[2:6] {
		switch {
		case '0' <= b && b <= '9':
			b -= '0'
		case 'a' <= b|0x20 && b|0x20 <= 'f':
			b = b | 0x20 - 'a' + 10
		default:
			return utf8.RuneError, false
		}
		c = c<<4 | rune(b)
	}
	return c, true
}
