// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// QueryDataVersion is QUERY_DATA_VERSION 322, B to N. Java:
// QueryDataVersionRequestHeader. The body, both ways, is body.DataVersion.
type QueryDataVersion struct {
	BrokerName  string
	BrokerAddr  string
	ClusterName string
	BrokerID    int64
}

// Encode appends the fields.
func (h *QueryDataVersion) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 4)
	w.str("brokerName", h.BrokerName)
	w.str("brokerAddr", h.BrokerAddr)
	w.str("clusterName", h.ClusterName)
	w.int("brokerId", h.BrokerID)
	w.done()
}

// Decode reads the fields.
func (h *QueryDataVersion) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = QueryDataVersion{
		BrokerName:  r.str("brokerName"),
		BrokerAddr:  r.str("brokerAddr"),
		ClusterName: r.str("clusterName"),
		BrokerID:    r.int64("brokerId"),
	}
	return r.err
}

// QueryDataVersionResponse answers 322. Java: QueryDataVersionResponseHeader.
type QueryDataVersionResponse struct {
	Changed bool
}

// Encode appends the fields.
func (h *QueryDataVersionResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 1)
	w.bool("changed", h.Changed)
	w.done()
}

// Decode reads the fields.
func (h *QueryDataVersionResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = QueryDataVersionResponse{
		Changed: r.bool("changed"),
	}
	return r.err
}
