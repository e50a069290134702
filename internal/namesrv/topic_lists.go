// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"errors"
	"maps"
	"slices"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

var errListDisabled = errors.New("disable")

// getAllTopics serves GET_ALL_TOPIC_LIST_FROM_NAMESERVER 206.
func (s *Server) getAllTopics(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	if !s.settings.allTopicList.Load() {
		return nil, errListDisabled
	}
	return s.topicList(req, nil)
}

// getTopicsByCluster serves GET_TOPICS_BY_CLUSTER 224.
func (s *Server) getTopicsByCluster(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	if !s.settings.topicList.Load() {
		return nil, errListDisabled
	}
	var h header.GetTopicsByCluster
	if err := h.Decode(req.Ext); err != nil {
		return nil, err
	}
	return s.topicList(req, s.table.inCluster(h.Cluster))
}

// getUnitTopics serves GET_UNIT_TOPIC_LIST 311, GET_HAS_UNIT_SUB_TOPIC_LIST 312
// and GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST 313.
func (s *Server) getUnitTopics(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	if !s.settings.topicList.Load() {
		return nil, errListDisabled
	}
	switch req.Code {
	case wire.ReqGetUnitTopicList:
		return s.topicList(req, withFlags(flagUnit, 0))
	case wire.ReqGetHasUnitSubTopicList:
		return s.topicList(req, withFlags(flagUnitSub, 0))
	default:
		return s.topicList(req, withFlags(flagUnitSub, flagUnit))
	}
}

func (s *Server) topicList(req *wire.Command, keep func(map[string]*queueData) bool) (*wire.Command, error) {
	s.mu.RLock()
	names := s.table.Topics(keep)
	s.mu.RUnlock()
	return okBody(req, (&body.TopicList{Topics: names}).Encode()), nil
}

// getSystemTopics serves GET_SYSTEM_TOPIC_LIST_FROM_NS 304: the names of
// clusters and brokers, which are topics, and the address of some broker.
func (s *Server) getSystemTopics(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	if !s.settings.topicList.Load() {
		return nil, errListDisabled
	}
	s.mu.RLock()
	brokers := s.table.Brokers()
	s.mu.RUnlock()
	list := body.TopicList{Topics: []string{}}
	names := map[string]bool{}
	for _, b := range brokers {
		names[b.Cluster], names[b.Name] = true, true
		if list.BrokerAddr == "" {
			list.BrokerAddr = b.Addrs[slices.Min(slices.Collect(maps.Keys(b.Addrs)))]
		}
	}
	list.Topics = slices.Sorted(maps.Keys(names))
	return okBody(req, list.Encode()), nil
}
