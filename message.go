// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"fmt"
	"net/netip"
	"time"
)

// Queue names one message queue of a topic: the unit that a broker keeps in
// order and that one member of a group consumes at a time.
type Queue struct {
	Topic  string
	Broker string // broker name, not an address
	ID     int
}

// String is topic/broker/id.
func (q Queue) String() string { return fmt.Sprintf("%s/%s/%d", q.Topic, q.Broker, q.ID) }

// Message is one message, to be sent or received. Its first group of fields
// is the sender's; the last group is filled in on received messages and
// ignored by the producer.
type Message struct {
	// Topic the message goes to or came from. Required.
	Topic string
	// OrderingKey puts the message in order with all others of the same key
	// and topic. It travels as the property __SHARDINGKEY. Empty: no key.
	OrderingKey string
	// Tag is the one label that consumers filter by. Optional.
	Tag string
	// Keys are words under which the broker finds the message again. They
	// must not hold spaces. Optional.
	Keys []string
	// Properties are the application's own. Names of the protocol (such as
	// KEYS, TAGS, UNIQ_KEY) and the bytes 1 and 2 are refused.
	Properties map[string]string
	// Body is the payload; it must not be empty. Send does not keep it after
	// it returned, unless its context ended first; SendAsync keeps it until
	// its callback runs. A handler may keep it.
	Body []byte

	// Selector places this message by the application's own rule, before any
	// lane function. Nil: ProducerConfig.Selector.
	Selector QueueSelector
	// SelectorArg is handed to the selector as it is.
	SelectorArg any

	// ID is the unique id the producer's client gave the message.
	ID string
	// OffsetID is the broker's own id, made of its address and the position
	// in its log.
	OffsetID string
	// Queue and Offset are the message's place; offsets of a queue ascend.
	Queue  Queue
	Offset int64
	// Attempt is 1 at the first hand-out and grows with each retry.
	Attempt int
	// Fence grows each time the queue gets a new owner. Give it to a store
	// that refuses smaller numbers than it has seen, and a former owner that
	// woke up late can do no harm. 0 when the broker has no fencing.
	Fence uint64
	// BornTime is the sender's clock, StoreTime the broker's.
	BornTime, StoreTime time.Time
	// BornHost is the sender's address as the broker saw it.
	BornHost netip.AddrPort
}

// QueueSelector chooses the queue of a message, as RocketMQ's
// MessageQueueSelector does. queues is the topic's list of writable queues in
// a stable order, never empty; arg is Message.SelectorArg. The returned queue
// must be one of the list. It must not block, and it is called once per
// message: a retry goes to the same queue.
type QueueSelector func(queues []Queue, m *Message, arg any) Queue

// SendStatus tells how far a stored message had come when the broker
// answered. With every one of them the message is in the broker's log.
type SendStatus int

// The statuses of RocketMQ's SendResult.
const (
	SendOK            SendStatus = iota // as durable as the broker was told to be
	FlushDiskTimeout                    // stored; the disk sync was not confirmed in time
	FlushSlaveTimeout                   // stored; a replica did not confirm in time
	SlaveNotAvailable                   // stored; no replica to copy to
)

// String is RocketMQ's name of the status.
func (s SendStatus) String() string {
	switch s {
	case SendOK:
		return "SEND_OK"
	case FlushDiskTimeout:
		return "FLUSH_DISK_TIMEOUT"
	case FlushSlaveTimeout:
		return "FLUSH_SLAVE_TIMEOUT"
	case SlaveNotAvailable:
		return "SLAVE_NOT_AVAILABLE"
	}
	return fmt.Sprintf("SendStatus(%d)", int(s))
}

// Receipt says where a sent message is.
type Receipt struct {
	ID       string // the message's unique id
	OffsetID string // the broker's id
	Queue    Queue
	Offset   int64 // in the queue
	Status   SendStatus
}
