// SPDX-License-Identifier: Apache-2.0

package msg

// Names of the properties that have a meaning in the protocol.
const (
	PropKeys           = "KEYS" // index words, separated by spaces
	PropTags           = "TAGS" // one tag
	PropWait           = "WAIT"
	PropDelay          = "DELAY" // delay level
	PropRetryTopic     = "RETRY_TOPIC"
	PropRealTopic      = "REAL_TOPIC"
	PropRealQueue      = "REAL_QID"
	PropTransaction    = "TRAN_MSG"
	PropProducerGroup  = "PGROUP"
	PropMinOffset      = "MIN_OFFSET"
	PropMaxOffset      = "MAX_OFFSET"
	PropOriginID       = "ORIGIN_MESSAGE_ID"
	PropReconsumeTime  = "RECONSUME_TIME"
	PropMaxReconsume   = "MAX_RECONSUME_TIMES"
	PropRegion         = "MSG_REGION"
	PropTraceOn        = "TRACE_ON"
	PropCluster        = "CLUSTER"
	PropUniqueKey      = "UNIQ_KEY" // client message id
	PropExtendUnique   = "EXTEND_UNIQ_INFO"
	PropConsumeStart   = "CONSUME_START_TIME"
	PropInnerCount     = "INNER_NUM"
	PropInnerBase      = "INNER_BASE"
	PropDupInfo        = "DUP_INFO"
	PropCheckImmunity  = "CHECK_IMMUNITY_TIME_IN_SECONDS"
	PropPreparedQueue  = "TRAN_PREPARED_QUEUE_OFFSET"
	PropTransactionID  = "__transactionId__"
	PropCheckTimes     = "TRANSACTION_CHECK_TIMES"
	PropInstance       = "INSTANCE_ID"
	PropCorrelation    = "CORRELATION_ID"
	PropReplyTo        = "REPLY_TO_CLIENT"
	PropTTL            = "TTL"
	PropMessageType    = "MSG_TYPE"
	PropPushReplyTime  = "PUSH_REPLY_TIME"
	PropArriveTime     = "ARRIVE_TIME"
	PropPopCheckpoint  = "POP_CK"
	PropPopCkOffset    = "POP_CK_OFFSET"
	PropFirstPopTime   = "1ST_POP_TIME"
	PropShardingKey    = "__SHARDINGKEY" // the ordering key
	PropShardingKeyGo  = "SHARDING_KEY"  // RocketMQ's Go client: its own name for the same
	PropForwardQueue   = "PROPERTY_FORWARD_QUEUE_ID"
	PropRedirect       = "REDIRECT"
	PropMultiDispatch  = "INNER_MULTI_DISPATCH"
	PropMultiOffset    = "INNER_MULTI_QUEUE_OFFSET"
	PropTraceContext   = "TRACE_CONTEXT"
	PropTimerDelaySec  = "TIMER_DELAY_SEC"
	PropTimerDelayMs   = "TIMER_DELAY_MS"
	PropTimerDeliverMs = "TIMER_DELIVER_MS"
	PropTimerEnqueueMs = "TIMER_ENQUEUE_MS"
	PropTimerDequeueMs = "TIMER_DEQUEUE_MS"
	PropTimerRollTimes = "TIMER_ROLL_TIMES"
	PropTimerOutMs     = "TIMER_OUT_MS"
	PropTimerDelKey    = "TIMER_DEL_UNIQKEY"
	PropTimerLevel     = "TIMER_DELAY_LEVEL"
	PropBornHost       = "__BORNHOST"
	PropBornTimestamp  = "BORN_TIMESTAMP"
	PropCRC            = "__CRC32#" // check of the whole record, see AppendCheckedRecord
	PropDLQOriginTopic = "DLQ_ORIGIN_TOPIC"
	PropDLQOriginID    = "DLQ_ORIGIN_MESSAGE_ID"

	// Orderly's own, on dead letters and on what was sent back from there.
	PropLetter         = "O_LETTER"          // group/topic/queue/offset of the message that was given up
	PropLetterAttempts = "O_LETTER_ATTEMPTS" // how often it was tried
	PropLetterCause    = "O_LETTER_CAUSE"    // the last error
	PropResent         = "O_RESENT"          // topic/queue/offset of the dead letter that it was
)

// ReservedProperty reports whether an application must not set the property
// itself. It is a check for senders only: a broker takes what it is sent.
func ReservedProperty(name string) bool {
	switch name {
	case PropTransaction, PropKeys, PropTags, PropWait, PropDelay, PropRetryTopic, PropRealTopic, PropRealQueue,
		PropProducerGroup, PropMinOffset, PropMaxOffset, "BUYER_ID", PropOriginID, "TRANSFER_FLAG",
		"CORRECTION_FLAG", "MQ2_FLAG", PropReconsumeTime, PropRegion, PropTraceOn, PropUniqueKey,
		PropExtendUnique, PropMaxReconsume, PropConsumeStart, PropPopCheckpoint, PropPopCkOffset,
		PropFirstPopTime, PropPreparedQueue, PropTransactionID, PropCheckTimes, PropDupInfo,
		PropInstance, PropCorrelation, PropReplyTo, PropTTL, PropArriveTime, PropPushReplyTime,
		PropCluster, PropMessageType, PropForwardQueue, PropRedirect, PropMultiDispatch,
		PropMultiOffset, PropTraceContext, PropTimerDelaySec, PropTimerDelayMs, PropTimerDeliverMs,
		PropTimerEnqueueMs, PropTimerDequeueMs, PropTimerRollTimes, PropTimerOutMs, PropTimerDelKey,
		PropTimerLevel, PropBornHost, PropBornTimestamp, PropCRC, PropInnerCount, PropInnerBase,
		PropShardingKey:
		return true
	}
	return false
}
