// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetBrokerConsumeStats is GET_BROKER_CONSUME_STATS 317, A to B. Java:
// GetConsumeStatsInBrokerHeader. The answer is body.ConsumeStatsList.
type GetBrokerConsumeStats struct {
	IsOrder bool
}

// Encode appends the fields.
func (h *GetBrokerConsumeStats) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.bool("isOrder", h.IsOrder)
	w.done()
}

// Decode reads the fields.
func (h *GetBrokerConsumeStats) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetBrokerConsumeStats{
		IsOrder: r.bool("isOrder"),
	}
	return r.err
}
