// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"time"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// queryDataVersion serves QUERY_DATA_VERSION 322: whether a broker has to
// register again. It is a sign of life as well.
func (s *Server) queryDataVersion(c *transport.Conn, req *wire.Command) (*wire.Command, error) {
	var h header.QueryDataVersion
	if err := h.Decode(req.Ext); err != nil {
		return nil, err
	}
	var theirs body.DataVersion
	if len(req.Body) > 0 {
		if err := theirs.Decode(req.Body); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	ours, known := s.table.Seen(time.Now(), h.ClusterName, h.BrokerAddr, c.ID())
	s.mu.Unlock()
	changed := !known || len(req.Body) == 0 || ours != versionOf(theirs)
	resp := okHeader(req, &header.QueryDataVersionResponse{Changed: changed})
	if known {
		resp.Body = (&body.DataVersion{StateVersion: ours.State, Timestamp: ours.Timestamp, Counter: ours.Counter}).Encode()
	}
	return resp, nil
}
