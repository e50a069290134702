// SPDX-License-Identifier: Apache-2.0

package header

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/orderlymq/orderly/internal/wire"
)

// FieldError is a required field that is missing or a field whose value cannot
// be read.
type FieldError struct {
	Field string
	Value string // "" if missing
	Want  string // what was expected; "" if missing
}

func (e *FieldError) Error() string {
	if e.Want == "" {
		return fmt.Sprintf("missing field %q in the request's custom header", e.Field)
	}
	return fmt.Sprintf("field %q of the custom header is %.64q: expected %s", e.Field, e.Value, e.Want)
}

// reader takes fields out of a custom header and keeps the first error.
type reader struct {
	f   wire.Fields
	err error
}

func (r *reader) fail(field, value, want string) {
	if r.err == nil {
		r.err = &FieldError{Field: field, Value: value, Want: want}
	}
}

// str takes a required text; it may be empty.
func (r *reader) str(key string) string {
	v, ok := r.f.Get(key)
	if !ok {
		r.fail(key, "", "")
	}
	return v
}

func (r *reader) optStr(key string) string { return r.f.Value(key) }

func (r *reader) int64(key string) int64 {
	v := r.f.Value(key)
	if v == "" {
		r.fail(key, "", "")
		return 0
	}
	return r.parse(key, v, 64)
}

func (r *reader) int32(key string) int32 {
	v := r.f.Value(key)
	if v == "" {
		r.fail(key, "", "")
		return 0
	}
	return int32(r.parse(key, v, 32))
}

func (r *reader) optInt64(key string) (o Opt[int64]) {
	if v := r.f.Value(key); v != "" {
		o = Some(r.parse(key, v, 64))
	}
	return o
}

func (r *reader) optInt32(key string) (o Opt[int32]) {
	if v := r.f.Value(key); v != "" {
		o = Some(int32(r.parse(key, v, 32)))
	}
	return o
}

// bool reads as Java does: anything but "true" is false.
func (r *reader) bool(key string) bool { return isTrue(r.f.Value(key)) }

func (r *reader) optBool(key string) (o Opt[bool]) {
	if v := r.f.Value(key); v != "" {
		o = Some(isTrue(v))
	}
	return o
}

func (r *reader) parse(key, v string, bits int) int64 {
	n, err := parseInt(v, bits)
	if err != nil {
		r.fail(key, v, "a "+strconv.Itoa(bits)+"-bit number")
	}
	return n
}

func parseInt(v string, bits int) (int64, error) { return strconv.ParseInt(v, 10, bits) }

func isTrue(v string) bool { return v == "true" || strings.EqualFold(v, "true") }

// writer appends fields to a custom header. Its numbers share one allocation,
// made by done.
type writer struct {
	f     *wire.Fields
	text  [192]byte
	n     int
	spans [16]span
	k     int
}

// span is the text of a number: field i is text[from:to].
type span struct{ i, from, to int32 }

// begin makes room for n fields.
func (w *writer) begin(f *wire.Fields, n int) {
	*f = slices.Grow(*f, n)
	w.f = f
}

func (w *writer) str(key, value string) { w.f.Add(key, value) }

func (w *writer) optStr(key, value string) {
	if value != "" {
		w.f.Add(key, value)
	}
}

func (w *writer) int(key string, v int64) {
	const longest = 20
	if 0 <= v && v < 100 || w.k == len(w.spans) || w.n+longest > len(w.text) {
		w.f.Add(key, strconv.FormatInt(v, 10)) // below 100 it allocates nothing
		return
	}
	b := strconv.AppendInt(w.text[:w.n], v, 10)
	w.spans[w.k] = span{int32(len(*w.f)), int32(w.n), int32(len(b))}
	w.k++
	w.n = len(b)
	w.f.Add(key, "")
}

func (w *writer) optInt64(key string, o Opt[int64]) {
	if o.Set {
		w.int(key, o.Value)
	}
}

func (w *writer) optInt32(key string, o Opt[int32]) {
	if o.Set {
		w.int(key, int64(o.Value))
	}
}

func (w *writer) bool(key string, v bool) { w.f.Add(key, strconv.FormatBool(v)) }

func (w *writer) optBool(key string, o Opt[bool]) {
	if o.Set {
		w.bool(key, o.Value)
	}
}

func (w *writer) done() {
	if w.k == 0 {
		return
	}
	text := string(w.text[:w.n])
	for _, s := range w.spans[:w.k] {
		(*w.f)[s.i].Value = text[s.from:s.to]
	}
}
