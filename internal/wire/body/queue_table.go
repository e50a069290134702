// SPDX-License-Identifier: Apache-2.0

package body

import (
	"maps"
	"slices"
)

// writeQueueTable writes a table keyed by queue in fastjson's form, with whole
// objects as keys: {{"brokerName":...}:value}. Java reads it, and the Go client
// reads nothing else.
func writeQueueTable[T any](w *writer, name string, m map[MessageQueue]T, value func(*T, *writer)) {
	w.key(name)
	w.open('{')
	for _, q := range slices.SortedFunc(maps.Keys(m), MessageQueue.Compare) {
		q.write(w)
		w.b = append(w.b, ':')
		v := m[q]
		value(&v, w)
	}
	w.close('}')
}

// readQueueTable reads a table keyed by queue, whose keys are objects or texts
// that hold one, or a list of pairs [{queue},value].
func readQueueTable[T any](r *reader, value func(*T, *reader)) map[MessageQueue]T {
	m := map[MessageQueue]T{}
	if r.peek() == '[' {
		r.array(func() { readQueuePair(r, m, value) })
		return m
	}
	r.object(func(key string) {
		var q MessageQueue
		sub := newReader([]byte(key))
		sub.depth = r.depth
		if q.read(sub); sub.err != nil || sub.peek() != 0 {
			r.bad("a key that is no message queue")
			return
		}
		var v T
		value(&v, r)
		m[q] = v
	})
	return m
}

func readQueuePair[T any](r *reader, m map[MessageQueue]T, value func(*T, *reader)) {
	if r.peek() != '[' {
		r.bad("no pair of queue and value")
		return
	}
	var q MessageQueue
	n := 0
	r.array(func() {
		if n++; n == 1 {
			q.read(r)
			return
		}
		var v T
		value(&v, r)
		m[q] = v
	})
}

func writeOffset(n *int64, w *writer) { w.int(*n) }
func readOffset(n *int64, r *reader)  { *n = r.int64() }
