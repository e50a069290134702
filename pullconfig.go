// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"errors"
	"fmt"
	"time"
)

// PullConsumerConfig is what a pull consumer is told. Group is required.
type PullConsumerConfig struct {
	// Group keeps one position per queue, and with Subscribe shares the queues
	// out among its members.
	Group string
	// Start is where the group begins in a queue that it has never committed.
	// Default FromFirst.
	Start Start
	// AutoCommit is how often Poll commits what earlier polls have returned, as
	// DefaultLitePullConsumer does; Close does so too. Default 5 s; negative:
	// never, only Commit and CommitTo do.
	AutoCommit time.Duration
	// Strategy shares out the queues of subscribed topics, as
	// ConsumerConfig.Strategy does. Default StrategySticky.
	Strategy Strategy
	// MemberName is as ConsumerConfig.MemberName.
	MemberName string
	// PullBatch is the most messages of one queue that one Poll returns, and
	// that are asked for at once. Default 32; 1 to 1024.
	PullBatch int
	// MaxCached and MaxCachedBytes bound the messages of a queue that are read
	// ahead of Poll. Defaults 1000 and 100 MiB.
	MaxCached      int
	MaxCachedBytes int
	// OnAssign runs after queues were given to this consumer and before the
	// first message of them; OnRevoke after their last one was let go and the
	// positions are committed. They run beside Poll, must not block for long and
	// must not call Assign, Seek, Commit or Close.
	OnAssign func([]Queue)
	OnRevoke func([]Queue)
}

// complete makes a member's configuration of c, or says what is wrong with it.
func (c PullConsumerConfig) complete() (ConsumerConfig, error) {
	return ConsumerConfig{
		Group: c.Group, Start: c.Start, Strategy: c.Strategy, MemberName: c.MemberName,
		PullBatch: c.PullBatch, MaxBatch: c.PullBatch, MaxCached: c.MaxCached, MaxCachedBytes: c.MaxCachedBytes,
		OnAssign: c.OnAssign, OnRevoke: c.OnRevoke, HandlerTimeout: -1,
	}.fill(nil)
}

// QueueHeldError says that a queue was not given in time, and who has it, if
// the broker says so.
type QueueHeldError struct {
	Queue  Queue
	Holder string // its client id; empty: unknown
	Why    string // such as "held"; empty: unknown
}

// Error names the queue and its holder.
func (e *QueueHeldError) Error() string {
	if e.Holder == "" {
		return fmt.Sprintf("orderly: queue %v was not given to this consumer in time", e.Queue)
	}
	return fmt.Sprintf("orderly: queue %v is held by client %s (%s)", e.Queue, e.Holder, e.Why)
}

// ErrQueueHeld is what every *QueueHeldError is.
var ErrQueueHeld = errors.New("orderly: queue is held by another member")

// Is makes errors.Is(err, ErrQueueHeld) true.
func (e *QueueHeldError) Is(target error) bool { return target == ErrQueueHeld }

// QueueLostError says that a queue was lost, to another member or by an
// operator's reset of its position. Messages of it that were polled and not
// committed come again, here or elsewhere. It is ErrLeaseLost.
type QueueLostError struct {
	Queue Queue
}

// Error names the queue.
func (e *QueueLostError) Error() string { return fmt.Sprintf("%v: %v", ErrLeaseLost, e.Queue) }

// Is makes errors.Is(err, ErrLeaseLost) true.
func (e *QueueLostError) Is(target error) bool { return target == ErrLeaseLost }
