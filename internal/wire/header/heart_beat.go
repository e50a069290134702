// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// HeartBeatResponse answers HEART_BEAT 34. Both fields belong to heartbeat v2;
// absent, a client stays on v1.
type HeartBeatResponse struct {
	SupportV2 Opt[bool]
	SubChange Opt[bool]
}

// Encode appends the fields.
func (h *HeartBeatResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.optBool("IS_SUPPORT_HEART_BEAT_V2", h.SupportV2)
	w.optBool("IS_SUB_CHANGE", h.SubChange)
	w.done()
}

// Decode reads the fields.
func (h *HeartBeatResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = HeartBeatResponse{
		SupportV2: r.optBool("IS_SUPPORT_HEART_BEAT_V2"),
		SubChange: r.optBool("IS_SUB_CHANGE"),
	}
	return r.err
}
