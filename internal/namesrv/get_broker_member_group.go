// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"encoding/json"
	"fmt"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// memberGroup is the answer to 901. Java: BrokerMemberGroup.
type memberGroup struct {
	BrokerAddrs map[int64]string `json:"brokerAddrs"`
	BrokerName  string           `json:"brokerName"`
	Cluster     string           `json:"cluster"`
}

// getBrokerMemberGroup serves GET_BROKER_MEMBER_GROUP 901. An unknown broker is
// a group without members. The remark of the success is RocketMQ's.
func (s *Server) getBrokerMemberGroup(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	var h header.GetBrokerMemberGroup
	if err := h.Decode(req.Ext); err != nil {
		return nil, err
	}
	s.mu.RLock()
	b, found := s.table.Members(h.ClusterName, h.BrokerName)
	s.mu.RUnlock()
	if !found {
		b.Addrs = map[int64]string{}
	}
	text, err := json.Marshal(map[string]memberGroup{"brokerMemberGroup": {b.Addrs, h.BrokerName, h.ClusterName}})
	if err != nil {
		return nil, fmt.Errorf("encode member group: %w", err)
	}
	resp := okBody(req, text)
	resp.Remark = "not set any response code"
	return resp, nil
}
