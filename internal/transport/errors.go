// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrClosed is in every error caused by the end of a connection, pool or
	// server; the reason is in the same chain.
	ErrClosed = errors.New("transport: connection closed")
	// ErrNotSent is in the error of a call or send of which the peer has
	// certainly seen nothing.
	ErrNotSent = errors.New("transport: not sent")
	// ErrTimeout is in the error of a call that reached its deadline. The
	// request may have been carried out.
	ErrTimeout = errors.New("transport: no answer before the deadline")
	// ErrIdle is the reason of a close after IdleTimeout.
	ErrIdle = errors.New("transport: idle connection")
	// ErrSlowPeer is the reason of a close because the peer does not read.
	ErrSlowPeer = errors.New("transport: peer does not read what is sent to it")
	// ErrShutdown is the reason of a close by Server.Close or Pool.Close.
	ErrShutdown = errors.New("transport: shutting down")
	// ErrAnswered is returned by Reply for a request that has had its answer.
	ErrAnswered = errors.New("transport: request already answered")
	// ErrTooManyCalls is returned when MaxCalls calls are open.
	ErrTooManyCalls = errors.New("transport: too many open calls on this connection")
)

// FrameError is the reason of a close because of what the peer sent.
type FrameError struct {
	// Reason says what is wrong with the frame and what may have caused it.
	Reason string
	// Err is the decoder's error, if it was the decoder that refused.
	Err error
}

func (e *FrameError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("transport: bad frame: %s: %v", e.Reason, e.Err)
	}
	return "transport: bad frame: " + e.Reason
}

func (e *FrameError) Unwrap() error { return e.Err }

// DialError is returned by Dialer and Pool when no connection could be made.
type DialError struct {
	Addr string
	// RetryAt is when a Pool tries this address again; until then Get returns
	// the same error at once. Zero from a Dialer.
	RetryAt time.Time
	Err     error
}

func (e *DialError) Error() string { return fmt.Sprintf("transport: connect to %s: %v", e.Addr, e.Err) }

// Unwrap returns the network's error and ErrNotSent.
func (e *DialError) Unwrap() []error { return []error{e.Err, ErrNotSent} }

// closedError joins ErrClosed with the reason.
type closedError struct {
	cause error
	sent  bool
}

func (e *closedError) Error() string {
	if e.cause == nil {
		return ErrClosed.Error()
	}
	return fmt.Sprintf("%v: %v", ErrClosed, e.cause)
}

func (e *closedError) Unwrap() []error {
	errs := []error{ErrClosed}
	if !e.sent {
		errs = append(errs, ErrNotSent)
	}
	if e.cause != nil {
		errs = append(errs, e.cause)
	}
	return errs
}
