// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// getBrokerMemberGroup serves GET_BROKER_MEMBER_GROUP 901. An unknown broker is
// a group without members. The remark of the success is RocketMQ's.
func (s *Server) getBrokerMemberGroup(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	var h header.GetBrokerMemberGroup
	if err := h.Decode(req.Ext); err != nil {
		return nil, err
	}
	s.mu.RLock()
	b, _ := s.table.Members(h.ClusterName, h.BrokerName)
	s.mu.RUnlock()
	group := body.BrokerMemberGroup{Cluster: h.ClusterName, BrokerName: h.BrokerName, BrokerAddrs: b.Addrs}
	resp := okBody(req, group.Encode())
	resp.Remark = "not set any response code"
	return resp, nil
}
