// SPDX-License-Identifier: Apache-2.0

package header

import (
	"strconv"

	"github.com/orderlymq/orderly/internal/wire"
)

// Lane rides on sends: how the sender chose the queue. The zero value is a
// stock sender, or one without an ordering key.
type Lane struct {
	Lane     Opt[int32] // of the ordering key, below Lanes
	Epoch    uint64     // of the lane map
	Selector bool       // the user's own selector chose the queue
}

// Encode appends the fields that are set.
func (h Lane) Encode(f *wire.Fields) {
	if h.Lane.Set {
		f.Add(ExtLane, strconv.Itoa(int(h.Lane.Value)))
		f.Add(ExtLaneEpoch, strconv.FormatUint(h.Epoch, 10))
	}
	if h.Selector {
		f.Add(ExtSelector, "1")
	}
}

// Decode reads the fields; absent ones are zero.
func (h *Lane) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = Lane{
		Lane:     r.optInt32(ExtLane),
		Epoch:    r.optUint64(ExtLaneEpoch),
		Selector: f.Value(ExtSelector) == "1",
	}
	if h.Lane.Value < 0 || h.Lane.Value >= Lanes {
		r.fail(ExtLane, f.Value(ExtLane), "a lane from 0 to 1023")
	}
	return r.err
}
