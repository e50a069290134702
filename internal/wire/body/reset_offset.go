// SPDX-License-Identifier: Apache-2.0

package body

import (
	"maps"
	"slices"
)

// ResetOffset is the body of RESET_CONSUMER_CLIENT_OFFSET 220, B to C, and the
// answer to INVOKE_BROKER_TO_RESET_OFFSET 222. Java: ResetOffsetBody.
type ResetOffset struct {
	OffsetTable map[MessageQueue]int64
}

// Encode returns the body for Java and Go clients. The Go client parses its text
// by hand: object keys and no white space, or it panics.
func (b *ResetOffset) Encode() []byte { return encode(b.write) }

// EncodeList returns the body for C++ clients, a list of queues with an offset.
// Java: ResetOffsetBodyForC.
func (b *ResetOffset) EncodeList() []byte {
	return encode(func(w *writer) {
		w.open('{')
		w.key("offsetTable")
		w.open('[')
		for _, q := range slices.SortedFunc(maps.Keys(b.OffsetTable), MessageQueue.Compare) {
			w.open('{')
			w.keyStr("brokerName", q.BrokerName)
			w.keyInt("offset", b.OffsetTable[q])
			w.keyInt("queueId", int64(q.QueueID))
			w.keyStr("topic", q.Topic)
			w.close('}')
		}
		w.close(']')
		w.close('}')
	})
}

// Decode reads the body in any of its forms.
func (b *ResetOffset) Decode(data []byte) error { return decode("reset offsets", data, b.read) }

func (b *ResetOffset) write(w *writer) {
	w.open('{')
	writeQueueTable(w, "offsetTable", b.OffsetTable, writeOffset)
	w.close('}')
}

func (b *ResetOffset) read(r *reader) {
	*b = ResetOffset{}
	r.object(func(key string) {
		if key != "offsetTable" {
			return
		}
		if r.peek() != '[' {
			b.OffsetTable = readQueueTable(r, readOffset)
			return
		}
		b.OffsetTable = map[MessageQueue]int64{}
		r.array(func() { b.readItem(r) })
	})
}

// readItem reads a queue with an offset, or a pair of queue and offset.
func (b *ResetOffset) readItem(r *reader) {
	if r.peek() == '[' {
		readQueuePair(r, b.OffsetTable, readOffset)
		return
	}
	var q MessageQueue
	var offset int64
	r.object(func(key string) {
		if key == "offset" {
			offset = r.int64()
			return
		}
		q.field(r, key)
	})
	b.OffsetTable[q] = offset
}
