// SPDX-License-Identifier: Apache-2.0

package wire

import "slices"

// Field is one entry of the custom header.
type Field struct{ Key, Value string }

// Fields is the custom header (extFields), in the order of the frame. A peer
// may write a key twice; the last one counts.
type Fields []Field

// Get returns the value of a key.
func (f Fields) Get(key string) (string, bool) {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].Key == key {
			return f[i].Value, true
		}
	}
	return "", false
}

// Value returns the value of a key, "" if it is absent.
func (f Fields) Value(key string) string {
	v, _ := f.Get(key)
	return v
}

// Has says whether the key is there.
func (f Fields) Has(key string) bool {
	_, ok := f.Get(key)
	return ok
}

// Set replaces the value of a key, or appends the entry.
func (f *Fields) Set(key, value string) {
	for i := len(*f) - 1; i >= 0; i-- {
		if (*f)[i].Key == key {
			(*f)[i].Value = value
			return
		}
	}
	f.Add(key, value)
}

// Add appends an entry. It is cheaper than Set, and wins over an earlier entry
// of the same key.
func (f *Fields) Add(key, value string) { *f = append(*f, Field{key, value}) }

// Del removes every entry of a key.
func (f *Fields) Del(key string) {
	*f = slices.DeleteFunc(*f, func(e Field) bool { return e.Key == key })
}
