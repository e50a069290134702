// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetConsumerRunningInfo is GET_CONSUMER_RUNNING_INFO 307, A to B, relayed
// unchanged B to C. Java: GetConsumerRunningInfoRequestHeader. The answer is
// body.ConsumerRunningInfo.
type GetConsumerRunningInfo struct {
	ConsumerGroup string
	ClientID      string
	JstackEnable  Opt[bool]
}

// Encode appends the fields.
func (h *GetConsumerRunningInfo) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 3)
	w.str("consumerGroup", h.ConsumerGroup)
	w.str("clientId", h.ClientID)
	w.optBool("jstackEnable", h.JstackEnable)
	w.done()
}

// Decode reads the fields.
func (h *GetConsumerRunningInfo) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetConsumerRunningInfo{
		ConsumerGroup: r.str("consumerGroup"),
		ClientID:      r.str("clientId"),
		JstackEnable:  r.optBool("jstackEnable"),
	}
	return r.err
}
