// SPDX-License-Identifier: Apache-2.0

package wire

// Request codes. The names are those of Java's RequestCode.
const (
	ReqSendMessage                          int32 = 10
	ReqPullMessage                          int32 = 11
	ReqQueryMessage                         int32 = 12
	ReqQueryBrokerOffset                    int32 = 13
	ReqQueryConsumerOffset                  int32 = 14
	ReqUpdateConsumerOffset                 int32 = 15
	ReqUpdateAndCreateTopic                 int32 = 17
	ReqUpdateAndCreateTopicList             int32 = 18
	ReqGetAllTopicConfig                    int32 = 21
	ReqGetTopicConfigList                   int32 = 22
	ReqGetTopicNameList                     int32 = 23
	ReqUpdateBrokerConfig                   int32 = 25
	ReqGetBrokerConfig                      int32 = 26
	ReqTriggerDeleteFiles                   int32 = 27
	ReqGetBrokerRuntimeInfo                 int32 = 28
	ReqSearchOffsetByTimestamp              int32 = 29
	ReqGetMaxOffset                         int32 = 30
	ReqGetMinOffset                         int32 = 31
	ReqGetEarliestMsgStoreTime              int32 = 32
	ReqViewMessageByID                      int32 = 33
	ReqHeartBeat                            int32 = 34
	ReqUnregisterClient                     int32 = 35
	ReqConsumerSendMsgBack                  int32 = 36
	ReqEndTransaction                       int32 = 37
	ReqGetConsumerListByGroup               int32 = 38
	ReqCheckTransactionState                int32 = 39
	ReqNotifyConsumerIDsChanged             int32 = 40
	ReqLockBatchMQ                          int32 = 41
	ReqUnlockBatchMQ                        int32 = 42
	ReqGetAllConsumerOffset                 int32 = 43
	ReqGetAllDelayOffset                    int32 = 45
	ReqCheckClientConfig                    int32 = 46
	ReqGetClientConfig                      int32 = 47
	ReqGetTimerCheckPoint                   int32 = 60
	ReqGetTimerMetrics                      int32 = 61
	ReqPutKVConfig                          int32 = 100
	ReqGetKVConfig                          int32 = 101
	ReqDeleteKVConfig                       int32 = 102
	ReqRegisterBroker                       int32 = 103
	ReqUnregisterBroker                     int32 = 104
	ReqGetRouteInfoByTopic                  int32 = 105
	ReqGetBrokerClusterInfo                 int32 = 106
	ReqUpdateAndCreateSubscriptionGroup     int32 = 200
	ReqGetAllSubscriptionGroupConfig        int32 = 201
	ReqGetTopicStatsInfo                    int32 = 202
	ReqGetConsumerConnectionList            int32 = 203
	ReqGetProducerConnectionList            int32 = 204
	ReqWipeWritePermOfBroker                int32 = 205
	ReqGetAllTopicListFromNameServer        int32 = 206
	ReqDeleteSubscriptionGroup              int32 = 207
	ReqGetConsumeStats                      int32 = 208
	ReqSuspendConsumer                      int32 = 209
	ReqResumeConsumer                       int32 = 210
	ReqResetConsumerOffsetInConsumer        int32 = 211
	ReqResetConsumerOffsetInBroker          int32 = 212
	ReqAdjustConsumerThreadPool             int32 = 213
	ReqWhoConsumeTheMessage                 int32 = 214
	ReqDeleteTopicInBroker                  int32 = 215
	ReqDeleteTopicInNamesrv                 int32 = 216
	ReqRegisterTopicInNamesrv               int32 = 217
	ReqGetKVListByNamespace                 int32 = 219
	ReqResetConsumerClientOffset            int32 = 220
	ReqGetConsumerStatusFromClient          int32 = 221
	ReqInvokeBrokerToResetOffset            int32 = 222
	ReqInvokeBrokerToGetConsumerStatus      int32 = 223
	ReqGetTopicsByCluster                   int32 = 224
	ReqUpdateAndCreateSubscriptionGroupList int32 = 225
	ReqQueryTopicConsumeByWho               int32 = 300
	ReqRegisterFilterServer                 int32 = 301
	ReqRegisterMessageFilterClass           int32 = 302
	ReqQueryConsumeTimeSpan                 int32 = 303
	ReqGetSystemTopicListFromNS             int32 = 304
	ReqGetSystemTopicListFromBroker         int32 = 305
	ReqCleanExpiredConsumeQueue             int32 = 306
	ReqGetConsumerRunningInfo               int32 = 307
	ReqQueryCorrectionOffset                int32 = 308
	ReqConsumeMessageDirectly               int32 = 309
	ReqSendMessageV2                        int32 = 310
	ReqGetUnitTopicList                     int32 = 311
	ReqGetHasUnitSubTopicList               int32 = 312
	ReqGetHasUnitSubUnunitTopicList         int32 = 313
	ReqCloneGroupOffset                     int32 = 314
	ReqViewBrokerStatsData                  int32 = 315
	ReqCleanUnusedTopic                     int32 = 316
	ReqGetBrokerConsumeStats                int32 = 317
	ReqUpdateNamesrvConfig                  int32 = 318
	ReqGetNamesrvConfig                     int32 = 319
	ReqSendBatchMessage                     int32 = 320
	ReqQueryConsumeQueue                    int32 = 321
	ReqQueryDataVersion                     int32 = 322
	ReqResumeCheckHalfMessage               int32 = 323
	ReqSendReplyMessage                     int32 = 324
	ReqSendReplyMessageV2                   int32 = 325
	ReqPushReplyMessageToClient             int32 = 326
	ReqAddWritePermOfBroker                 int32 = 327
	ReqGetAllProducerInfo                   int32 = 328
	ReqDeleteExpiredCommitLog               int32 = 329
	ReqQueryTopicsByConsumer                int32 = 343
	ReqQuerySubscriptionByConsumer          int32 = 345
	ReqGetTopicConfig                       int32 = 351
	ReqGetSubscriptionGroupConfig           int32 = 352
	ReqUpdateAndGetGroupForbidden           int32 = 353
	ReqCheckRocksDBCQWriteProgress          int32 = 354
	ReqExportRocksDBConfigToJSON            int32 = 355
	ReqLitePullMessage                      int32 = 361
	ReqRecallMessage                        int32 = 370
	ReqQueryAssignment                      int32 = 400
	ReqSetMessageRequestMode                int32 = 401
	ReqGetAllMessageRequestMode             int32 = 402
	ReqUpdateAndCreateStaticTopic           int32 = 513
	ReqGetBrokerMemberGroup                 int32 = 901
	ReqAddBroker                            int32 = 902
	ReqRemoveBroker                         int32 = 903
	ReqBrokerHeartbeat                      int32 = 904
	ReqNotifyMinBrokerIDChange              int32 = 905
	ReqExchangeBrokerHAInfo                 int32 = 906
	ReqGetBrokerHAStatus                    int32 = 907
	ReqResetMasterFlushOffset               int32 = 908
	ReqGetBrokerEpochCache                  int32 = 1007
	ReqGetColdDataFlowCtrInfo               int32 = 2003
	ReqSetCommitLogReadMode                 int32 = 2004
	ReqAuthCreateUser                       int32 = 3001
	ReqAuthUpdateUser                       int32 = 3002
	ReqAuthDeleteUser                       int32 = 3003
	ReqAuthGetUser                          int32 = 3004
	ReqAuthListUser                         int32 = 3005
	ReqAuthCreateACL                        int32 = 3006
	ReqAuthUpdateACL                        int32 = 3007
	ReqAuthDeleteACL                        int32 = 3008
	ReqAuthGetACL                           int32 = 3009
	ReqAuthListACL                          int32 = 3010
	ReqSwitchTimerEngine                    int32 = 5001
	ReqPopMessage                           int32 = 200050
	ReqAckMessage                           int32 = 200051
	ReqPeekMessage                          int32 = 200052
	ReqChangeMessageInvisibleTime           int32 = 200053
	ReqNotification                         int32 = 200054
	ReqPollingInfo                          int32 = 200055
	ReqPopRollback                          int32 = 200056
	ReqGetBrokerLiteInfo                    int32 = 200074
	ReqGetParentTopicInfo                   int32 = 200075
	ReqGetLiteGroupInfo                     int32 = 200078
	ReqBatchAckMessage                      int32 = 200151
)

// requestNames is sorted by code; nothing writes to it.
var requestNames = [...]codeName{
	{ReqSendMessage, "SEND_MESSAGE"},
	{ReqPullMessage, "PULL_MESSAGE"},
	{ReqQueryMessage, "QUERY_MESSAGE"},
	{ReqQueryBrokerOffset, "QUERY_BROKER_OFFSET"},
	{ReqQueryConsumerOffset, "QUERY_CONSUMER_OFFSET"},
	{ReqUpdateConsumerOffset, "UPDATE_CONSUMER_OFFSET"},
	{ReqUpdateAndCreateTopic, "UPDATE_AND_CREATE_TOPIC"},
	{ReqUpdateAndCreateTopicList, "UPDATE_AND_CREATE_TOPIC_LIST"},
	{ReqGetAllTopicConfig, "GET_ALL_TOPIC_CONFIG"},
	{ReqGetTopicConfigList, "GET_TOPIC_CONFIG_LIST"},
	{ReqGetTopicNameList, "GET_TOPIC_NAME_LIST"},
	{ReqUpdateBrokerConfig, "UPDATE_BROKER_CONFIG"},
	{ReqGetBrokerConfig, "GET_BROKER_CONFIG"},
	{ReqTriggerDeleteFiles, "TRIGGER_DELETE_FILES"},
	{ReqGetBrokerRuntimeInfo, "GET_BROKER_RUNTIME_INFO"},
	{ReqSearchOffsetByTimestamp, "SEARCH_OFFSET_BY_TIMESTAMP"},
	{ReqGetMaxOffset, "GET_MAX_OFFSET"},
	{ReqGetMinOffset, "GET_MIN_OFFSET"},
	{ReqGetEarliestMsgStoreTime, "GET_EARLIEST_MSG_STORETIME"},
	{ReqViewMessageByID, "VIEW_MESSAGE_BY_ID"},
	{ReqHeartBeat, "HEART_BEAT"},
	{ReqUnregisterClient, "UNREGISTER_CLIENT"},
	{ReqConsumerSendMsgBack, "CONSUMER_SEND_MSG_BACK"},
	{ReqEndTransaction, "END_TRANSACTION"},
	{ReqGetConsumerListByGroup, "GET_CONSUMER_LIST_BY_GROUP"},
	{ReqCheckTransactionState, "CHECK_TRANSACTION_STATE"},
	{ReqNotifyConsumerIDsChanged, "NOTIFY_CONSUMER_IDS_CHANGED"},
	{ReqLockBatchMQ, "LOCK_BATCH_MQ"},
	{ReqUnlockBatchMQ, "UNLOCK_BATCH_MQ"},
	{ReqGetAllConsumerOffset, "GET_ALL_CONSUMER_OFFSET"},
	{ReqGetAllDelayOffset, "GET_ALL_DELAY_OFFSET"},
	{ReqCheckClientConfig, "CHECK_CLIENT_CONFIG"},
	{ReqGetClientConfig, "GET_CLIENT_CONFIG"},
	{ReqGetTimerCheckPoint, "GET_TIMER_CHECK_POINT"},
	{ReqGetTimerMetrics, "GET_TIMER_METRICS"},
	{ReqPutKVConfig, "PUT_KV_CONFIG"},
	{ReqGetKVConfig, "GET_KV_CONFIG"},
	{ReqDeleteKVConfig, "DELETE_KV_CONFIG"},
	{ReqRegisterBroker, "REGISTER_BROKER"},
	{ReqUnregisterBroker, "UNREGISTER_BROKER"},
	{ReqGetRouteInfoByTopic, "GET_ROUTEINFO_BY_TOPIC"},
	{ReqGetBrokerClusterInfo, "GET_BROKER_CLUSTER_INFO"},
	{ReqUpdateAndCreateSubscriptionGroup, "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP"},
	{ReqGetAllSubscriptionGroupConfig, "GET_ALL_SUBSCRIPTIONGROUP_CONFIG"},
	{ReqGetTopicStatsInfo, "GET_TOPIC_STATS_INFO"},
	{ReqGetConsumerConnectionList, "GET_CONSUMER_CONNECTION_LIST"},
	{ReqGetProducerConnectionList, "GET_PRODUCER_CONNECTION_LIST"},
	{ReqWipeWritePermOfBroker, "WIPE_WRITE_PERM_OF_BROKER"},
	{ReqGetAllTopicListFromNameServer, "GET_ALL_TOPIC_LIST_FROM_NAMESERVER"},
	{ReqDeleteSubscriptionGroup, "DELETE_SUBSCRIPTIONGROUP"},
	{ReqGetConsumeStats, "GET_CONSUME_STATS"},
	{ReqSuspendConsumer, "SUSPEND_CONSUMER"},
	{ReqResumeConsumer, "RESUME_CONSUMER"},
	{ReqResetConsumerOffsetInConsumer, "RESET_CONSUMER_OFFSET_IN_CONSUMER"},
	{ReqResetConsumerOffsetInBroker, "RESET_CONSUMER_OFFSET_IN_BROKER"},
	{ReqAdjustConsumerThreadPool, "ADJUST_CONSUMER_THREAD_POOL"},
	{ReqWhoConsumeTheMessage, "WHO_CONSUME_THE_MESSAGE"},
	{ReqDeleteTopicInBroker, "DELETE_TOPIC_IN_BROKER"},
	{ReqDeleteTopicInNamesrv, "DELETE_TOPIC_IN_NAMESRV"},
	{ReqRegisterTopicInNamesrv, "REGISTER_TOPIC_IN_NAMESRV"},
	{ReqGetKVListByNamespace, "GET_KVLIST_BY_NAMESPACE"},
	{ReqResetConsumerClientOffset, "RESET_CONSUMER_CLIENT_OFFSET"},
	{ReqGetConsumerStatusFromClient, "GET_CONSUMER_STATUS_FROM_CLIENT"},
	{ReqInvokeBrokerToResetOffset, "INVOKE_BROKER_TO_RESET_OFFSET"},
	{ReqInvokeBrokerToGetConsumerStatus, "INVOKE_BROKER_TO_GET_CONSUMER_STATUS"},
	{ReqGetTopicsByCluster, "GET_TOPICS_BY_CLUSTER"},
	{ReqUpdateAndCreateSubscriptionGroupList, "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST"},
	{ReqQueryTopicConsumeByWho, "QUERY_TOPIC_CONSUME_BY_WHO"},
	{ReqRegisterFilterServer, "REGISTER_FILTER_SERVER"},
	{ReqRegisterMessageFilterClass, "REGISTER_MESSAGE_FILTER_CLASS"},
	{ReqQueryConsumeTimeSpan, "QUERY_CONSUME_TIME_SPAN"},
	{ReqGetSystemTopicListFromNS, "GET_SYSTEM_TOPIC_LIST_FROM_NS"},
	{ReqGetSystemTopicListFromBroker, "GET_SYSTEM_TOPIC_LIST_FROM_BROKER"},
	{ReqCleanExpiredConsumeQueue, "CLEAN_EXPIRED_CONSUMEQUEUE"},
	{ReqGetConsumerRunningInfo, "GET_CONSUMER_RUNNING_INFO"},
	{ReqQueryCorrectionOffset, "QUERY_CORRECTION_OFFSET"},
	{ReqConsumeMessageDirectly, "CONSUME_MESSAGE_DIRECTLY"},
	{ReqSendMessageV2, "SEND_MESSAGE_V2"},
	{ReqGetUnitTopicList, "GET_UNIT_TOPIC_LIST"},
	{ReqGetHasUnitSubTopicList, "GET_HAS_UNIT_SUB_TOPIC_LIST"},
	{ReqGetHasUnitSubUnunitTopicList, "GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST"},
	{ReqCloneGroupOffset, "CLONE_GROUP_OFFSET"},
	{ReqViewBrokerStatsData, "VIEW_BROKER_STATS_DATA"},
	{ReqCleanUnusedTopic, "CLEAN_UNUSED_TOPIC"},
	{ReqGetBrokerConsumeStats, "GET_BROKER_CONSUME_STATS"},
	{ReqUpdateNamesrvConfig, "UPDATE_NAMESRV_CONFIG"},
	{ReqGetNamesrvConfig, "GET_NAMESRV_CONFIG"},
	{ReqSendBatchMessage, "SEND_BATCH_MESSAGE"},
	{ReqQueryConsumeQueue, "QUERY_CONSUME_QUEUE"},
	{ReqQueryDataVersion, "QUERY_DATA_VERSION"},
	{ReqResumeCheckHalfMessage, "RESUME_CHECK_HALF_MESSAGE"},
	{ReqSendReplyMessage, "SEND_REPLY_MESSAGE"},
	{ReqSendReplyMessageV2, "SEND_REPLY_MESSAGE_V2"},
	{ReqPushReplyMessageToClient, "PUSH_REPLY_MESSAGE_TO_CLIENT"},
	{ReqAddWritePermOfBroker, "ADD_WRITE_PERM_OF_BROKER"},
	{ReqGetAllProducerInfo, "GET_ALL_PRODUCER_INFO"},
	{ReqDeleteExpiredCommitLog, "DELETE_EXPIRED_COMMITLOG"},
	{ReqQueryTopicsByConsumer, "QUERY_TOPICS_BY_CONSUMER"},
	{ReqQuerySubscriptionByConsumer, "QUERY_SUBSCRIPTION_BY_CONSUMER"},
	{ReqGetTopicConfig, "GET_TOPIC_CONFIG"},
	{ReqGetSubscriptionGroupConfig, "GET_SUBSCRIPTIONGROUP_CONFIG"},
	{ReqUpdateAndGetGroupForbidden, "UPDATE_AND_GET_GROUP_FORBIDDEN"},
	{ReqCheckRocksDBCQWriteProgress, "CHECK_ROCKSDB_CQ_WRITE_PROGRESS"},
	{ReqExportRocksDBConfigToJSON, "EXPORT_ROCKSDB_CONFIG_TO_JSON"},
	{ReqLitePullMessage, "LITE_PULL_MESSAGE"},
	{ReqRecallMessage, "RECALL_MESSAGE"},
	{ReqQueryAssignment, "QUERY_ASSIGNMENT"},
	{ReqSetMessageRequestMode, "SET_MESSAGE_REQUEST_MODE"},
	{ReqGetAllMessageRequestMode, "GET_ALL_MESSAGE_REQUEST_MODE"},
	{ReqUpdateAndCreateStaticTopic, "UPDATE_AND_CREATE_STATIC_TOPIC"},
	{ReqGetBrokerMemberGroup, "GET_BROKER_MEMBER_GROUP"},
	{ReqAddBroker, "ADD_BROKER"},
	{ReqRemoveBroker, "REMOVE_BROKER"},
	{ReqBrokerHeartbeat, "BROKER_HEARTBEAT"},
	{ReqNotifyMinBrokerIDChange, "NOTIFY_MIN_BROKER_ID_CHANGE"},
	{ReqExchangeBrokerHAInfo, "EXCHANGE_BROKER_HA_INFO"},
	{ReqGetBrokerHAStatus, "GET_BROKER_HA_STATUS"},
	{ReqResetMasterFlushOffset, "RESET_MASTER_FLUSH_OFFSET"},
	{ReqGetBrokerEpochCache, "GET_BROKER_EPOCH_CACHE"},
	{ReqGetColdDataFlowCtrInfo, "GET_COLD_DATA_FLOW_CTR_INFO"},
	{ReqSetCommitLogReadMode, "SET_COMMITLOG_READ_MODE"},
	{ReqAuthCreateUser, "AUTH_CREATE_USER"},
	{ReqAuthUpdateUser, "AUTH_UPDATE_USER"},
	{ReqAuthDeleteUser, "AUTH_DELETE_USER"},
	{ReqAuthGetUser, "AUTH_GET_USER"},
	{ReqAuthListUser, "AUTH_LIST_USER"},
	{ReqAuthCreateACL, "AUTH_CREATE_ACL"},
	{ReqAuthUpdateACL, "AUTH_UPDATE_ACL"},
	{ReqAuthDeleteACL, "AUTH_DELETE_ACL"},
	{ReqAuthGetACL, "AUTH_GET_ACL"},
	{ReqAuthListACL, "AUTH_LIST_ACL"},
	{ReqSwitchTimerEngine, "SWITCH_TIMER_ENGINE"},
	{ReqPopMessage, "POP_MESSAGE"},
	{ReqAckMessage, "ACK_MESSAGE"},
	{ReqPeekMessage, "PEEK_MESSAGE"},
	{ReqChangeMessageInvisibleTime, "CHANGE_MESSAGE_INVISIBLETIME"},
	{ReqNotification, "NOTIFICATION"},
	{ReqPollingInfo, "POLLING_INFO"},
	{ReqPopRollback, "POP_ROLLBACK"},
	{ReqGetBrokerLiteInfo, "GET_BROKER_LITE_INFO"},
	{ReqGetParentTopicInfo, "GET_PARENT_TOPIC_INFO"},
	{ReqGetLiteGroupInfo, "GET_LITE_GROUP_INFO"},
	{ReqBatchAckMessage, "BATCH_ACK_MESSAGE"},
}
