// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"errors"
	"time"
)

// Errors a caller branches on, to be found with errors.Is.
var (
	// ErrTopicNotFound: no name server knows the topic.
	ErrTopicNotFound = errors.New("admin: topic not found")
	// ErrGroupNotFound: no broker knows the group.
	ErrGroupNotFound = errors.New("admin: group not found")
	// ErrSentBack: the dead letter was sent back before.
	ErrSentBack = errors.New("admin: the dead letter was sent back before")
	// ErrNoBroker: no broker is registered, or none of the wanted cluster.
	ErrNoBroker = errors.New("admin: no broker is registered")
)

// Topic is what a topic is created with.
type Topic struct {
	// Name as in protocol.md: at most 127 characters of letters, digits and
	// `%|-_`.
	Name string `json:"name"`
	// Queues per broker, for reading and writing. Default 8; 1 to 65,535 (a
	// server may set a lower limit).
	Queues int `json:"queues"`
	// Ordered makes it an ordered topic: message type FIFO, a pinned queue
	// list, and a key or selector asked of each send. It is created on one
	// broker only.
	Ordered bool `json:"ordered"`
	// LaneFunction of an ordered topic: orderly (default), java-string, go-fnv.
	LaneFunction string `json:"lane_function,omitempty"`
	// Broker is where to create it. Empty: the first broker for an ordered
	// topic, all brokers for others.
	Broker string `json:"-"`
}

// TopicInfo is what `topic show` tells.
type TopicInfo struct {
	Topic
	Perm      string      `json:"perm"`
	QueueList []QueueInfo `json:"queue_list"`
}

// QueueInfo is one queue of a topic.
type QueueInfo struct {
	Broker     string    `json:"broker"`
	ID         int       `json:"id"`
	Min        int64     `json:"min_offset"`
	Max        int64     `json:"max_offset"` // offset of the next message
	LastStored time.Time `json:"last_stored,omitzero"`
}

// Group is what a consumer group may be created or changed with. Zero fields
// mean the broker's defaults.
type Group struct {
	Name string `json:"name"`
	// RetryMax is how often a concurrent consumer's message is retried before
	// it is dead-lettered. Default 16.
	RetryMax int `json:"retry_max"`
	// RetryQueues of the retry topic. Default 1.
	RetryQueues int `json:"retry_queues"`
	// Ordered: it was created so (RocketMQ's consumeMessageOrderly), or it reads
	// an ordered topic and has inherited its rules.
	Ordered bool `json:"ordered"`
	// Policy is what only Orderly's brokers know; a stock broker keeps it and
	// does not act on it.
	Policy GroupPolicy `json:"policy"`
}

// GroupInfo is what `group show` tells.
type GroupInfo struct {
	Group
	Members []Member   `json:"members"`
	Queues  []Position `json:"queues"`
	// Refused are the commits that did not count since the broker's start, the
	// latest first; at most 64 a broker. Stock clients are not told of it.
	Refused []RefusedCommit `json:"refused"`
}

// Member is one client of a group.
type Member struct {
	ClientID string `json:"client_id"`
	Addr     string `json:"addr"`
	Language string `json:"language"`
	Version  string `json:"version"`
}

// Position is how far a group has come in one queue.
type Position struct {
	Topic  string `json:"topic"`
	Broker string `json:"broker"`
	ID     int    `json:"id"`
	// Committed is the offset of the first message not known to be done.
	Committed int64 `json:"committed"`
	// Max is the offset that the next message will get.
	Max int64 `json:"max"`
	// Lag is how many messages the group has still to get: above Committed, not
	// settled yet, and taken by the group's subscription as long as a member is
	// there to say what that is. A stock broker does not tell: there it is Max
	// minus Committed. LagEstimated: so many are there that not all were looked
	// at, and a part of the number goes by their share among those that were.
	Lag          int64 `json:"lag"`
	LagEstimated bool  `json:"lag_estimated,omitempty"`
	// Delay is how long ago the first of them was stored.
	Delay time.Duration `json:"delay_ns"`
	// LastConsumed is the store time of the last message that is done.
	LastConsumed time.Time `json:"last_consumed,omitzero"`
	// Lease says who may consume the queue; nil if nobody has asked for it, or
	// on a stock broker.
	Lease *Lease `json:"lease,omitempty"`
}

// Lease is the state of a queue at the broker: who holds it, since when, until
// when and in which state, and how many wait.
type Lease struct {
	Holder string `json:"holder"` // client id; empty: free
	Ours   bool   `json:"ours"`   // the holder is one of Orderly's clients
	Epoch  int64  `json:"epoch"`  // of the last lease: Message.Fence
	// State is held, grace (the holder's link is gone), restart (it has not come
	// back since the broker started), leaving (a stock client shuts down), "taken
	// by an operator", or empty.
	State string    `json:"state"`
	Since time.Time `json:"since,omitzero"`
	// Until is when it ends unless the holder is heard of.
	Until time.Time `json:"until,omitzero"`
	// Reset: the position was reset, and stock members have not taken it up.
	Reset bool `json:"reset"`
	// Waiting members have asked for the queue and were refused.
	Waiting int `json:"waiting"`
	// Waiters are the first of them, by client id; at most 8.
	Waiters []string `json:"waiters,omitempty"`
}

// RefusedCommit tells of commits to a queue that did not count, of one sender
// and for one reason.
type RefusedCommit struct {
	Topic     string    `json:"topic"`
	Broker    string    `json:"broker"`
	ID        int       `json:"id"`
	Client    string    `json:"client"` // client id, empty if unknown
	Host      string    `json:"host"`   // the sender's address
	Why       string    `json:"why"`
	Offset    int64     `json:"offset"`    // of the last one
	Committed int64     `json:"committed"` // the group's position then
	Count     int64     `json:"count"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
}
