// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// unregisterBroker serves UNREGISTER_BROKER 104.
func (s *Server) unregisterBroker(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	var h header.UnregisterBroker
	if err := h.Decode(req.Ext); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.table.Unregister(h.ClusterName, h.BrokerName, h.BrokerAddr)
	s.mu.Unlock()
	s.log.Info("broker unregistered", "broker", h.BrokerName, "id", h.BrokerID, "addr", h.BrokerAddr, "cluster", h.ClusterName)
	return ok(req), nil
}
