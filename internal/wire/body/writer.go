// SPDX-License-Identifier: Apache-2.0

package body

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/orderlymq/orderly/internal/wire"
)

// writer writes JSON as fastjson does: no white space, keys in the order of the
// calls (alphabetical by custom).
type writer struct {
	b      []byte
	ascii  bool // text outside ASCII as \uXXXX
	legacy bool // numbers as keys without quotes
}

// encode returns what value writes.
func encode(value func(*writer)) []byte {
	var w writer
	value(&w)
	return w.b
}

// comma separates what comes next from what is there. No complete value ends in
// one of the four bytes.
func (w *writer) comma() {
	if n := len(w.b); n > 0 && strings.IndexByte("{[:", w.b[n-1]) < 0 {
		w.b = append(w.b, ',')
	}
}

// open starts an object or array: as a value after a key, or as an item.
func (w *writer) open(brace byte) {
	w.comma()
	w.b = append(w.b, brace)
}

func (w *writer) close(brace byte) { w.b = append(w.b, brace) }

func (w *writer) key(name string) {
	w.str(name)
	w.b = append(w.b, ':')
}

// intKey writes a number as a key.
func (w *writer) intKey(n int64) {
	w.comma()
	if w.legacy {
		w.b = append(strconv.AppendInt(w.b, n, 10), ':')
		return
	}
	w.b = append(w.b, '"')
	w.b = append(strconv.AppendInt(w.b, n, 10), '"', ':')
}

func (w *writer) str(s string) {
	w.comma()
	if w.ascii && !isASCII(s) {
		w.asciiStr(s)
		return
	}
	w.b = wire.AppendJSONString(w.b, s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// asciiStr writes characters outside ASCII as UTF-16 escapes, in upper case as
// Java does.
func (w *writer) asciiStr(s string) {
	w.b = append(w.b, '"')
	for _, c := range s {
		if c < utf8.RuneSelf {
			inside := wire.AppendJSONString(nil, string(c))
			w.b = append(w.b, inside[1:len(inside)-1]...)
			continue
		}
		if hi, lo := utf16.EncodeRune(c); hi != utf8.RuneError {
			w.unicode(hi)
			c = lo
		}
		w.unicode(c)
	}
	w.b = append(w.b, '"')
}

func (w *writer) unicode(c rune) {
	const digits = "0123456789ABCDEF"
	w.b = append(w.b, '\\', 'u', digits[c>>12&15], digits[c>>8&15], digits[c>>4&15], digits[c&15])
}

func (w *writer) int(n int64) {
	w.comma()
	w.b = strconv.AppendInt(w.b, n, 10)
}

// float writes a number with a decimal point, as Java does; what is no number
// is null.
func (w *writer) float(f float64) {
	w.comma()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.b = append(w.b, "null"...)
		return
	}
	at := len(w.b)
	w.b = strconv.AppendFloat(w.b, f, 'f', -1, 64)
	if !slices.Contains(w.b[at:], '.') {
		w.b = append(w.b, ".0"...)
	}
}

func (w *writer) bool(v bool) {
	w.comma()
	w.b = strconv.AppendBool(w.b, v)
}

func (w *writer) keyStr(name, s string) {
	w.key(name)
	w.str(s)
}

// keyOpt leaves out an empty text: absent, null in Java.
func (w *writer) keyOpt(name, s string) {
	if s != "" {
		w.keyStr(name, s)
	}
}

func (w *writer) keyInt(name string, n int64) {
	w.key(name)
	w.int(n)
}

func (w *writer) keyFloat(name string, f float64) {
	w.key(name)
	w.float(f)
}

func (w *writer) keyBool(name string, v bool) {
	w.key(name)
	w.bool(v)
}

func (w *writer) keyStrings(name string, list []string) {
	w.key(name)
	w.strings(list)
}

func (w *writer) strings(list []string) {
	w.open('[')
	for _, s := range list {
		w.str(s)
	}
	w.close(']')
}

func (w *writer) keyStringMap(name string, m map[string]string) {
	w.key(name)
	w.open('{')
	for _, k := range sortedKeys(m) {
		w.keyStr(k, m[k])
	}
	w.close('}')
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// writeList writes an array of what each item writes.
func writeList[T any](w *writer, name string, list []T, item func(*T, *writer)) {
	w.key(name)
	w.open('[')
	for i := range list {
		item(&list[i], w)
	}
	w.close(']')
}

// readList reads an array of what item reads.
func readList[T any](r *reader, item func(*T, *reader)) []T {
	list := []T{}
	r.array(func() {
		var v T
		item(&v, r)
		list = append(list, v)
	})
	return list
}

// writeTable writes a table, sorted by key.
func writeTable[T any](w *writer, name string, m map[string]T, value func(*T, *writer)) {
	w.key(name)
	w.open('{')
	for _, k := range sortedKeys(m) {
		w.key(k)
		v := m[k]
		value(&v, w)
	}
	w.close('}')
}

// readTable reads a table.
func readTable[T any](r *reader, value func(*T, *reader)) map[string]T {
	m := map[string]T{}
	r.object(func(k string) {
		var v T
		value(&v, r)
		m[k] = v
	})
	return m
}
