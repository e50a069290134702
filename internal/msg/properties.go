// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// A property string is a row of pairs: name, 0x01, value, 0x02. Writers end the
// last pair too; readers do without. A pair without a name or without a value is
// skipped, a later 0x01 belongs to the value, and of two pairs with one name the
// later counts, all as in RocketMQ's Java client.
const (
	propIs  = 1
	propEnd = 2
)

// nextPair takes the first pair off raw. ok is false when the pair does not
// count; the iteration goes on while raw is not empty.
func nextPair[T string | []byte](raw T) (name, value, rest T, ok bool) {
	sep, end := -1, len(raw)
	for i := range len(raw) {
		c := raw[i]
		if c == propIs && sep < 0 {
			sep = i
		}
		if c == propEnd {
			end = i
			break
		}
	}
	rest = raw[min(end+1, len(raw)):]
	if sep <= 0 || sep+1 >= end {
		return raw[:0], raw[:0], rest, false
	}
	return raw[:sep], raw[sep+1 : end], rest, true
}

// findProperty returns the last value of that name.
func findProperty[T string | []byte](raw T, name string) (value T, found bool) {
	for len(raw) > 0 {
		n, v, rest, ok := nextPair(raw)
		if ok && string(n) == name {
			value, found = v, true
		}
		raw = rest
	}
	return value, found
}

// Property returns the value of one property of a raw property string.
func Property(raw, name string) (string, bool) { return findProperty(raw, name) }

// Properties iterates over the pairs of a raw property string, in their order.
func Properties(raw string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for len(raw) > 0 {
			name, value, rest, ok := nextPair(raw)
			if ok && !yield(name, value) {
				return
			}
			raw = rest
		}
	}
}

// ParseProperties returns all pairs as a map.
func ParseProperties(raw string) map[string]string {
	out := make(map[string]string)
	for name, value := range Properties(raw) {
		out[name] = value
	}
	return out
}

// AppendProperty appends one pair. A pair without a name or value is left out.
// Separator bytes inside either are dropped, so that no value can pass itself
// off as another property; CheckProperty tells a user about them beforehand.
func AppendProperty(dst []byte, name, value string) []byte {
	name, value = withoutSeparators(name), withoutSeparators(value)
	if name == "" || value == "" {
		return dst
	}
	dst = append(dst, name...)
	dst = append(dst, propIs)
	dst = append(dst, value...)
	return append(dst, propEnd)
}

// AppendProperties appends all pairs, sorted by name.
func AppendProperties(dst []byte, props map[string]string) []byte {
	names := make([]string, 0, len(props))
	for name := range props {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		dst = AppendProperty(dst, name, props[name])
	}
	return dst
}

// FormatProperties writes a raw property string, sorted by name.
func FormatProperties(props map[string]string) string {
	return string(AppendProperties(nil, props))
}

// SetProperty returns raw with the property set to value: other pairs keep their
// order, the new one stands last. An empty value removes it.
func SetProperty(raw, name, value string) string {
	raw = DeleteProperty(raw, name)
	dst := make([]byte, 0, len(raw)+len(name)+len(value)+3)
	dst = append(dst, raw...)
	if needsSeparator(raw) {
		dst = append(dst, propEnd)
	}
	return string(AppendProperty(dst, name, value))
}

// DeleteProperty returns raw without the property. It allocates only if there is
// something to remove.
func DeleteProperty(raw, name string) string {
	if _, found := Property(raw, name); !found {
		return raw
	}
	dst := make([]byte, 0, len(raw))
	for n, v := range Properties(raw) {
		if n != name {
			dst = AppendProperty(dst, n, v)
		}
	}
	return string(dst)
}

// CheckProperty tells whether an application may set this pair.
func CheckProperty(name, value string) error {
	switch {
	case name == "" || value == "":
		return fmt.Errorf("property %q: name and value must not be empty", name)
	case strings.ContainsAny(name, "\x01\x02") || strings.ContainsAny(value, "\x01\x02"):
		return fmt.Errorf("property %q: the bytes 0x01 and 0x02 are not allowed in name or value", name)
	case ReservedProperty(name):
		return fmt.Errorf("property %q: the name is reserved; choose another", name)
	}
	return nil
}

func needsSeparator(raw string) bool { return raw != "" && raw[len(raw)-1] != propEnd }

// withoutSeparators drops 0x01 and 0x02. Values read from foreign records may
// hold a 0x01, which is harmless there but not worth keeping.
func withoutSeparators(s string) string {
	if !strings.ContainsAny(s, "\x01\x02") {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == propIs || r == propEnd {
			return -1
		}
		return r
	}, s)
}
