// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// deleteTopic serves DELETE_TOPIC_IN_NAMESRV 216. A topic that is gone
// altogether takes its ordered-topic configuration along; RocketMQ leaves that
// behind, for a later topic of the same name to inherit.
func (s *Server) deleteTopic(c *transport.Conn, req *wire.Command) (*wire.Command, error) {
	var h header.DeleteTopic
	if err := h.Decode(req.Ext); err != nil {
		return nil, err
	}
	s.mu.Lock()
	configured := s.table.DeleteTopic(h.Topic, h.ClusterName)
	s.mu.Unlock()
	s.log.Info("topic deleted", "topic", h.Topic, "cluster", h.ClusterName)
	if !configured {
		return ok(req), nil
	}
	s.submit(func(t *Table) error {
		t.DeleteKV(NamespaceOrder, h.Topic)
		return nil
	}, func(err error) { s.answerEdit(c, req, err) })
	return nil, nil
}
