// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/orderlymq/orderly/internal/vfs"
)

// Options configure a Log. FS and Dir are needed; the rest has defaults.
type Options struct {
	FS  vfs.FS
	Dir string
	// SegmentSize is the size at which a new segment is begun; default 4 MiB.
	SegmentSize int64
	// SnapshotAfter is the length of tail that makes a snapshot due, unless the
	// last snapshot was longer than that; default 16 MiB.
	SnapshotAfter int64
	// SyncEvery bounds the time a written record waits for its sync; default
	// 500 ms.
	SyncEvery time.Duration
	// Repair lets Open set damaged ranges aside.
	Repair bool
	// ID is the log's identity when it is created; 0 draws one.
	ID uint64
	// Logger is told about recovery and faults; nil means nobody.
	Logger *slog.Logger

	readOnly bool // nothing on disk is changed
}

// Machine is the state behind the log.
type Machine interface {
	// Reset makes the state empty. Called by Open only.
	Reset()
	// Load takes one item of a snapshot. Called by Open only.
	Load(item []byte) error
	// Replay takes one record. Called by Open only.
	Replay(seq uint64, payload []byte) error
	// Written says that all records up to seq are written: what they changed may
	// be shown. Called by the writer before their answers. Of records behind seq
	// at most one has been prepared.
	Written(seq uint64)
	// Discard says that the record prepared last is refused: what it changed is
	// to be forgotten.
	Discard()
	// Freeze answers a function that emits the items of the state as it is
	// now, after the last record written. It is called by the writer and must
	// be quick; the function it answers runs beside later records. An item
	// may be reused by the caller once emit returned.
	Freeze() func(emit func(item []byte) error) error
}

// Record is one entry to append.
type Record struct {
	// Prepare appends the payload to dst. The writer calls it when the number
	// of the record is known, after those of all earlier records. An error
	// refuses the record, and no payload leaves it out; neither takes the
	// number.
	Prepare func(dst []byte, seq uint64) ([]byte, error)
	// Sync asks for the answer only after the record is on disk.
	Sync bool
	// Done is the answer, given once: nil, the error of Prepare, or why the log
	// failed. Answers are given one at a time by a goroutine that does nothing
	// else, so a Done may Submit; one that blocks delays all answers. Records
	// without Sync are answered in order of their numbers, those with Sync too.
	Done func(seq uint64, err error)
}

// MaxRecord is the greatest length of a payload or snapshot item.
const MaxRecord = 16 << 20

// State says what the log can do.
type State uint8

// The states of a log.
const (
	Healthy State = iota
	Fenced        // a write or sync failed; open again to go on
	Closed
)

func (s State) String() string {
	switch s {
	case Fenced:
		return "fenced"
	case Closed:
		return "closed"
	default:
		return "healthy"
	}
}

// Health is the present condition of a log.
type Health struct {
	State State
	// Err is why the log is fenced.
	Err error
	// Written and Synced are the numbers of the last records that are.
	Written, Synced uint64
	// Tail is the number of bytes that would be replayed now.
	Tail int64
	// Snapshot is the number of the last record in the last snapshot.
	Snapshot uint64
	// SnapshotErr is why the last try at a snapshot failed, nil if it did not.
	SnapshotErr error
}

// ErrClosed answers what is asked of a closed log.
var ErrClosed = errors.New("change log is closed")

// ErrTooLarge refuses a payload above MaxRecord.
var ErrTooLarge = fmt.Errorf("change record is larger than %d bytes", MaxRecord)

// ErrNoSpace refuses records while there is no room for a new segment. It is
// not a fence: nothing was written, and records go on when there is room.
var ErrNoSpace = errors.New("change log: no space for the next segment: free disk space")

// FencedError answers every record after the first failed write or sync, and
// those caught in it. Whether a record that got it is in the log is known only
// after opening it again.
type FencedError struct {
	Op    string // what failed: write, sync, create, ...
	File  string
	Cause error
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("change log is fenced after failed %s of %s: %v: restart to read back what is on disk", e.Op, e.File, e.Cause)
}

func (e *FencedError) Unwrap() error { return e.Cause }

// DamageError is Open's refusal: a part of the log that was on disk is damaged.
type DamageError struct {
	File     string
	From, To int64  // range of bytes
	Seq      uint64 // number of the first record that is missing
	Next     uint64 // number of the next whole record, 0 if none
	Why      string
}

func (e *DamageError) Error() string {
	lost := fmt.Sprintf("records from %d are lost", e.Seq)
	switch {
	case e.Next == e.Seq:
		lost = "no record is lost"
	case e.Next != 0:
		lost = fmt.Sprintf("records from %d to %d are lost", e.Seq, e.Next-1)
	}
	return fmt.Sprintf("change log is damaged: %s bytes %d to %d: %s; %s: restore a backup, or start with repair to set the range aside",
		e.File, e.From, e.To, e.Why, lost)
}

// Recovery says what Open found.
type Recovery struct {
	// Snapshot is the number of the last record in the snapshot used.
	Snapshot uint64
	// Replayed is the number of records replayed behind it.
	Replayed uint64
	// Dropped is the length of the torn tail that was erased.
	Dropped int64
	// Aside are the files in which damaged ranges were set aside.
	Aside []string
	// Damage is what Repair passed over.
	Damage []*DamageError
	// Took is how long it took.
	Took time.Duration
}
