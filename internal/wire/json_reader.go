// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxJSONDepth bounds nested values that are skipped.
const maxJSONDepth = 64

// jsonReader reads a JSON header in one pass. The strings it returns are parts of
// in, but for those with escapes.
type jsonReader struct {
	in  string
	pos int
}

func (r *jsonReader) bad(what string) error { return malformed("header: %s at byte %d", what, r.pos) }

// peek returns the next byte that is no space, 0 at the end.
func (r *jsonReader) peek() byte {
	if r.pos < len(r.in) && r.in[r.pos] > ' ' {
		return r.in[r.pos]
	}
	return r.peekSpaced()
}

func (r *jsonReader) peekSpaced() byte {
	for ; r.pos < len(r.in); r.pos++ {
		switch c := r.in[r.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// object reads an object and calls value for each key; value reads the value.
// Commas too many are forgiven.
func (r *jsonReader) object(value func(key string) error) error {
	if r.peek() != '{' {
		return r.bad("no object")
	}
	r.pos++
	for {
		switch r.peek() {
		case '}':
			r.pos++
			return nil
		case ',':
			r.pos++
			continue
		}
		key, err := r.key()
		if err != nil {
			return err
		}
		if r.peek() != ':' {
			return r.bad("no colon after a key")
		}
		r.pos++
		if err := value(key); err != nil {
			return err
		}
		if c := r.peek(); c != ',' && c != '}' {
			return r.bad("neither comma nor closing brace")
		}
	}
}

// key reads a key, quoted or bare.
func (r *jsonReader) key() (string, error) {
	if c := r.peek(); c == '"' || c == '\'' {
		return r.string()
	}
	start := r.pos
	for r.pos < len(r.in) && isBare(r.in[r.pos]) {
		r.pos++
	}
	if r.pos == start {
		return "", r.bad("no key")
	}
	return r.in[start:r.pos], nil
}

func isBare(c byte) bool {
	return c == '_' || c == '-' || c == '+' || c == '.' || c == '$' || c >= utf8.RuneSelf ||
		'0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// scalar reads a string, number or boolean as text; an object or array becomes
// its source text. ok is false for null.
func (r *jsonReader) scalar() (text string, ok bool, err error) {
	switch r.peek() {
	case '"', '\'':
		text, err = r.string()
		return text, err == nil, err
	}
	start := r.pos
	if err := r.skip(); err != nil {
		return "", false, err
	}
	if raw := r.in[start:r.pos]; raw != "null" {
		return raw, true, nil
	}
	return "", false, nil
}

// int32 reads a number, or one as text; null is 0.
func (r *jsonReader) int32() (int32, error) {
	r.peek()
	start := r.pos
	neg := start < len(r.in) && r.in[start] == '-'
	i := start
	if neg {
		i++
	}
	var n int64
	for digits := i; i < len(r.in) && '0' <= r.in[i] && r.in[i] <= '9' && i-digits < 10; i++ {
		n = n*10 + int64(r.in[i]-'0')
	}
	if neg {
		n = -n
	}
	if i > start && i < len(r.in) && (r.in[i] == ',' || r.in[i] == '}') && n == int64(int32(n)) && r.in[i-1] != '-' {
		r.pos = i
		return int32(n), nil
	}
	return r.int32Text()
}

func (r *jsonReader) int32Text() (int32, error) {
	s, ok, err := r.scalar()
	if err != nil || !ok || s == "" {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
	if err != nil {
		return 0, r.bad("no 32-bit number")
	}
	return int32(n), nil
}

// string reads a quoted string.
func (r *jsonReader) string() (string, error) {
	quote, rest := r.in[r.pos], r.in[r.pos+1:]
	for i := range len(rest) { // most are short: no IndexByte
		switch rest[i] {
		case quote:
			r.pos += i + 2
			return rest[:i], nil
		case '\\':
			return r.escaped(rest, quote)
		}
	}
	return "", r.bad("string without an end")
}

func (r *jsonReader) escaped(rest string, quote byte) (string, error) {
	end := endOfString(rest, quote)
	var text strings.Builder
	text.Grow(max(end, 0)) // no meaning is longer than its source
	if UnescapeJSON(&text, rest, quote) == 0 {
		return "", r.bad("string with a bad escape or without an end")
	}
	r.pos += end + 2
	return text.String(), nil
}

// endOfString returns where the closing quote is in s, which starts after the
// opening one; -1 if there is none.
func endOfString(s string, quote byte) int {
	for n := 0; ; n++ {
		i := strings.IndexByte(s[n:], quote)
		if i < 0 {
			return -1
		}
		escapes := 0
		for i > escapes && s[n+i-1-escapes] == '\\' {
			escapes++
		}
		if n += i; escapes%2 == 0 {
			return n
		}
	}
}

// skip steps over one value.
func (r *jsonReader) skip() error {
	for depth := 0; ; {
		switch c := r.peek(); c {
		case 0:
			return r.bad("value without an end")
		case '{', '[':
			if depth++; depth > maxJSONDepth {
				return r.bad("value nested too deep")
			}
			r.pos++
		case '}', ']':
			if depth == 0 {
				return r.bad("no value")
			}
			depth--
			r.pos++
		case ',', ':':
			if depth == 0 {
				return r.bad("no value")
			}
			r.pos++
		case '"', '\'':
			if err := r.skipString(c); err != nil {
				return err
			}
		default:
			if err := r.skipBare(); err != nil {
				return err
			}
		}
		// Inside a nested value the loop takes any sequence of tokens: a header
		// value that nobody knows is not worth a refusal.
		if depth == 0 {
			return nil
		}
	}
}

// skipString steps over a quoted string.
func (r *jsonReader) skipString(quote byte) error {
	end := endOfString(r.in[r.pos+1:], quote)
	if end < 0 {
		return r.bad("string without an end")
	}
	r.pos += end + 2
	return nil
}

func (r *jsonReader) skipBare() error {
	start := r.pos
	for r.pos < len(r.in) && isBare(r.in[r.pos]) {
		r.pos++
	}
	if r.pos == start {
		return r.bad("unexpected character")
	}
	return nil
}
