// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// UnregisterBroker is UNREGISTER_BROKER 104, B to N. Java:
// UnRegisterBrokerRequestHeader.
type UnregisterBroker struct {
	BrokerName  string
	BrokerAddr  string
	ClusterName string
	BrokerID    int64
}

// Encode appends the fields.
func (h *UnregisterBroker) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 4)
	w.str("brokerName", h.BrokerName)
	w.str("brokerAddr", h.BrokerAddr)
	w.str("clusterName", h.ClusterName)
	w.int("brokerId", h.BrokerID)
	w.done()
}

// Decode reads the fields.
func (h *UnregisterBroker) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = UnregisterBroker{
		BrokerName:  r.str("brokerName"),
		BrokerAddr:  r.str("brokerAddr"),
		ClusterName: r.str("clusterName"),
		BrokerID:    r.int64("brokerId"),
	}
	return r.err
}
