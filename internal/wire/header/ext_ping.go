// SPDX-License-Identifier: Apache-2.0

package header

import (
	"strconv"

	"github.com/orderlymq/orderly/internal/wire"
)

// Ping is a HEART_BEAT 34 without a body, and its answer. The broker's reader
// answers it at once; Ack refreshes the session's leases to the time when that
// answer was sent.
type Ping struct {
	N   uint64 // from 1
	Ack uint64 // highest answer read; 0 none yet, and in answers
}

// IsPing says whether a request with these fields is a ping.
func IsPing(f wire.Fields) bool { return f.Has(ExtPing) }

// Encode appends the fields.
func (h Ping) Encode(f *wire.Fields) {
	f.Add(ExtPing, strconv.FormatUint(h.N, 10))
	if h.Ack != 0 {
		f.Add(ExtAck, strconv.FormatUint(h.Ack, 10))
	}
}

// Decode reads the fields.
func (h *Ping) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = Ping{N: r.uint64(ExtPing), Ack: r.optUint64(ExtAck)}
	return r.err
}

func (r *reader) uint64(key string) uint64 {
	if !r.f.Has(key) {
		r.fail(key, "", "")
	}
	return r.optUint64(key)
}

// optUint64 is 0 for an absent field.
func (r *reader) optUint64(key string) uint64 {
	v, ok := r.f.Get(key)
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		r.fail(key, v, "a number")
	}
	return n
}
