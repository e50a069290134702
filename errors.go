// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"errors"
	"fmt"
	"time"
)

// Errors a caller branches on, to be found with errors.Is.
var (
	// ErrClosed: the client, producer or consumer was closed.
	ErrClosed = errors.New("orderly: closed")
	// ErrKeyStopped: an earlier message of this ordering key could not be
	// sent. Decide what to do about it, then call Producer.Resume. Details
	// are in *KeyStoppedError.
	ErrKeyStopped = errors.New("orderly: ordering key is stopped by an earlier failure")
	// ErrTopicNotFound: no name server knows the topic and it may not be
	// created by sending to it.
	ErrTopicNotFound = errors.New("orderly: topic not found")
	// ErrNoQueue: the topic has no queue that may be written (or read).
	ErrNoQueue = errors.New("orderly: topic has no usable queue")
	// ErrTooLarge: the message is over the size limit.
	ErrTooLarge = errors.New("orderly: message too large")
	// ErrInvalid: a message or a configuration breaks a rule; the text names
	// the field.
	ErrInvalid = errors.New("orderly: invalid")
	// ErrNoOrderingKey: a message for an ordered topic has neither ordering
	// key nor selector.
	ErrNoOrderingKey = errors.New("orderly: ordered topic needs an ordering key or a selector")
	// ErrBadSelector: a queue selector panicked or returned a queue that is
	// not in the list it was given.
	ErrBadSelector = errors.New("orderly: selector returned no queue of the list")
	// ErrGroupInUse: this client already has a consumer of that group.
	ErrGroupInUse = errors.New("orderly: group already has a consumer in this client")
	// ErrMemberNameInUse: another live member of the group has this
	// ConsumerConfig.MemberName. Who it is stands in *MemberNameError.
	ErrMemberNameInUse = errors.New("orderly: member name is in use")
	// ErrProducerFull: with ProducerConfig.FailFast, there is no room for
	// another message now. Nothing was taken.
	ErrProducerFull = errors.New("orderly: too much is pending")
	// ErrProducerFenced: another producer has started with this one's
	// ProducerConfig.Name. This one never sends again.
	ErrProducerFenced = errors.New("orderly: another producer has this one's name")
	// ErrNotAssigned: the pull consumer does not have the queue.
	ErrNotAssigned = errors.New("orderly: queue is not assigned")
)

// Causes of a handler context's end, to be found with
// errors.Is(context.Cause(ctx), ...).
var (
	// ErrLeaseLost: the queue may belong to another member by now, or an
	// operator has reset its position.
	ErrLeaseLost = errors.New("orderly: lease of the queue lost")
	// ErrRevoked: the queue was taken from this member while the call ran.
	ErrRevoked = errors.New("orderly: queue revoked")
	// ErrHandlerTimeout: the call ran longer than ConsumerConfig.HandlerTimeout.
	ErrHandlerTimeout = errors.New("orderly: handler timed out")
	// ErrClosing: the consumer is being closed and CloseTimeout has passed.
	ErrClosing = errors.New("orderly: consumer is closing")
)

// BrokerError is a refusal by a broker or name server.
type BrokerError struct {
	Addr   string // who refused
	Op     string // what was asked, such as SEND_MESSAGE_V2
	Code   int    // RocketMQ response code
	Name   string // its name, such as SYSTEM_BUSY
	Remark string // the peer's own words
}

// Error names the peer, the code and the peer's words.
func (e *BrokerError) Error() string {
	return fmt.Sprintf("orderly: %s refused %s: %s (%d): %s", e.Addr, e.Op, e.Name, e.Code, e.Remark)
}

// DeliveryError says that a message was given up.
type DeliveryError struct {
	Topic       string
	OrderingKey string
	Attempts    int
	// MayBeStored is true if an attempt went out and its answer never came:
	// the message may be in the queue although this error says it failed.
	MayBeStored bool
	Err         error // what the last attempt met
}

// Error says what was given up, after how many attempts, and why.
func (e *DeliveryError) Error() string {
	may := ""
	if e.MayBeStored {
		may = ", it may be stored"
	}
	return fmt.Sprintf("orderly: send to %s given up after %d attempts%s: %v", e.Topic, e.Attempts, may, e.Err)
}

// Unwrap is the last attempt's error.
func (e *DeliveryError) Unwrap() error { return e.Err }

// KeyStoppedError is what a send of a stopped key gets; it is ErrKeyStopped.
type KeyStoppedError struct {
	Topic       string
	OrderingKey string
	Cause       error // the failure that stopped the key
}

// Error names the key and the failure that stopped it.
func (e *KeyStoppedError) Error() string {
	return fmt.Sprintf("%v: key %q of %s: %v", ErrKeyStopped, e.OrderingKey, e.Topic, e.Cause)
}

// Is makes errors.Is(err, ErrKeyStopped) true.
func (e *KeyStoppedError) Is(target error) bool { return target == ErrKeyStopped }

// Unwrap is the failure that stopped the key.
func (e *KeyStoppedError) Unwrap() error { return e.Cause }

// BatchError tells, message by message, what became of a batch that did not
// go out whole.
type BatchError struct {
	Errs []error // parallel to the messages; nil where the message is stored
}

// Error counts the failures and shows the first.
func (e *BatchError) Error() string {
	n, first := 0, error(nil)
	for _, err := range e.Errs {
		if err != nil {
			if n++; first == nil {
				first = err
			}
		}
	}
	return fmt.Sprintf("orderly: %d of %d messages of the batch failed: %v", n, len(e.Errs), first)
}

// Unwrap is the errors of all failed messages.
func (e *BatchError) Unwrap() []error {
	var errs []error
	for _, err := range e.Errs {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// MemberNameError says who has the member name; it is ErrMemberNameInUse.
type MemberNameError struct {
	Group      string
	MemberName string
	Holder     string // the client id of the live member that has it
}

// Error names the group, the name and who has it.
func (e *MemberNameError) Error() string {
	return fmt.Sprintf("%v: %q in group %s is client %s", ErrMemberNameInUse, e.MemberName, e.Group, e.Holder)
}

// Is makes errors.Is(err, ErrMemberNameInUse) true.
func (e *MemberNameError) Is(target error) bool { return target == ErrMemberNameInUse }

// CloseError says which handlers were still running when a consumer had to
// end without them.
type CloseError struct {
	Running []Queue
}

// Error names the queues whose handlers still run.
func (e *CloseError) Error() string {
	return fmt.Sprintf("orderly: consumer ended while handlers still ran: %v", e.Running)
}

// retryAfter is the directive behind RetryAfter.
type retryAfter struct {
	after time.Duration
	err   error
}

func (e *retryAfter) Error() string {
	return fmt.Sprintf("retry after %v: %v", e.after, e.err)
}
func (e *retryAfter) Unwrap() error { return e.err }

// RetryAfter makes a handler error that asks for the same message again after
// d instead of after the usual back-off. It suspends the queue (or the key,
// in by-key order), as RocketMQ's SUSPEND_CURRENT_QUEUE_A_MOMENT does. d is
// kept within 10 ms and 30 s. err may be nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		err = errors.New("handler asked to wait")
	}
	return &retryAfter{after: d, err: err}
}

// deadLetter is the directive behind DeadLetter.
type deadLetter struct{ err error }

func (e *deadLetter) Error() string { return fmt.Sprintf("dead-letter: %v", e.err) }
func (e *deadLetter) Unwrap() error { return e.err }

// DeadLetter makes a handler error that moves the message to the group's
// dead-letter topic (%DLQ%group) and goes on with the next one. Order has a
// gap then, and the log says so. err may be nil.
func DeadLetter(err error) error {
	if err == nil {
		err = errors.New("handler asked for it")
	}
	return &deadLetter{err: err}
}
