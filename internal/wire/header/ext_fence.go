// SPDX-License-Identifier: Apache-2.0

package header

import (
	"strconv"

	"github.com/orderlymq/orderly/internal/wire"
)

// Fence rides on 11, 361 and 15: under which session and lease epoch the client
// pulls or commits. The zero value is a stock client.
type Fence struct {
	Session Session
	Epoch   uint64 // 0: no lease
}

// Encode appends the fields that are set.
func (h Fence) Encode(f *wire.Fields) {
	h.Session.Encode(f)
	if h.Epoch != 0 {
		f.Add(ExtEpoch, strconv.FormatUint(h.Epoch, 10))
	}
}

// Decode reads the fields; absent ones are zero.
func (h *Fence) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = Fence{Epoch: r.optUint64(ExtEpoch)}
	if r.err != nil {
		return r.err
	}
	return h.Session.Decode(f)
}

// Progress rides on 15 and on the answer to 14: what is known of the messages
// at and above the committed offset. Package order reads and writes the texts.
type Progress struct {
	Ranges   string // "a-b,c-d", half open
	Attempts string // "offset:attempts,..."
}

// Encode appends the fields that are set.
func (h Progress) Encode(f *wire.Fields) {
	if h.Ranges != "" {
		f.Add(ExtRanges, h.Ranges)
	}
	if h.Attempts != "" {
		f.Add(ExtAttempts, h.Attempts)
	}
}

// Decode reads the fields; absent ones are empty.
func (h *Progress) Decode(f wire.Fields) error {
	*h = Progress{Ranges: f.Value(ExtRanges), Attempts: f.Value(ExtAttempts)}
	return nil
}
