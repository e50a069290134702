// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"
)

// Config is what a Client needs to know. Only NameServers has no default.
type Config struct {
	// NameServers are host:port addresses; an entry may hold several,
	// separated by ';'. They are tried in turn.
	NameServers []string
	// TLS, when set, encrypts every connection.
	TLS *tls.Config
	// Dial opens connections. Nil: a net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Logger gets what the caller cannot see from return values. Nil: discard.
	Logger *slog.Logger
	// InstanceName makes the client id (host@InstanceName) that brokers and
	// tools show. It must differ between processes of a host. Empty: made of
	// the process id and the time.
	InstanceName string
	// RequestTimeout bounds a single request to a peer. Default 3 s.
	RequestTimeout time.Duration
	// RouteRefresh is how often routes are asked again. Default 30 s.
	RouteRefresh time.Duration
	// Heartbeat is how often brokers hear of this client's groups. Default
	// 30 s; brokers forget a silent client after 120 s.
	Heartbeat time.Duration

	// mono is the time since some moment, in place of the machine's: a seam for
	// tests, in which a frozen process does not get an answer until it wakes.
	mono func() time.Duration
}

// FailurePolicy is what the failure of a keyed message does to its key.
type FailurePolicy int

const (
	// StopKey fails later sends of the key until Producer.Resume: the
	// default, and the only policy that keeps order whatever happens.
	StopKey FailurePolicy = iota
	// Continue goes on with the next message of the key; the failed one is
	// missing, and only its own call says so.
	Continue
)

// LaneFunction is a rule that maps ordering keys to queues. All producers of
// a topic have to use the same one.
type LaneFunction string

// The lane functions.
const (
	// LaneOfTopic (the zero value) is what the topic says, else LaneOrderly.
	LaneOfTopic LaneFunction = ""
	// LaneOrderly hashes to 1,024 lanes, and lanes to queues.
	LaneOrderly LaneFunction = "orderly"
	// LaneJavaString places keys as a Java producer with
	// SelectMessageQueueByHash and a String argument does.
	LaneJavaString LaneFunction = "java-string"
	// LaneGoFNV places keys as the official Go client's hash selector does.
	LaneGoFNV LaneFunction = "go-fnv"
)

// ProducerConfig is what a Producer may be told. The zero value works.
type ProducerConfig struct {
	// Group is the producer group. Default "orderly-producer".
	Group string
	// Name is this producer's name for a broker that numbers producers, if it
	// has one that outlives the process: a producer that starts with a name
	// fences the one that had it before, whose sends end with
	// ErrProducerFenced. Default: one that nobody else has.
	Name string
	// Selector places messages that have no Selector of their own. Nil: by
	// ordering key, and without a key round robin over healthy brokers.
	Selector QueueSelector
	// Lane overrides the topic's lane function, to live beside producers of
	// another client.
	Lane LaneFunction
	// Queues states the queue set of a topic, in order, so that keys map to
	// queues the same way whatever the route says at the moment. Without it
	// the topic's ordered-topic configuration is used, else the first set
	// seen is kept for the life of the process.
	Queues map[string][]Queue
	// DeliveryTimeout bounds a message's life in the client, retries and
	// waiting for its turn included. Default 2 min. A send's context bounds
	// only the caller's wait.
	DeliveryTimeout time.Duration
	// AttemptTimeout bounds one attempt. Default Config.RequestTimeout.
	AttemptTimeout time.Duration
	// OnFailure is what a failed keyed message does to its key. Default
	// StopKey.
	OnFailure FailurePolicy
	// MaxStoppedKeys bounds the list of stopped keys; when it is full, keyed
	// sends fail. Default 10,000.
	MaxStoppedKeys int
	// MaxPending bounds the messages that are accepted and not settled; a
	// send waits for room. Default 10,000.
	MaxPending int
	// MaxPendingBytes bounds their bodies. Default 64 MiB.
	MaxPendingBytes int
	// FailFast makes a send for which there is no room fail with
	// ErrProducerFull instead of waiting. It stops no key: nothing was taken.
	FailFast bool
	// TailLost is told once when a broker that is not synced before it answers
	// has lost acknowledged messages in a power cut, in a goroutine of its own.
	// What was not acknowledged is sent again. Nil: only the log says so.
	TailLost func(*TailLostError)
	// MaxMessageSize is the largest body. Default and broker default 4 MiB.
	MaxMessageSize int
	// CompressAbove is the body size from which zlib is used. Default 4096;
	// negative: never.
	CompressAbove int
}

// Order is what a consumer keeps in order.
type Order int

const (
	// ByQueue hands out one message of a queue at a time: the strict default.
	ByQueue Order = iota
	// ByKey hands out one message of each ordering key at a time; keys of a
	// queue run in parallel. A message without a key is a barrier: it waits
	// for all messages before it, and all behind it wait for it, unless KeyOf
	// derives a key.
	ByKey
	// Unordered hands out messages as they come, as RocketMQ's concurrent
	// consumer does. Failed ones are sent back (CONSUMER_SEND_MSG_BACK) and come
	// again through the retry topic, at first after 10 s, then by the broker's
	// ladder of delay levels; after 16 of those, or MaxAttempts, they are dead
	// letters. RetryAfter chooses the first level that is long enough. What
	// cannot be sent back is tried again here every 5 s. A broadcasting member
	// tries failed messages again in place.
	Unordered
)

// Start says where a group begins in a queue that it has never committed.
type Start struct {
	kind startKind
	at   time.Time
}

type startKind int

const (
	startFirst startKind = iota
	startLast
	startTime
)

// FromFirst starts at the oldest message. It is the zero value of Start.
func FromFirst() Start { return Start{} }

// FromLast starts with messages stored from now on.
func FromLast() Start { return Start{kind: startLast} }

// FromTime starts at the first message stored at t or later.
func FromTime(t time.Time) Start { return Start{kind: startTime, at: t} }

// Filter selects messages. The zero value takes all.
type Filter struct{ expr string }

// Tags takes the messages with one of the tags. Each argument is a tag or an
// expression such as "TagA || TagC || TagD". No argument, or "*": all.
func Tags(tags ...string) Filter {
	f := Filter{}
	for i, t := range tags {
		if i > 0 {
			f.expr += " || "
		}
		f.expr += t
	}
	return f
}

// Strategy names how queues are shared out among the members of a group. All
// members must use the same one.
type Strategy string

// The strategies. All but the first go by RocketMQ's names and are worked out
// by each member for itself.
const (
	// StrategySticky (the default) has the broker split the queues so that a
	// join or a leave moves only what must move. With a stock broker, and while
	// the group has a stock member, it is StrategyAverage; consumers that are
	// Unordered always use that.
	StrategySticky         Strategy = "ORDERLY_STICKY"
	StrategyAverage        Strategy = "AVG"
	StrategyCircle         Strategy = "AVG_BY_CIRCLE"
	StrategyConsistentHash Strategy = "CONSISTENT_HASH"
)

// ConsumerConfig is what a consumer is told. Group and Topic are required.
type ConsumerConfig struct {
	// Group shares the topic's queues and one position per queue.
	Group string
	// Topic to consume.
	Topic string
	// Filter selects messages. All members of a group must use the same.
	Filter Filter
	// Order is what is kept in order. Default ByQueue.
	Order Order
	// KeyOf derives the key by which a message is kept in order, with ByKey
	// only: from its body or properties, say, if producers give no key or a
	// coarser one. Messages of one key must be in one queue. An empty key makes
	// the message a barrier of its queue, and so does a KeyOf that panics or
	// ends its goroutine: no message is skipped for it. It runs once for each
	// message that is read, before it is handed out and possibly more than
	// once, from several goroutines at a time; it must be quick, because the
	// connection waits for it, and give one message the same key each time, in
	// all members of the group. What operators are shown is OrderingKey.
	// Default nil: OrderingKey.
	KeyOf func(*Message) string
	// Start is where a new group begins. Default FromFirst.
	Start Start
	// Broadcast gives every member every message; positions are kept in
	// OffsetDir by the member, and there are no queue locks.
	Broadcast bool
	// OffsetDir is where a broadcasting member keeps its positions. Empty: in
	// memory, so that it begins at Start each time.
	OffsetDir string
	// Strategy shares out the queues. Default StrategySticky.
	Strategy Strategy
	// MemberName is this member's name in the group, if it has one that
	// outlives the process, such as the name of a pod in a stateful set. With
	// StrategySticky its queues are lent to others while it is away, and come
	// back if it is back within 60 s: a rolling restart moves each queue at most
	// twice. While another live member of the group has the name, Consume ends
	// with ErrMemberNameInUse. Letters, digits and %|-_; stock brokers do not
	// know names. Default none.
	MemberName string

	// Concurrency is how many handler calls may run at once, over all queues
	// (or keys). Default 20.
	Concurrency int
	// MaxBatch is the most messages of one batch call. Default 1; 1 to 1024.
	MaxBatch int
	// HandlerTimeout ends the context of a call that runs longer. The queue
	// waits for the call to return; with Unordered, as in RocketMQ, its messages
	// are sent back if it does not do so at once, and what it returns later
	// counts no more. Default 15 min; negative: none.
	HandlerTimeout time.Duration
	// Backoff is the wait before attempt number n (2 and up) of a failed
	// message. Default 1 s. Kept within 10 ms and 30 s. The back-off of the
	// group, if an Orderly broker keeps one, wins.
	Backoff func(attempt int) time.Duration
	// MaxAttempts dead-letters a message that failed this many times. Default
	// 0: never, it is retried in place for ever; with Unordered one more than the group's
	// retries at the broker, which are 16 unless changed. The limit of the group, if an
	// Orderly broker keeps one, wins, and so does what is to happen then.
	MaxAttempts int
	// CloseTimeout is how long running handlers may take after the consumer's
	// context ended, before their own contexts end. Default 30 s.
	CloseTimeout time.Duration

	// PullBatch is the most messages asked for at once. Default 32; 1 to 1024.
	PullBatch int
	// PullInterval is a pause between pulls of a queue. Default none.
	PullInterval time.Duration
	// MaxCached and MaxCachedBytes bound the messages of a queue that are read
	// ahead. Defaults 1000 and 100 MiB.
	MaxCached      int
	MaxCachedBytes int
	// CommitInterval is the shortest time between two commits of a queue's
	// position; what was handled since the last one comes again if the process
	// is killed. Default 10 ms, and 1 s against a stock broker.
	CommitInterval time.Duration

	// Ready runs once, when the member has been given its queues (or was told
	// that there is none for it) and their first pulls are on the way.
	Ready func()
	// OnAssign runs after queues were given to this member and before the
	// first hand-out of them; OnRevoke after their last one. Neither may
	// block for long: rebalancing waits for it.
	OnAssign func([]Queue)
	OnRevoke func([]Queue)
}

// Handler takes one message. Nil: done. Any error: the same message again, in
// place, after a back-off; see RetryAfter and DeadLetter. A panic or a
// runtime.Goexit counts as an error. The context ends when the queue may no
// longer be this member's; context.Cause tells why.
type Handler func(ctx context.Context, m *Message) error

// BatchHandler takes up to ConsumerConfig.MaxBatch messages of one queue, in
// order. done of them are finished, from the front; err must not be nil if
// done is less than their number, and the rest comes again, one by one, so that
// attempts are counted for the message that fails. With an error and a done that
// is out of range nothing counts as done.
type BatchHandler func(ctx context.Context, ms []*Message) (done int, err error)

// Decision is what a ManualHandler wants done with the messages handed out
// since the last commit of the queue.
type Decision int

// The decisions. Any other value counts as an error.
const (
	Hold     Decision = iota + 1 // go on, decide later
	Commit                       // all of them are done
	Rollback                     // hand all of them out again, after a back-off
)

// ManualHandler takes messages of one queue in order and decides later, for
// change logs whose transactions span messages. An error means the messages
// of this call come again; those held before it stay held. The zero Decision
// without an error counts as an error.
type ManualHandler func(ctx context.Context, ms []*Message) (Decision, error)
