// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// coder writes the fields it is shown, or reads them: one description serves
// both directions, so they cannot differ.
//
// Numbers are varints, signed ones zigzag; strings, lists and maps are
// preceded by their length. Maps are in order of their keys.
//
// What is written is shared with readers and other writers: only a reading
// coder may store anything through the pointers it is shown.
type coder struct {
	reading bool
	buf     []byte // written so far, or still to be read
	version uint8  // of the change being read or written
	err     error
}

var (
	errShort   = errors.New("change is cut")
	errNumber  = errors.New("number out of range")
	errBool    = errors.New("neither true nor false")
	errOrder   = errors.New("keys out of order")
	errNotMore = errors.New("more fields than this version has")
)

func (x *coder) fail(err error) {
	if x.err == nil {
		x.err = err
	}
	x.buf = x.buf[:0]
}

// number shows an unsigned number.
func (x *coder) number(p *uint64) {
	if !x.reading {
		x.buf = binary.AppendUvarint(x.buf, *p)
		return
	}
	n, size := binary.Uvarint(x.buf)
	if size <= 0 || size > 1 && n>>(7*(size-1)) == 0 { // cut, too long, or not the shortest form
		x.fail(errShort)
		return
	}
	*p, x.buf = n, x.buf[size:]
}

// signed shows a signed number of any width.
func signed[T ~int32 | ~int64](x *coder, p *T) {
	n := int64(*p)
	u := uint64(n<<1) ^ uint64(n>>63)
	x.number(&u)
	if x.reading && x.err == nil {
		n = int64(u>>1) ^ -int64(u&1)
		if *p = T(n); int64(*p) != n {
			x.fail(errNumber)
		}
	}
}

// unsigned shows an unsigned number of any width.
func unsigned[T ~uint8 | ~uint32 | ~uint64](x *coder, p *T) {
	n := uint64(*p)
	x.number(&n)
	if x.reading && x.err == nil {
		if *p = T(n); uint64(*p) != n {
			x.fail(errNumber)
		}
	}
}

func (x *coder) flag(p *bool) {
	if !x.reading {
		b := byte(0)
		if *p {
			b = 1
		}
		x.buf = append(x.buf, b)
		return
	}
	switch {
	case len(x.buf) == 0:
		x.fail(errShort)
		return
	case x.buf[0] > 1:
		x.fail(errBool)
		return
	}
	*p, x.buf = x.buf[0] == 1, x.buf[1:]
}

func (x *coder) text(p *string) {
	n := x.count(len(*p), 1)
	if !x.reading {
		x.buf = append(x.buf, *p...)
		return
	}
	*p, x.buf = string(x.buf[:n]), x.buf[n:]
}

// name is text that occurs again and again: equal ones share their memory.
func (x *coder) name(p *string) {
	x.text(p)
	if x.reading {
		*p = shared(*p)
	}
}

// count shows the length of a list. A length that could not be there, with at
// least so many bytes for each element, is refused before room is made for it.
func (x *coder) count(n, least int) int {
	u := uint64(n)
	x.number(&u)
	if !x.reading {
		return n
	}
	if x.err == nil && u > uint64(len(x.buf)/least) {
		x.fail(errShort)
	}
	if x.err != nil {
		return 0
	}
	return int(u)
}

// list shows a list, each element with show. An empty list is read as nil.
func list[T any](x *coder, p *[]T, least int, show func(*T)) {
	n := x.count(len(*p), least)
	if x.reading {
		*p = nil
		if n > 0 {
			*p = make([]T, n)
		}
	}
	for i := range *p {
		show(&(*p)[i])
		if x.err != nil {
			return
		}
	}
}

// table shows a map by its keys' order. An empty map is read as nil.
func table[V any](x *coder, p *map[string]V, show func(*V)) {
	n := x.count(len(*p), 2)
	if !x.reading {
		for _, k := range slices.Sorted(maps.Keys(*p)) {
			v := (*p)[k]
			x.text(&k)
			show(&v)
		}
		return
	}
	*p = nil
	if n > 0 {
		*p = make(map[string]V, n)
	}
	last := ""
	for i := range n {
		var k string
		var v V
		x.text(&k)
		show(&v)
		if i > 0 && k <= last {
			x.fail(errOrder)
		}
		if x.err != nil {
			return
		}
		(*p)[k], last = v, k
	}
}
