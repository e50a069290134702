// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// RegisterBroker is REGISTER_BROKER 103, B to N. Java:
// RegisterBrokerRequestHeader. The body is body.RegisterBroker.
type RegisterBroker struct {
	BrokerName             string
	BrokerAddr             string // ip:port that clients use
	ClusterName            string
	HAServerAddr           string
	BrokerID               int64      // 0 is the master
	HeartbeatTimeoutMillis Opt[int64] // absent means 120000
	EnableActingMaster     Opt[bool]
	Compressed             bool
	BodyCRC32              Opt[int32] // CRC-32 & 0x7fffffff; absent or 0 is not checked
	ZoneName               string
}

// Encode appends the fields.
func (h *RegisterBroker) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 10)
	w.str("brokerName", h.BrokerName)
	w.str("brokerAddr", h.BrokerAddr)
	w.str("clusterName", h.ClusterName)
	w.str("haServerAddr", h.HAServerAddr)
	w.int("brokerId", h.BrokerID)
	w.optInt64("heartbeatTimeoutMillis", h.HeartbeatTimeoutMillis)
	w.optBool("enableActingMaster", h.EnableActingMaster)
	w.bool("compressed", h.Compressed)
	w.optInt32("bodyCrc32", h.BodyCRC32)
	w.optStr("__ZONE_NAME", h.ZoneName)
	w.done()
}

// Decode reads the fields.
func (h *RegisterBroker) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = RegisterBroker{
		BrokerName:             r.str("brokerName"),
		BrokerAddr:             r.str("brokerAddr"),
		ClusterName:            r.str("clusterName"),
		HAServerAddr:           r.str("haServerAddr"),
		BrokerID:               r.int64("brokerId"),
		HeartbeatTimeoutMillis: r.optInt64("heartbeatTimeoutMillis"),
		EnableActingMaster:     r.optBool("enableActingMaster"),
		Compressed:             r.bool("compressed"),
		BodyCRC32:              r.optInt32("bodyCrc32"),
		ZoneName:               r.optStr("__ZONE_NAME"),
	}
	return r.err
}

// RegisterBrokerResponse answers 103. Java: RegisterBrokerResponseHeader. The
// body is body.KVTable of the namespace ORDER_TOPIC_CONFIG, or absent.
type RegisterBrokerResponse struct {
	HAServerAddr string
	MasterAddr   string // only to a slave whose master is registered
}

// Encode appends the fields.
func (h *RegisterBrokerResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.optStr("haServerAddr", h.HAServerAddr)
	w.optStr("masterAddr", h.MasterAddr)
	w.done()
}

// Decode reads the fields.
func (h *RegisterBrokerResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = RegisterBrokerResponse{
		HAServerAddr: r.optStr("haServerAddr"),
		MasterAddr:   r.optStr("masterAddr"),
	}
	return r.err
}
