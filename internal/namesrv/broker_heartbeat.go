// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"time"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// brokerHeartbeat serves BROKER_HEARTBEAT 904: a sign of life between two
// registrations.
func (s *Server) brokerHeartbeat(c *transport.Conn, req *wire.Command) (*wire.Command, error) {
	var h header.BrokerHeartbeat
	if err := h.Decode(req.Ext); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.table.Seen(time.Now(), h.ClusterName, h.BrokerAddr, c.ID())
	s.mu.Unlock()
	return ok(req), nil
}
