// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// UnescapeJSON writes what a JSON string means: s starts after the opening
// quote. It returns the length of the string with its closing quote, or 0 if
// there is none or an escape is malformed. It never writes more bytes than it
// reads. A lone surrogate becomes U+FFFD.
func UnescapeJSON(w *strings.Builder, s string, quote byte) int {
	for n := 0; ; {
		plain := s[n:]
		escape := strings.IndexByte(plain, '\\')
		if escape >= 0 {
			plain = plain[:escape]
		}
		if end := strings.IndexByte(plain, quote); end >= 0 {
			w.WriteString(plain[:end])
			return n + end + 1
		}
		if escape < 0 {
			return 0
		}
		w.WriteString(plain)
		n += escape
		k := unescapeOne(w, s[n:])
		if k == 0 {
			return 0
		}
		n += k
	}
}

// unescapeOne reads the escape at the start of s (two of them for a surrogate
// pair) and returns its length, 0 if it is malformed.
func unescapeOne(w *strings.Builder, s string) int {
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

func unescapeUnicode(w *strings.Builder, s string) int {
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
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return utf8.RuneError, false
	}
	var c rune
	for _, b := range []byte(s[2:6]) {
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
