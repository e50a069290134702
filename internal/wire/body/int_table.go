// SPDX-License-Identifier: Apache-2.0

package body

import (
	"maps"
	"slices"
	"strconv"
)

// writeIntTable writes a table keyed by number. The keys are quoted (Java reads
// both forms, strict readers only this one) unless the writer is a legacy one.
func writeIntTable[K ~int32 | ~int64, V any](w *writer, name string, m map[K]V, value func(*V, *writer)) {
	w.key(name)
	writeInts(w, m, value)
}

func writeInts[K ~int32 | ~int64, V any](w *writer, m map[K]V, value func(*V, *writer)) {
	w.open('{')
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.intKey(int64(k))
		v := m[k]
		value(&v, w)
	}
	w.close('}')
}

// readIntTable reads a table keyed by number, quoted or bare.
func readIntTable[V any](r *reader, value func(*V, *reader)) map[int64]V {
	m := map[int64]V{}
	r.object(func(key string) {
		k, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			r.bad("a key that is no number")
			return
		}
		var v V
		value(&v, r)
		m[k] = v
	})
	return m
}

func writeText(s *string, w *writer) { w.str(*s) }
func readText(s *string, r *reader)  { *s = r.str() }

// readInt32Table reads a table from queue or level to offset.
func readInt32Table(r *reader) map[int32]int64 {
	wide := readIntTable(r, readOffset)
	m := make(map[int32]int64, len(wide))
	for k, v := range wide {
		if k != int64(int32(k)) {
			r.bad("a key above 32 bits")
			break
		}
		m[int32(k)] = v
	}
	return m
}
