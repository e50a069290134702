// SPDX-License-Identifier: Apache-2.0

package store

import (
	"github.com/orderlymq/orderly/internal/msg"
)

// Append is one request to store messages: all of them or none, next to each
// other in the log, in one segment. It belongs to the store from the call of
// Store.Append until Done is called, including the bodies.
type Append struct {
	// Msgs are given offsets, store time, store host and size by the store. They
	// may belong to different queues and topics.
	Msgs []msg.Message
	// Done is called once, by the completer goroutine, in log order. After a nil
	// error the messages are durable as the mode says, and readable. It must not
	// block.
	Done func(*Append, error)
	// Turn, if not nil, is called by the writer before it writes the append, in
	// log order: everything taken before is in the log by then, or refused.
	// offset is the place that its first message will have in its queue. After
	// an error the append is not written; Done gets the error once everything
	// before it is complete. Turn must not block. An append with a Turn may have
	// no messages: it is a mark in the stream of appends.
	Turn func(a *Append, offset int64) error
	// Numbers are stored with the messages and found again by a recovery.
	Numbers Numbers
	// Arg is the caller's own, to make a Done function without a closure.
	Arg any

	prep  []prep
	prep1 [1]prep // backs prep for a single message
	size  int
	out   error // what Turn said
}

// prep is what is worked out about a message in the caller's goroutine.
type prep struct {
	q   *queue
	tag int64
	key uint32
}

// Committed tells of one message that has become readable.
type Committed struct {
	Topic     string
	Queue     int32
	Offset    int64 // in the queue; the queue's next is one more
	Physical  int64
	Size      int32
	TagHash   int64
	StoreTime int64 // ms
}

// ReadStatus says how a Read ended. The names are RocketMQ's.
type ReadStatus int

const (
	// Found: Records holds at least one message.
	Found ReadStatus = iota
	// NoMatchedMessage: messages were there, the filter took none of them.
	NoMatchedMessage
	// NoMatchedQueue: the store knows no such queue.
	NoMatchedQueue
	// NoMessageInQueue: the queue is there and has no message.
	NoMessageInQueue
	// OffsetOverflowOne: the offset is the next one to be written.
	OffsetOverflowOne
	// OffsetOverflowBadly: the offset lies beyond the next one.
	OffsetOverflowBadly
	// OffsetTooSmall: the offset lies below the first message kept.
	OffsetTooSmall
)

func (s ReadStatus) String() string {
	names := [...]string{
		"FOUND", "NO_MATCHED_MESSAGE", "NO_MATCHED_LOGIC_QUEUE", "NO_MESSAGE_IN_QUEUE",
		"OFFSET_OVERFLOW_ONE", "OFFSET_OVERFLOW_BADLY", "OFFSET_TOO_SMALL",
	}
	if s < 0 || int(s) >= len(names) {
		return "UNKNOWN"
	}
	return names[s]
}

// ReadLimit bounds a Read. Zero fields take their defaults.
type ReadLimit struct {
	MaxMsgs  int // default 32
	MaxBytes int // default 256 KiB; the first message is given even if larger
	MaxScan  int // messages looked at when the filter takes few, default 4096
	// Buf is appended to and returned as Records, to save an allocation.
	Buf []byte
}

// ReadResult is the answer of Read.
type ReadResult struct {
	Status ReadStatus
	// Records are stored records one after the other, as a pull answer has them.
	Records []byte
	Count   int
	// Next is the queue offset to go on with. It may skip offsets that hold no
	// message (see Holes).
	Next     int64
	Min, Max int64 // bounds of the queue: first offset kept, next offset
	// Holes counts offsets below Next, from the one asked, that hold no message:
	// a power cut in async mode or a repair can leave such gaps.
	Holes int64
	// Cold is set if the records came from files and not from memory.
	Cold bool
}

// QueueID names a queue.
type QueueID struct {
	Topic string
	Queue int32
}

// Bounds of a queue: messages are in [Min, Max).
type Bounds struct{ Min, Max int64 }

// Positions are the stages of the log, as physical offsets. Each is at most the
// one before it; Synced is the exception in Async mode, where it lags behind.
type Positions struct {
	Start                                            int64 // first byte kept
	Assigned, Written, Synced, Committed, Dispatched int64
	KeyIndexed                                       int64
}

// State is the condition of a store.
type State int

// States, from good to bad.
const (
	StateOpen     State = iota // reads and writes
	StateDiskFull              // reads; writes are refused until space is free
	StateFenced                // reads; writes are refused until Reopen
	StateClosed
)

func (s State) String() string {
	return [...]string{"open", "disk full", "fenced", "closed"}[s]
}

// Health is what a health check wants to know.
type Health struct {
	State      State
	Err        error // why, if not open
	Positions  Positions
	Segments   int
	Queues     int
	ReadErrors int64 // reads that failed
	IndexErr   error // the indexes cannot be written at the moment
	DiskUsed   float64
	DiskFree   int64
	Queued     int64 // bytes of appends not complete
}
