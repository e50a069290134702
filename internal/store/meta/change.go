// SPDX-License-Identifier: Apache-2.0

package meta

// Change is one step of the state. The types below are all there are; a Change
// must not be altered once it was handed over.
//
// A change with an At moves the version of its table to that time.
type Change interface {
	// apply works the change into the pending state.
	apply(v *View)
	// check refuses a change that must not be stored.
	check() error
	kind() kind
}

// PutTopic creates or replaces a topic's configuration.
type PutTopic struct {
	Topic Topic
	At    Time
}

// DeleteTopic removes a topic and all that hangs on it: every group's
// positions and leases on it, forbidden bits, producers' numbers.
type DeleteTopic struct {
	Name string
	At   Time
}

// PutGroup creates or replaces a group's configuration.
type PutGroup struct {
	Group Group
	At    Time
}

// DeleteGroup removes a group, its leases and, unless KeepOffsets, its
// positions.
type DeleteGroup struct {
	Name        string
	KeepOffsets bool
	At          Time
}

// SetForbidden sets the forbidden bits of a group on a topic; 0 clears them. A
// group that does not exist is left alone.
type SetForbidden struct {
	Group, Topic string
	Bits         int32
	At           Time
}

// Commit stores progress of a group on a queue: the committed offset, then
// ranges settled above it, then attempts. What lies below the offset is
// dropped. The offset is stored as it is, upward or not.
type Commit struct {
	QueueKey
	// Offset is the new committed offset; None leaves it as it is.
	Offset int64
	// Epoch of the committer's lease, 0 if it has none; a higher one than the
	// queue's raises it.
	Epoch uint64
	// Settled ranges are added to the ones known, or with Replace put in their
	// place; the attempts too.
	Settled []Range
	// Attempts are set; a count of 0 forgets the message.
	Attempts []Attempt
	Replace  bool
	At       Time
}

// FixStart fixes where a group starts on a queue. The first one stays.
type FixStart struct {
	QueueKey
	Offset int64
}

// ResetOffset sets a position by an explicit act: ranges and attempts go, the
// epoch is raised, and a mark is left if Sticky.
type ResetOffset struct {
	QueueKey
	Offset int64
	Epoch  uint64
	Sticky bool
	At     Time
}

// ClearReset ends the reset's mark.
type ClearReset struct{ QueueKey }

// DropQueues removes positions, leases, starts and marks. An empty group or
// topic means all of them; so does AllQueues.
type DropQueues struct {
	Group, Topic string
	Queue        int32
}

// AllQueues stands for every queue of a topic.
const AllQueues int32 = -1

// GrantLease gives a queue to a session, whoever held it before.
type GrantLease struct {
	QueueKey
	Lease Lease
}

// DropLease ends a queue's lease. With an Epoch it ends only that one.
type DropLease struct {
	QueueKey
	Epoch uint64
}

// PutKV sets one of the name server's keys.
type PutKV struct{ Namespace, Key, Value string }

// DeleteKV removes one of the name server's keys.
type DeleteKV struct{ Namespace, Key string }

// SetMark sets a named number: log start, delay level positions, next offsets
// reserved ahead. The names belong to who sets them.
type SetMark struct {
	Name  string
	Value int64
}

// DeleteMark removes a named number.
type DeleteMark struct{ Name string }

// ReserveEpochs raises the limit below which lease epochs may be used. A lower
// limit than the present one changes nothing.
type ReserveEpochs struct{ Limit uint64 }

// StartBroker counts a start of the broker.
type StartBroker struct {
	BootID string
	At     Time
}

// PutProducer creates or replaces a producer.
type PutProducer struct{ Producer Producer }

// DropProducer removes a producer and its numbers.
type DropProducer struct{ ID uint64 }

// AddFrame stores an acknowledged frame of a producer on a queue and forgets
// the oldest beyond KeptFrames.
type AddFrame struct {
	ProducerKey
	Frame Frame
}

// SetStateVersion sets the stateVersion of all tables' versions.
type SetStateVersion struct {
	StateVersion int64
	At           Time
}
