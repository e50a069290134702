// SPDX-License-Identifier: Apache-2.0

package broker

import "github.com/orderlymq/orderly/internal/wire"

// handler serves one request code.
type handler struct {
	code     int32
	name     string
	serve    func(*Broker, request)
	mainPort bool // not served on the VIP address
}

// handlers is every request that a broker serves, by code.
func handlers() []handler {
	return []handler{
		{code: wire.ReqSendMessage, name: "send message", serve: (*Broker).sendMessage},
		{code: wire.ReqPullMessage, name: "pull message", serve: (*Broker).pullMessage, mainPort: true},
		{code: wire.ReqQueryConsumerOffset, name: "query consumer offset", serve: (*Broker).queryOffset},
		{code: wire.ReqUpdateConsumerOffset, name: "update consumer offset", serve: (*Broker).updateOffset},
		{code: wire.ReqUpdateAndCreateTopic, name: "update topic", serve: (*Broker).updateTopic},
		{code: wire.ReqUpdateAndCreateTopicList, name: "update topics", serve: (*Broker).updateTopics},
		{code: wire.ReqGetAllTopicConfig, name: "get all topic configurations", serve: (*Broker).getAllTopicConfig},
		{code: wire.ReqSearchOffsetByTimestamp, name: "search offset", serve: (*Broker).searchOffset},
		{code: wire.ReqGetMaxOffset, name: "get max offset", serve: (*Broker).getMaxOffset},
		{code: wire.ReqGetMinOffset, name: "get min offset", serve: (*Broker).getMinOffset},
		{code: wire.ReqGetEarliestMsgStoreTime, name: "get earliest store time", serve: (*Broker).getEarliestStoreTime},
		{code: wire.ReqHeartBeat, name: "heartbeat", serve: (*Broker).heartbeat},
		{code: wire.ReqUnregisterClient, name: "unregister client", serve: (*Broker).unregister},
		{code: wire.ReqConsumerSendMsgBack, name: "send message back", serve: (*Broker).sendBack},
		{code: wire.ReqGetConsumerListByGroup, name: "get consumer list", serve: (*Broker).getConsumerList},
		{code: wire.ReqLockBatchMQ, name: "lock queues", serve: (*Broker).lockBatch},
		{code: wire.ReqUnlockBatchMQ, name: "unlock queues", serve: (*Broker).unlockBatch},
		{code: wire.ReqDeleteTopicInBroker, name: "delete topic", serve: (*Broker).deleteTopic},
		{code: wire.ReqSendMessageV2, name: "send message", serve: (*Broker).sendMessage},
		{code: wire.ReqSendBatchMessage, name: "send batch", serve: (*Broker).sendMessage},
		{code: wire.ReqGetTopicConfig, name: "get topic configuration", serve: (*Broker).getTopicConfig},
		{code: wire.ReqLitePullMessage, name: "pull message", serve: (*Broker).pullMessage, mainPort: true},
	}
}

// handlerTable is handlers by code.
func handlerTable() map[int32]*handler {
	list := handlers()
	table := make(map[int32]*handler, len(list))
	for i := range list {
		table[list[i].code] = &list[i]
	}
	return table
}
