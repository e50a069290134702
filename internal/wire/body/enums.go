// SPDX-License-Identifier: Apache-2.0

package body

// Values of ConsumerData.ConsumeType.
const (
	ConsumeActively  = "CONSUME_ACTIVELY"
	ConsumePassively = "CONSUME_PASSIVELY"
	ConsumePop       = "CONSUME_POP"
)

// Values of ConsumerData.MessageModel.
const (
	Broadcasting = "BROADCASTING"
	Clustering   = "CLUSTERING"
)

// Values of ConsumerData.ConsumeFromWhere that are in use.
const (
	ConsumeFromLast      = "CONSUME_FROM_LAST_OFFSET"
	ConsumeFromFirst     = "CONSUME_FROM_FIRST_OFFSET"
	ConsumeFromTimestamp = "CONSUME_FROM_TIMESTAMP"
)

// Values of SubscriptionData.ExpressionType; empty means TAG.
const (
	ExpressionTag   = "TAG"
	ExpressionSQL92 = "SQL92"
)

// Values of QueueAssignment.Mode.
const (
	ModePull = "PULL"
	ModePop  = "POP"
)

// Values of ConsumeMessageDirectlyResult.ConsumeResult.
const (
	ResultSuccess        = "CR_SUCCESS"
	ResultLater          = "CR_LATER"
	ResultRollback       = "CR_ROLLBACK"
	ResultCommit         = "CR_COMMIT"
	ResultThrowException = "CR_THROW_EXCEPTION"
	ResultReturnNull     = "CR_RETURN_NULL"
)

// Names by ordinal, for readers.
func consumeTypes() []string  { return []string{ConsumeActively, ConsumePassively, ConsumePop} }
func messageModels() []string { return []string{Broadcasting, Clustering} }
func requestModes() []string  { return []string{ModePull, ModePop} }

func consumeFromWheres() []string {
	return []string{
		ConsumeFromLast, "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST", "CONSUME_FROM_MIN_OFFSET",
		"CONSUME_FROM_MAX_OFFSET", ConsumeFromFirst, ConsumeFromTimestamp,
	}
}

func consumeResults() []string {
	return []string{ResultSuccess, ResultLater, ResultRollback, ResultCommit, ResultThrowException, ResultReturnNull}
}
