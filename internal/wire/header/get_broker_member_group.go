// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetBrokerMemberGroup is GET_BROKER_MEMBER_GROUP 901, B to N. Java:
// GetBrokerMemberGroupRequestHeader. The answer is body.BrokerMemberGroup.
type GetBrokerMemberGroup struct {
	ClusterName string
	BrokerName  string
}

// Encode appends the fields.
func (h *GetBrokerMemberGroup) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.str("clusterName", h.ClusterName)
	w.str("brokerName", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *GetBrokerMemberGroup) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetBrokerMemberGroup{
		ClusterName: r.str("clusterName"),
		BrokerName:  r.str("brokerName"),
	}
	return r.err
}
