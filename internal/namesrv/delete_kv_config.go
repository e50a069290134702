// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// deleteKVConfig serves DELETE_KV_CONFIG 102. An item that is not there is
// deleted, too.
func (s *Server) deleteKVConfig(c *transport.Conn, req *wire.Command) (*wire.Command, error) {
	var h header.DeleteKVConfig
	if err := h.Decode(req.Ext); err != nil {
		return nil, err
	}
	s.submit(func(t *Table) error {
		t.DeleteKV(h.Namespace, h.Key)
		return nil
	}, func(err error) { s.answerEdit(c, req, err) })
	return nil, nil
}
