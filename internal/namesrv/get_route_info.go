// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"cmp"
	"fmt"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
)

// getRouteInfo serves GET_ROUTEINFO_BY_TOPIC 105. Old clients get broker ids as
// bare JSON keys, new ones and those that ask for it strict JSON.
func (s *Server) getRouteInfo(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	topic := req.Ext.Value("topic")
	s.mu.RLock()
	r, found := s.table.Route(topic)
	s.mu.RUnlock()
	if !found {
		return wire.NewResponse(req, wire.TopicNotExist, fmt.Sprintf(
			"No topic route info in name server for the topic: %s\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.",
			cmp.Or(topic, "null"))), nil
	}
	data := body.TopicRouteData{OrderTopicConf: r.OrderConf}
	for _, b := range r.Brokers {
		data.Brokers = append(data.Brokers, brokerData(b))
	}
	for _, q := range r.Queues {
		data.Queues = append(data.Queues, body.QueueData{
			BrokerName: q.Broker, ReadQueueNums: q.Read, WriteQueueNums: q.Write, Perm: q.Perm, TopicSysFlag: q.SysFlag,
		})
	}
	if req.Version >= wire.VersionStrictJSON || req.Ext.Value("acceptStandardJsonOnly") == "true" {
		return okBody(req, data.Encode()), nil
	}
	return okBody(req, data.EncodeLegacy()), nil
}

func brokerData(b Broker) body.BrokerData {
	return body.BrokerData{
		Cluster: b.Cluster, BrokerName: b.Name, BrokerAddrs: b.Addrs,
		EnableActingMaster: b.ActingMaster, ZoneName: b.Zone,
	}
}
