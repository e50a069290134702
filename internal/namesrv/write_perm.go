// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// wipeWritePerm serves WIPE_WRITE_PERM_OF_BROKER 205.
func (s *Server) wipeWritePerm(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	var h header.WipeWritePerm
	if err := h.Decode(req.Ext); err != nil {
		return nil, err
	}
	s.mu.Lock()
	n := s.table.WipeWrite(h.BrokerName)
	s.mu.Unlock()
	s.log.Info("write permission taken from a broker", "broker", h.BrokerName, "topics", n)
	return okHeader(req, &header.WipeWritePermResponse{WipeTopicCount: int32(n)}), nil
}

// addWritePerm serves ADD_WRITE_PERM_OF_BROKER 327.
func (s *Server) addWritePerm(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	var h header.AddWritePerm
	if err := h.Decode(req.Ext); err != nil {
		return nil, err
	}
	s.mu.Lock()
	n := s.table.AddWrite(h.BrokerName)
	s.mu.Unlock()
	s.log.Info("write permission given to a broker", "broker", h.BrokerName, "topics", n)
	return okHeader(req, &header.AddWritePermResponse{AddTopicCount: int32(n)}), nil
}
