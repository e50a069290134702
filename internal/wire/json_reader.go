// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxJSONDepth bounds nested values that are skipped.
const maxJSONDepth = 64

// jsonReader reads a JSON header in one pass. All strings it returns lie in one
// buffer, text.
type jsonReader struct {
	in   []byte
	pos  int
	text strings.Builder
}

func (r *jsonReader) bad(what string) error { return malformed("header: %s at byte %d", what, r.pos) }

func (r *jsonReader) skipSpace() {
	for r.pos < len(r.in) {
		switch r.in[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// peek returns the next byte that is no space, 0 at the end.
func (r *jsonReader) peek() byte {
	r.skipSpace()
	if r.pos < len(r.in) {
		return r.in[r.pos]
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
	return r.keep(r.in[start:r.pos]), nil
}

func isBare(c byte) bool {
	return c == '_' || c == '-' || c == '+' || c == '.' || c == '$' || c >= utf8.RuneSelf ||
		'0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (r *jsonReader) keep(b []byte) string {
	at := r.text.Len()
	r.text.Write(b)
	return r.text.String()[at:]
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
	if raw := r.in[start:r.pos]; !bytes.Equal(raw, []byte("null")) {
		return r.keep(raw), true, nil
	}
	return "", false, nil
}

// int32 reads a number, or one as text; null is 0.
func (r *jsonReader) int32() (int32, error) {
	r.skipSpace()
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
	start := r.pos + 1
	escaped, err := r.skipString(r.in[r.pos])
	if err != nil {
		return "", err
	}
	inside := r.in[start : r.pos-1]
	if !escaped {
		return r.keep(inside), nil
	}
	at := r.text.Len()
	if !UnescapeJSON(&r.text, inside) {
		return "", r.bad("bad escape in the string that ends")
	}
	return r.text.String()[at:], nil
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
			if _, err := r.skipString(c); err != nil {
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

// skipString steps over a quoted string and says whether it has escapes.
func (r *jsonReader) skipString(quote byte) (escaped bool, err error) {
	for i := r.pos + 1; i < len(r.in); i++ {
		switch r.in[i] {
		case '\\':
			escaped = true
			i++
		case quote:
			r.pos = i + 1
			return escaped, nil
		}
	}
	return escaped, r.bad("string without an end")
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
