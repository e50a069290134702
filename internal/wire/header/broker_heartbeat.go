// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// BrokerHeartbeat is BROKER_HEARTBEAT 904, B to N, oneway. Java:
// BrokerHeartbeatRequestHeader.
type BrokerHeartbeat struct {
	ClusterName           string
	BrokerAddr            string
	BrokerName            string
	BrokerID              Opt[int64]
	Epoch                 Opt[int32]
	MaxOffset             Opt[int64]
	ConfirmOffset         Opt[int64]
	HeartbeatTimeoutMills Opt[int64] // spelled unlike that of 103
	ElectionPriority      Opt[int32]
}

// Encode appends the fields.
func (h *BrokerHeartbeat) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 9)
	w.str("clusterName", h.ClusterName)
	w.str("brokerAddr", h.BrokerAddr)
	w.str("brokerName", h.BrokerName)
	w.optInt64("brokerId", h.BrokerID)
	w.optInt32("epoch", h.Epoch)
	w.optInt64("maxOffset", h.MaxOffset)
	w.optInt64("confirmOffset", h.ConfirmOffset)
	w.optInt64("heartbeatTimeoutMills", h.HeartbeatTimeoutMills)
	w.optInt32("electionPriority", h.ElectionPriority)
	w.done()
}

// Decode reads the fields.
func (h *BrokerHeartbeat) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = BrokerHeartbeat{
		ClusterName:           r.str("clusterName"),
		BrokerAddr:            r.str("brokerAddr"),
		BrokerName:            r.str("brokerName"),
		BrokerID:              r.optInt64("brokerId"),
		Epoch:                 r.optInt32("epoch"),
		MaxOffset:             r.optInt64("maxOffset"),
		ConfirmOffset:         r.optInt64("confirmOffset"),
		HeartbeatTimeoutMills: r.optInt64("heartbeatTimeoutMills"),
		ElectionPriority:      r.optInt32("electionPriority"),
	}
	return r.err
}
