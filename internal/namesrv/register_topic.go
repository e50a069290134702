// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// registerTopic serves REGISTER_TOPIC_IN_NAMESRV 217. Of the body only the
// queues of known brokers are used.
func (s *Server) registerTopic(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	var h header.RegisterTopic
	if err := h.Decode(req.Ext); err != nil {
		return nil, err
	}
	var data body.TopicRouteData
	if len(req.Body) > 0 {
		if err := data.Decode(req.Body); err != nil {
			return nil, err
		}
	}
	queues := make([]Queues, 0, len(data.Queues))
	for _, q := range data.Queues {
		queues = append(queues, Queues{q.BrokerName, Topic{Read: q.ReadQueueNums, Write: q.WriteQueueNums, Perm: q.Perm, SysFlag: q.TopicSysFlag}})
	}
	s.mu.Lock()
	err := s.table.AddTopic(h.Topic, queues)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return ok(req), nil
}
