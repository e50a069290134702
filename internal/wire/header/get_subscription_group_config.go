// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetSubscriptionGroupConfig is GET_SUBSCRIPTIONGROUP_CONFIG 352, A to B.
// Java: GetSubscriptionGroupConfigRequestHeader. The answer is
// body.SubscriptionGroupConfig.
type GetSubscriptionGroupConfig struct {
	Group string
}

// Encode appends the fields.
func (h *GetSubscriptionGroupConfig) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.str("group", h.Group)
	w.done()
}

// Decode reads the fields.
func (h *GetSubscriptionGroupConfig) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetSubscriptionGroupConfig{
		Group: r.str("group"),
	}
	return r.err
}
