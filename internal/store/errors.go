// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
)

// Errors a caller branches on with errors.Is.
var (
	// ErrClosed: the store was closed; the append was not written.
	ErrClosed = errors.New("store is closed")
	// ErrDiskFull: too little space is left; the append was not written. Reads
	// go on, and writes do once space is free again.
	ErrDiskFull = errors.New("disk is full: free space, or let groups catch up")
	// ErrFenced: a write or sync has failed and the log takes nothing more until
	// Reopen; the append was not written.
	ErrFenced = errors.New("log is fenced after a failed write: check the disk, then reopen")
	// ErrUnknown: the append was being written when the log was fenced. It may
	// or may not be found after Reopen or a restart.
	ErrUnknown = errors.New("outcome of the append is unknown")
	// ErrIndex: the indexes cannot be written and too much waits for them; the
	// append was not written.
	ErrIndex = errors.New("indexes cannot be written: check the disk")
	// ErrTooLarge: the append does not fit a segment or its limits.
	ErrTooLarge = errors.New("append is too large")
	// ErrInvalid: the append is malformed.
	ErrInvalid = errors.New("append is invalid")
	// ErrNotFound: no message is there.
	ErrNotFound = errors.New("no such message")
	// ErrDamaged: the bytes on disk are not those that were written. The error
	// is a *DamagedError.
	ErrDamaged = errors.New("log is damaged")
)

// DamagedError names a range of the log that cannot be trusted.
type DamagedError struct {
	File     string // where it was found
	From, To int64  // log range
	Reason   string
	Gone     bool // the whole file: repair has nothing to set aside
}

func (e *DamagedError) Error() string {
	way := "start with repair to set it aside, or restore a backup"
	if e.Gone {
		way = "put it back or restore a backup; repair cannot replace it"
	}
	return fmt.Sprintf("%s: log range [%d, %d) is damaged: %s: %s", e.File, e.From, e.To, e.Reason, way)
}

// Is makes errors.Is(err, ErrDamaged) hold.
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// fenceError is what callers get once the log is fenced.
type fenceError struct {
	cause   error
	unknown bool
}

func (e *fenceError) Error() string {
	if e.unknown {
		return fmt.Sprintf("%v: %v", ErrUnknown, e.cause)
	}
	return fmt.Sprintf("%v: %v", ErrFenced, e.cause)
}

func (e *fenceError) Is(target error) bool {
	return target == ErrFenced || e.unknown && target == ErrUnknown
}

func (e *fenceError) Unwrap() error { return e.cause }
