// SPDX-License-Identifier: Apache-2.0

package body

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/orderlymq/orderly/internal/wire"
)

// ErrMalformed is returned, wrapped, for a body that cannot be read.
var ErrMalformed = errors.New("malformed body")

// maxDepth bounds nested values.
const maxDepth = 64

// reader reads one document from front to end, as leniently as fastjson. Its
// first error sticks, and makes every method return at once.
//
// The cost of a document is bounded: each array item or table entry takes one
// unit of budget and each object objectCost, so that a body of empty objects
// cannot make the decoder build many times its own length.
type reader struct {
	in     []byte
	pos    int
	depth  int
	budget int
	refs   *refs // nil in a document inside a string
	err    error
}

const (
	freeBudget = 16 << 10
	objectCost = 4
)

// decode reads a whole document. what names the body in errors.
func decode(what string, data []byte, value func(*reader)) error {
	r := newReader(data)
	r.refs = &refs{budget: refBudget + 4*len(data), at: map[string]int{}}
	return r.document(what, value)
}

func newReader(data []byte) *reader {
	return &reader{in: data, budget: freeBudget + len(data)/4}
}

func (r *reader) document(what string, value func(*reader)) error {
	if r.peek() == 0 {
		return fmt.Errorf("%w: %s is empty", ErrMalformed, what)
	}
	value(r)
	if c := r.peek(); r.err == nil && r.pos != len(r.in) {
		r.bad(fmt.Sprintf("%q after the end", c))
	}
	if r.err != nil {
		return fmt.Errorf("%s: %w", what, r.err)
	}
	return nil
}

func (r *reader) bad(why string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s at byte %d", ErrMalformed, why, r.pos)
	}
}

// charge takes n units of the budget.
func (r *reader) charge(n int) bool {
	if r.budget -= n; r.budget < 0 {
		r.bad("more entries than its length is worth")
	}
	return r.err == nil
}

// peek returns the next byte that is no space, 0 at the end or after an error.
func (r *reader) peek() byte {
	if r.err != nil {
		return 0
	}
	for ; r.pos < len(r.in); r.pos++ {
		switch c := r.in[r.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// isNull steps over a null.
func (r *reader) isNull() bool {
	if r.peek() != 'n' {
		return false
	}
	start := r.pos
	if string(r.bare()) == "null" {
		return true
	}
	r.pos = start
	return false
}

// object reads an object; field reads the value of each key, or leaves it to be
// skipped. A number or an object as a key is its source text. null is an object
// without keys.
func (r *reader) object(field func(key string)) {
	if r.isNull() {
		return
	}
	if r.peek() != '{' {
		r.bad("no object")
		return
	}
	if r.follow(func() { r.object(field) }) {
		return
	}
	if !r.enter(objectCost) {
		return
	}
	for r.more('}') {
		k := r.key()
		if r.peek() != ':' {
			r.bad("no colon after a key")
			return
		}
		r.pos++
		r.charge(1)
		at := r.pos
		if field(k); r.err == nil && r.pos == at {
			r.skip()
		}
	}
	r.depth--
}

// array reads an array; item reads each item, or leaves it to be skipped. null is
// an empty array.
func (r *reader) array(item func()) {
	if r.isNull() {
		return
	}
	switch r.peek() {
	case '[':
	case '{':
		if !r.follow(func() { r.array(item) }) {
			r.bad("no array")
		}
		return
	default:
		r.bad("no array")
		return
	}
	if !r.enter(0) {
		return
	}
	for r.more(']') {
		at := r.pos
		if r.charge(1); r.err != nil {
			return
		}
		if item(); r.err == nil && r.pos == at {
			r.skip()
		}
	}
	r.depth--
}

// enter steps over the opening brace.
func (r *reader) enter(cost int) bool {
	r.pos++
	if r.depth++; r.depth > maxDepth {
		r.bad("nested too deep")
	}
	return r.charge(cost)
}

// more steps over commas, too few or too many of them, and over the closing brace
// if that is next.
func (r *reader) more(closing byte) bool {
	for {
		switch c := r.peek(); {
		case c == 0:
			r.bad("no end")
			return false
		case c == closing:
			r.pos++
			return false
		case c == ',':
			r.pos++
		default:
			return true
		}
	}
}

// key reads a key of any form.
func (r *reader) key() string {
	switch r.peek() {
	case '"', '\'':
		return r.quoted()
	case '{':
		return string(r.raw())
	default:
		return string(r.bare())
	}
}

// bare reads a number, a literal or a name without quotes.
func (r *reader) bare() []byte {
	start := r.pos
	for r.pos < len(r.in) && isBare(r.in[r.pos]) {
		r.pos++
	}
	if r.pos == start {
		r.bad("unexpected character")
	}
	return r.in[start:r.pos]
}

func isBare(c byte) bool {
	return c == '_' || c == '-' || c == '+' || c == '.' || c == '$' || c == '%' || c == '@' || c >= utf8.RuneSelf ||
		'0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// quoted reads a string in quotes.
func (r *reader) quoted() string {
	quote, start := r.in[r.pos], r.pos+1
	r.skipQuoted()
	if r.err != nil {
		return ""
	}
	inside := r.in[start:r.pos]
	if bytes.IndexByte(inside, '\\') < 0 {
		return string(inside[:len(inside)-1])
	}
	var b strings.Builder
	if wire.UnescapeJSON(&b, string(inside), quote) == 0 {
		r.bad("bad escape in the string that ends")
	}
	return b.String()
}

func (r *reader) skipQuoted() {
	quote := r.in[r.pos]
	for i := r.pos + 1; i < len(r.in); i++ {
		switch r.in[i] {
		case '\\':
			i++
		case quote:
			r.pos = i + 1
			return
		}
	}
	r.bad("string without an end")
}

// skip steps over one value of any kind.
func (r *reader) skip() {
	for depth := 0; r.err == nil; {
		switch r.peek() {
		case 0:
			r.bad("no end")
		case '{', '[':
			depth++
			r.pos++
		case '}', ']':
			depth--
			r.pos++
		case ',', ':':
			r.pos++
			if depth == 0 {
				r.bad("no value")
			}
		case '"', '\'':
			r.skipQuoted()
		default:
			r.bare()
		}
		if depth < 0 {
			r.bad("no value")
		}
		if depth == 0 {
			return
		}
	}
}

// raw returns the source text of one value.
func (r *reader) raw() []byte {
	r.peek()
	start := r.pos
	r.skip()
	if r.err != nil {
		return nil
	}
	return r.in[start:r.pos]
}

// str reads a text; a number or an object becomes its source text, null "".
func (r *reader) str() string {
	if r.isNull() {
		return ""
	}
	switch r.peek() {
	case '"', '\'':
		return r.quoted()
	}
	return string(r.raw())
}

// int64 reads a number, or one as text; null and "" are 0.
func (r *reader) int64() int64 {
	s := r.str()
	if s == "" || r.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err == nil {
		return n
	}
	// Go's client writes some integers as floats.
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		r.bad(fmt.Sprintf("%.40q is no integer", s))
		return 0
	}
	return int64(f)
}

// int32 reads a number of 32 bits.
func (r *reader) int32() int32 {
	n := r.int64()
	if n != int64(int32(n)) {
		r.bad(fmt.Sprintf("%d has more than 32 bits", n))
		return 0
	}
	return int32(n)
}

// float reads a number; null (Java's NaN) and "" are 0.
func (r *reader) float() float64 {
	s := r.str()
	if s == "" || r.err != nil {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		r.bad(fmt.Sprintf("%.40q is no number", s))
		return 0
	}
	return f
}

// bool reads true or 1, as literal or text; null is false.
func (r *reader) bool() bool {
	s := r.str()
	return s == "1" || strings.EqualFold(s, "true")
}

// enum reads a name, or its ordinal in names.
func (r *reader) enum(names []string) string {
	s := r.str()
	if n, err := strconv.Atoi(s); err == nil && 0 <= n && n < len(names) {
		return names[n]
	}
	return s
}

// strings reads an array of texts.
func (r *reader) strings() []string {
	list := []string{}
	r.array(func() { list = append(list, r.str()) })
	return list
}

// stringMap reads a table of texts.
func (r *reader) stringMap() map[string]string {
	m := map[string]string{}
	r.object(func(k string) { m[k] = r.str() })
	return m
}
