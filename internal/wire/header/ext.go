// SPDX-License-Identifier: Apache-2.0

package header

// Names of the ext fields that only Orderly knows. They ride on RocketMQ's own
// requests; a stock peer ignores them, and each side works without them.
const (
	// ExtSession names the client's session: a hex token minted by the broker,
	// or SessionNew to ask for one. On 34 (both ways), 41, 42, 11, 361, 15, 14
	// and 35.
	ExtSession = "oSession"
	// ExtGroups, in the answer to 34: the times of each group, see GroupTimes.
	ExtGroups = "oGroups"
	// ExtPolicies, in the answer to 34: the policies of groups that have one, see
	// GroupPolicy.
	ExtPolicies = "oPolicies"

	// ExtMember, on 34: the member's name in each group in which it has one,
	// "group=name;..."; it outlives the process.
	ExtMember = "oMember"
	// ExtTaken, in the answer to 34: the groups that the client was not let into
	// because another live session has the name, "group=client id;...".
	ExtTaken = "oTaken"
	// ExtStrategy, in the answer to 400: the strategy by which the broker split.
	ExtStrategy = "oStrategy"
	// ExtFrom, on 41: where the group starts in a queue that it has never met:
	// "first", "last" or "time:<ms>". Absent: what the group's heartbeats say.
	ExtFrom = "oFrom"

	// ExtPing numbers a ping, a 34 without a body, and its answer.
	ExtPing = "oPing"
	// ExtAck, in a ping: the highest ping answer the client has read.
	ExtAck = "oAck"

	// ExtEpoch, on 11, 361 and 15: the lease epoch under which the client holds
	// the queue. An old one is answered wire.CodeFenced. In the answer to 14:
	// the queue's last epoch.
	ExtEpoch = "oEpoch"

	// ExtEpochs, ExtStart, ExtRanges and ExtAttempts, in the answer to 41, are
	// lists parallel to lockOKMQSet: lease epochs, positions (-1 unknown),
	// settled ranges and attempts. ExtRefused has the queues refused.
	ExtEpochs  = "oEpochs"
	ExtStart   = "oStart"
	ExtRefused = "oRefused"

	// ExtRanges, on 15 and in the answers to 14 and 41: settled ranges above the
	// committed offset, "a-b,c-d", half open. ExtAttempts: attempts of messages,
	// "offset:attempts,...". Package order reads and writes the text.
	ExtRanges   = "oRanges"
	ExtAttempts = "oAttempts"

	// ExtClosing, on 42: the member is closing and wants no queue any more.
	ExtClosing = "oClosing"
	// ExtOverrun, on 42: a handler of these queues ignores its ended context and
	// still runs.
	ExtOverrun = "oOverrun"

	// ExtVerb and what it is about, on 309 and on an operator's 42, see Verb.
	ExtVerb       = "oVerb"
	ExtVerbTopic  = "oVerbTopic"
	ExtVerbQueue  = "oVerbQueue"
	ExtVerbOffset = "oVerbOffset"

	// ExtLetterQueue, ExtLetterOffset, ExtLetterAttempts and ExtLetterCause, on
	// 36: the message that is given up, see Letter. ExtResend, on 36: "1" sends
	// the dead letter at offset back to where it came from.
	ExtLetterQueue    = "oLetterQueue"
	ExtLetterOffset   = "oLetterOffset"
	ExtLetterAttempts = "oLetterAttempts"
	ExtLetterCause    = "oLetterCause"
	ExtResend         = "oResend"

	// ExtHolders, on 208: "1" asks who holds the group's queues.
	ExtHolders = "oHolders"

	// ExtLane, on sends: the lane of the ordering key; ExtLaneEpoch the epoch of
	// the lane map that gave the queue.
	ExtLane      = "oLane"
	ExtLaneEpoch = "oLaneEpoch"
	// ExtSelector, on sends: "1" if the user's own selector chose the queue.
	ExtSelector = "oSelector"

	// ExtProducer, ExtProducerEpoch and ExtSequence, on sends: the producer, its
	// epoch and the number of the frame's first message in the queue. In the
	// answer to a send: ExtRepeat if the frame was stored before; ExtSequence,
	// with wire.CodeSequenceGap, the number that the broker expects. See Numbers.
	ExtProducer      = "oPid"
	ExtProducerEpoch = "oPidEpoch"
	ExtSequence      = "oSeq"
	ExtRepeat        = "oRepeat"
	// ExtProducerName, on 34, claims an identity for a producer, and with
	// ExtProducer and ExtProducerEpoch the next epoch of the one it has;
	// ExtQueues are the queues of which the answer is to tell what is stored, in
	// ExtStored. See ProducerClaim and ProducerGrant.
	ExtProducerName = "oPidName"
	ExtQueues       = "oQueues"
	ExtStored       = "oStored"
	// ExtLaneMap, with wire.CodeStaleLaneMap: the topic's lane map, "epoch:queue
	// of lane 0,queue of lane 1,...".
	ExtLaneMap = "oLaneMap"
)

// SessionNew is the value of ExtSession that asks for a session.
const SessionNew = "new"

// Lanes is the number of lanes; ExtLane is below it.
const Lanes = 1024
