// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"fmt"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// getKVConfig serves GET_KV_CONFIG 101.
func (s *Server) getKVConfig(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	var h header.GetKVConfig
	if err := h.Decode(req.Ext); err != nil {
		return nil, err
	}
	s.mu.RLock()
	value, found := s.table.GetKV(h.Namespace, h.Key)
	s.mu.RUnlock()
	if found {
		return okHeader(req, &header.GetKVConfigResponse{Value: value}), nil
	}
	resp := wire.NewResponse(req, wire.QueryNotFound, fmt.Sprintf("No config item, Namespace: %s Key: %s", h.Namespace, h.Key))
	resp.Ext = wire.Fields{}
	return resp, nil
}
