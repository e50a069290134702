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
		{code: wire.ReqQueryMessage, name: "query message", serve: (*Broker).queryMessage},
		{code: wire.ReqQueryConsumerOffset, name: "query consumer offset", serve: (*Broker).queryOffset},
		{code: wire.ReqUpdateConsumerOffset, name: "update consumer offset", serve: (*Broker).updateOffset},
		{code: wire.ReqUpdateAndCreateTopic, name: "update topic", serve: (*Broker).updateTopic},
		{code: wire.ReqUpdateAndCreateTopicList, name: "update topics", serve: (*Broker).updateTopics},
		{code: wire.ReqGetAllTopicConfig, name: "get all topic configurations", serve: (*Broker).getAllTopicConfig},
		{code: wire.ReqUpdateBrokerConfig, name: "update broker configuration", serve: (*Broker).updateBrokerConfig},
		{code: wire.ReqGetBrokerConfig, name: "get broker configuration", serve: (*Broker).getBrokerConfig},
		{code: wire.ReqGetBrokerRuntimeInfo, name: "get runtime info", serve: (*Broker).getRuntimeInfo},
		{code: wire.ReqSearchOffsetByTimestamp, name: "search offset", serve: (*Broker).searchOffset},
		{code: wire.ReqGetMaxOffset, name: "get max offset", serve: (*Broker).getMaxOffset},
		{code: wire.ReqGetMinOffset, name: "get min offset", serve: (*Broker).getMinOffset},
		{code: wire.ReqGetEarliestMsgStoreTime, name: "get earliest store time", serve: (*Broker).getEarliestStoreTime},
		{code: wire.ReqViewMessageByID, name: "view message", serve: (*Broker).viewMessage},
		{code: wire.ReqHeartBeat, name: "heartbeat", serve: (*Broker).heartbeat},
		{code: wire.ReqUnregisterClient, name: "unregister client", serve: (*Broker).unregister},
		{code: wire.ReqConsumerSendMsgBack, name: "send message back", serve: (*Broker).sendBack},
		{code: wire.ReqGetConsumerListByGroup, name: "get consumer list", serve: (*Broker).getConsumerList},
		{code: wire.ReqLockBatchMQ, name: "lock queues", serve: (*Broker).lockBatch},
		{code: wire.ReqUnlockBatchMQ, name: "unlock queues", serve: (*Broker).unlockBatch},
		{code: wire.ReqGetAllConsumerOffset, name: "get all consumer offsets", serve: (*Broker).getAllConsumerOffsets},
		{code: wire.ReqGetAllDelayOffset, name: "get all delay offsets", serve: (*Broker).getAllDelayOffsets},
		{code: wire.ReqCheckClientConfig, name: "check client configuration", serve: (*Broker).checkClientConfig},
		{code: wire.ReqUpdateAndCreateSubscriptionGroup, name: "update group", serve: (*Broker).updateGroup},
		{code: wire.ReqGetAllSubscriptionGroupConfig, name: "get all group configurations", serve: (*Broker).getAllGroupConfig},
		{code: wire.ReqGetTopicStatsInfo, name: "get topic stats", serve: (*Broker).getTopicStats},
		{code: wire.ReqGetConsumerConnectionList, name: "get consumer connections", serve: (*Broker).getConsumerConnections},
		{code: wire.ReqGetProducerConnectionList, name: "get producer connections", serve: (*Broker).getProducerConnections},
		{code: wire.ReqDeleteSubscriptionGroup, name: "delete group", serve: (*Broker).deleteGroup},
		{code: wire.ReqGetConsumeStats, name: "get consume stats", serve: (*Broker).getConsumeStats},
		{code: wire.ReqDeleteTopicInBroker, name: "delete topic", serve: (*Broker).deleteTopic},
		{code: wire.ReqInvokeBrokerToResetOffset, name: "reset offset", serve: (*Broker).resetOffset},
		{code: wire.ReqInvokeBrokerToGetConsumerStatus, name: "get consumer status", serve: (*Broker).relayConsumerStatus},
		{code: wire.ReqUpdateAndCreateSubscriptionGroupList, name: "update groups", serve: (*Broker).updateGroups},
		{code: wire.ReqQueryTopicConsumeByWho, name: "query groups of topic", serve: (*Broker).queryConsumers},
		{code: wire.ReqQueryConsumeTimeSpan, name: "query consume time span", serve: (*Broker).queryTimeSpan},
		{code: wire.ReqGetSystemTopicListFromBroker, name: "get system topics", serve: (*Broker).getSystemTopics},
		{code: wire.ReqCleanExpiredConsumeQueue, name: "clean expired queues", serve: (*Broker).nothingToClean},
		{code: wire.ReqGetConsumerRunningInfo, name: "get consumer running info", serve: (*Broker).relayRunningInfo},
		{code: wire.ReqConsumeMessageDirectly, name: "consume message directly", serve: (*Broker).relayConsumeDirectly},
		{code: wire.ReqSendMessageV2, name: "send message", serve: (*Broker).sendMessage},
		{code: wire.ReqCloneGroupOffset, name: "clone group offset", serve: (*Broker).cloneOffsets},
		{code: wire.ReqViewBrokerStatsData, name: "view stats", serve: (*Broker).viewStats},
		{code: wire.ReqCleanUnusedTopic, name: "clean unused topics", serve: (*Broker).nothingToClean},
		{code: wire.ReqGetBrokerConsumeStats, name: "get consume stats of all groups", serve: (*Broker).getBrokerConsumeStats},
		{code: wire.ReqSendBatchMessage, name: "send batch", serve: (*Broker).sendMessage},
		{code: wire.ReqQueryConsumeQueue, name: "query consume queue", serve: (*Broker).queryConsumeQueue},
		{code: wire.ReqGetAllProducerInfo, name: "get all producers", serve: (*Broker).getAllProducers},
		{code: wire.ReqDeleteExpiredCommitLog, name: "delete expired log", serve: (*Broker).nothingToClean},
		{code: wire.ReqQueryTopicsByConsumer, name: "query topics of group", serve: (*Broker).queryTopicsOfGroup},
		{code: wire.ReqQuerySubscriptionByConsumer, name: "query subscription", serve: (*Broker).querySubscription},
		{code: wire.ReqGetTopicConfig, name: "get topic configuration", serve: (*Broker).getTopicConfig},
		{code: wire.ReqGetSubscriptionGroupConfig, name: "get group configuration", serve: (*Broker).getGroupConfig},
		{code: wire.ReqUpdateAndGetGroupForbidden, name: "update group forbidden", serve: (*Broker).updateForbidden},
		{code: wire.ReqLitePullMessage, name: "pull message", serve: (*Broker).pullMessage, mainPort: true},
		{code: wire.ReqQueryAssignment, name: "query assignment", serve: (*Broker).queryAssignment},
		{code: wire.ReqGetAllMessageRequestMode, name: "get request modes", serve: (*Broker).getRequestModes},
		{code: wire.ReqGetBrokerHAStatus, name: "get replica status", serve: (*Broker).getHAStatus},
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
