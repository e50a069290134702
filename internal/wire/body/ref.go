// SPDX-License-Identifier: Apache-2.0

package body

import (
	"strconv"
	"strings"
)

// Fastjson writes an object that it has already written as {"$ref":"$.path"}.

// refBudget, and four times the document's length, is how many bytes may be walked
// to find the targets of its references; what is left then is read as absent.
const refBudget = 1 << 20

// bytesPerUnit is how much text read a second time takes one unit of the reader's
// budget.
const bytesPerUnit = 8

const maxRefDepth = 4

// refs remembers where the targets of references are.
type refs struct {
	at     map[string]int // path to position, -1 if there is none
	depth  int
	budget int
}

// follow reads a reference, if that is what comes next: read is called with the
// reader at the target. A reference that leads nowhere is read as absent.
func (r *reader) follow(read func()) bool {
	const quotedName = len(`"$ref"`)
	start := r.pos
	r.pos++
	c := r.peek()
	if (c != '"' && c != '\'') || r.pos+quotedName > len(r.in) || string(r.in[r.pos+1:r.pos+quotedName-1]) != "$ref" {
		r.pos = start
		return false
	}
	r.pos = start
	path := r.refPath()
	end := r.pos
	if r.err != nil || r.refs == nil || r.refs.depth >= maxRefDepth {
		return true
	}
	target := r.refs.locate(r.in, path)
	if target < 0 || target == start {
		return true
	}
	r.pos = target
	r.refs.depth++
	depth := r.depth
	read()
	r.depth = depth
	r.refs.depth--
	if r.charge((r.pos - target) / bytesPerUnit); r.err == nil {
		r.pos = end
	}
	return true
}

// refPath reads the object {"$ref":path}.
func (r *reader) refPath() (path string) {
	r.pos++
	for first := true; r.more('}'); first = false {
		r.key()
		if r.peek() != ':' {
			r.bad("no colon after a key")
			return ""
		}
		r.pos++
		if text := r.str(); first {
			path = text
		}
	}
	return path
}

// locate returns the position of the value that path names, -1 if there is
// none or the budget is used up.
func (f *refs) locate(in []byte, path string) int {
	if at, ok := f.at[path]; ok {
		if f.budget < 0 {
			return -1
		}
		return at
	}
	if f.budget < 0 {
		return -1
	}
	r := newReader(in)
	at := r.find(path)
	if r.err != nil {
		at = -1
	}
	f.budget -= r.pos
	f.at[path] = at
	return at
}

// find walks a path such as $.a.b[0] from the start of the document.
func (r *reader) find(path string) int {
	rest, ok := strings.CutPrefix(path, "$")
	for ok && rest != "" {
		if index, after, isIndex := cutIndex(rest); isIndex {
			ok, rest = r.seekItem(index), after
			continue
		}
		var name string
		if name, rest, ok = cutName(rest); ok {
			ok = r.seekKey(name)
		}
	}
	if !ok || r.peek() == 0 {
		return -1
	}
	return r.pos
}

func cutIndex(path string) (index int, rest string, ok bool) {
	if path[0] != '[' {
		return 0, path, false
	}
	digits, rest, _ := strings.Cut(path[1:], "]")
	index, err := strconv.Atoi(digits)
	return index, rest, err == nil
}

// cutName takes ".name" off the front; a backslash takes the meaning from the
// character after it.
func cutName(path string) (name, rest string, ok bool) {
	if path[0] != '.' {
		return "", path, false
	}
	var b strings.Builder
	i := 1
	for ; i < len(path) && path[i] != '.' && path[i] != '['; i++ {
		if path[i] == '\\' && i+1 < len(path) {
			i++
		}
		b.WriteByte(path[i])
	}
	return b.String(), path[i:], true
}

func (r *reader) seekKey(name string) bool {
	if r.peek() != '{' {
		return false
	}
	r.pos++
	for r.more('}') {
		k := r.key()
		if r.peek() != ':' {
			return false
		}
		r.pos++
		if k == name {
			return r.err == nil
		}
		r.skip()
	}
	return false
}

func (r *reader) seekItem(index int) bool {
	if r.peek() != '[' {
		return false
	}
	r.pos++
	for ; r.more(']'); index-- {
		if index == 0 {
			return true
		}
		r.skip()
	}
	return false
}
