// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetAllSubscriptionGroupConfig is GET_ALL_SUBSCRIPTIONGROUP_CONFIG 201, A to
// B, paged by newer admin tools. Java: GetAllSubscriptionGroupRequestHeader.
// The answer is body.SubscriptionGroupWrapper.
type GetAllSubscriptionGroupConfig struct {
	GroupSeq    Opt[int32]
	DataVersion string
	MaxGroupNum Opt[int32]
}

// Encode appends the fields.
func (h *GetAllSubscriptionGroupConfig) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 3)
	w.optInt32("groupSeq", h.GroupSeq)
	w.optStr("dataVersion", h.DataVersion)
	w.optInt32("maxGroupNum", h.MaxGroupNum)
	w.done()
}

// Decode reads the fields.
func (h *GetAllSubscriptionGroupConfig) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetAllSubscriptionGroupConfig{
		GroupSeq:    r.optInt32("groupSeq"),
		DataVersion: r.optStr("dataVersion"),
		MaxGroupNum: r.optInt32("maxGroupNum"),
	}
	return r.err
}

// GetAllSubscriptionGroupConfigResponse answers 201. Java:
// GetAllSubscriptionGroupResponseHeader. Leave the total out or make it exact.
type GetAllSubscriptionGroupConfigResponse struct {
	TotalGroupNum Opt[int32]
}

// Encode appends the fields.
func (h *GetAllSubscriptionGroupConfigResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.optInt32("totalGroupNum", h.TotalGroupNum)
	w.done()
}

// Decode reads the fields.
func (h *GetAllSubscriptionGroupConfigResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetAllSubscriptionGroupConfigResponse{
		TotalGroupNum: r.optInt32("totalGroupNum"),
	}
	return r.err
}
