// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"

	"github.com/orderlymq/orderly/internal/route"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// route asks a name server where a topic is.
func (n *nameServers) route(ctx context.Context, topic string) (*topicRoute, error) {
	var found *topicRoute
	err := n.try(ctx, func(ctx context.Context, addr string) error {
		h := &header.GetRouteInfo{Topic: topic, AcceptStandardJSONOnly: header.Some(true)}
		resp, err := n.c.request(ctx, addr, wire.NewRequest(wire.ReqGetRouteInfoByTopic, h, nil))
		if err != nil {
			return err
		}
		var data body.TopicRouteData
		if err := data.Decode(resp.Body); err != nil {
			return err
		}
		found = &topicRoute{route: routeOf(&data)}
		return nil
	})
	if refused, ok := errors.AsType[*BrokerError](err); ok && int32(refused.Code) == wire.TopicNotExist {
		return nil, fmt.Errorf("%w: %s", ErrTopicNotFound, topic)
	}
	return found, err
}

func routeOf(data *body.TopicRouteData) route.TopicRoute {
	r := route.TopicRoute{OrderConf: data.OrderTopicConf}
	for _, b := range data.Brokers {
		r.Brokers = append(r.Brokers, route.BrokerData{
			Cluster: b.Cluster, Name: b.BrokerName, Addrs: b.BrokerAddrs, ActingMaster: b.EnableActingMaster, Zone: b.ZoneName,
		})
	}
	for _, q := range data.Queues {
		r.Queues = append(r.Queues, route.QueueData{
			Broker: q.BrokerName, Read: q.ReadQueueNums, Write: q.WriteQueueNums, Perm: q.Perm, SysFlag: q.TopicSysFlag,
		})
	}
	return r
}

// lanes asks a broker by which rule the topic's keys find their queues. A
// broker that does not know says so, and then nothing was laid down.
func (c *Client) lanes(ctx context.Context, topic, brokerName string) (laneInfo, error) {
	b := c.broker(brokerName)
	if b == nil {
		return laneInfo{}, ErrClosed
	}
	addr, err := b.address()
	if err != nil {
		return laneInfo{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	resp, err := c.request(ctx, addr, wire.NewRequest(wire.ReqGetTopicConfig, &header.GetTopicConfig{Topic: topic}, nil))
	if _, refused := errors.AsType[*BrokerError](err); refused {
		return laneInfo{}, nil
	}
	if err != nil {
		return laneInfo{}, err
	}
	var data body.TopicConfig
	if err := data.Decode(resp.Body); err != nil {
		return laneInfo{}, err
	}
	return laneInfoOf(&data)
}

func laneInfoOf(data *body.TopicConfig) (laneInfo, error) {
	name, ok := data.Attributes[header.AttrLaneFunction]
	if !ok {
		return laneInfo{}, nil
	}
	function, err := route.ParseFunction(name)
	if err != nil {
		return laneInfo{}, fmt.Errorf("topic %s: %w", data.TopicName, err)
	}
	info := laneInfo{function: function, queues: data.WriteQueueNums}
	if text := data.Attributes[header.AttrLaneMap]; text != "" {
		if info.lanes, err = route.ParseLaneMap(text); err != nil {
			return laneInfo{}, fmt.Errorf("topic %s: %w", data.TopicName, err)
		}
	}
	return info, info.lanes.Check(data.WriteQueueNums)
}
