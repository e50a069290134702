// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
)

// getClusterInfo serves GET_BROKER_CLUSTER_INFO 106.
func (s *Server) getClusterInfo(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	s.mu.RLock()
	brokers := s.table.Brokers()
	s.mu.RUnlock()
	info := body.ClusterInfo{BrokerAddrTable: map[string]body.BrokerData{}, ClusterAddrTable: map[string][]string{}}
	for _, b := range brokers {
		info.BrokerAddrTable[b.Name] = brokerData(b)
		info.ClusterAddrTable[b.Cluster] = append(info.ClusterAddrTable[b.Cluster], b.Name)
	}
	return okBody(req, info.Encode()), nil
}
