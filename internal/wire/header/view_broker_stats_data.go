// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// ViewBrokerStatsData is VIEW_BROKER_STATS_DATA 315, A to B. Java:
// ViewBrokerStatsDataRequestHeader. The answer is body.BrokerStatsData.
type ViewBrokerStatsData struct {
	StatsName string
	StatsKey  string
}

// Encode appends the fields.
func (h *ViewBrokerStatsData) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.str("statsName", h.StatsName)
	w.str("statsKey", h.StatsKey)
	w.done()
}

// Decode reads the fields.
func (h *ViewBrokerStatsData) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = ViewBrokerStatsData{
		StatsName: r.str("statsName"),
		StatsKey:  r.str("statsKey"),
	}
	return r.err
}
