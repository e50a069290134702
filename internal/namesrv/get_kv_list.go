// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// getKVList serves GET_KVLIST_BY_NAMESPACE 219.
func (s *Server) getKVList(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	var h header.GetKVList
	if err := h.Decode(req.Ext); err != nil {
		return nil, err
	}
	s.mu.RLock()
	items := s.table.KVNamespace(h.Namespace)
	s.mu.RUnlock()
	if len(items) == 0 {
		return wire.NewResponse(req, wire.QueryNotFound, "No config item, Namespace: "+h.Namespace), nil
	}
	return okBody(req, (&body.KVTable{Table: items}).Encode()), nil
}
