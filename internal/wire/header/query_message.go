// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// QueryMessage is QUERY_MESSAGE 12, C to B. Java: QueryMessageRequestHeader.
// The answer's body is stored messages, one after the other.
type QueryMessage struct {
	Topic          string
	Key            string
	MaxNum         int32
	BeginTimestamp int64     // ms
	EndTimestamp   int64     // ms
	UniqueKey      Opt[bool] // key is a UNIQ_KEY; the broker then uses its own maximum
	IndexType      string    // K key, U unique key, T tag
	LastKey        string
}

// Encode appends the fields.
func (h *QueryMessage) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 8)
	w.str("topic", h.Topic)
	w.str("key", h.Key)
	w.int("maxNum", int64(h.MaxNum))
	w.int("beginTimestamp", h.BeginTimestamp)
	w.int("endTimestamp", h.EndTimestamp)
	w.optBool("_UNIQUE_KEY_QUERY", h.UniqueKey)
	w.optStr("indexType", h.IndexType)
	w.optStr("lastKey", h.LastKey)
	w.done()
}

// Decode reads the fields.
func (h *QueryMessage) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = QueryMessage{
		Topic:          r.str("topic"),
		Key:            r.str("key"),
		MaxNum:         r.int32("maxNum"),
		BeginTimestamp: r.int64("beginTimestamp"),
		EndTimestamp:   r.int64("endTimestamp"),
		UniqueKey:      r.optBool("_UNIQUE_KEY_QUERY"),
		IndexType:      r.optStr("indexType"),
		LastKey:        r.optStr("lastKey"),
	}
	return r.err
}

// QueryMessageResponse answers 12. Java: QueryMessageResponseHeader.
type QueryMessageResponse struct {
	IndexLastUpdateTimestamp int64
	IndexLastUpdatePhyOffset int64
}

// Encode appends the fields.
func (h *QueryMessageResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.int("indexLastUpdateTimestamp", h.IndexLastUpdateTimestamp)
	w.int("indexLastUpdatePhyoffset", h.IndexLastUpdatePhyOffset)
	w.done()
}

// Decode reads the fields.
func (h *QueryMessageResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = QueryMessageResponse{
		IndexLastUpdateTimestamp: r.int64("indexLastUpdateTimestamp"),
		IndexLastUpdatePhyOffset: r.int64("indexLastUpdatePhyoffset"),
	}
	return r.err
}
