// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// ResumeCheckHalfMessage is RESUME_CHECK_HALF_MESSAGE 323, A to B. Java:
// ResumeCheckHalfMessageRequestHeader.
type ResumeCheckHalfMessage struct {
	Topic string
	MsgID string
}

// Encode appends the fields.
func (h *ResumeCheckHalfMessage) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.optStr("topic", h.Topic)
	w.optStr("msgId", h.MsgID)
	w.done()
}

// Decode reads the fields.
func (h *ResumeCheckHalfMessage) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = ResumeCheckHalfMessage{
		Topic: r.optStr("topic"),
		MsgID: r.optStr("msgId"),
	}
	return r.err
}
