// SPDX-License-Identifier: Apache-2.0

package store

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/orderlymq/orderly/internal/vfs"
)

// SyncMode says when an append is complete.
type SyncMode int

const (
	// Synced completes an append once it is on the disk (group commit).
	Synced SyncMode = iota
	// Async completes an append once it is with the operating system, and
	// syncs at least every Options.SyncEvery.
	Async
)

func (m SyncMode) String() string {
	if m == Async {
		return "async"
	}
	return "synced"
}

// Options configure a store. The zero value of each field but Dir is usable.
type Options struct {
	// FS is where the store lives; nil means the machine's file system.
	FS vfs.FS
	// Dir is the store's own directory; it is made if missing.
	Dir string
	// SegmentSize is how much of the log goes into one file, default 1 GiB,
	// rounded up to a multiple of 4 KiB. A store that exists keeps the size it
	// was made with.
	SegmentSize int64
	// Mode is the default durability.
	Mode SyncMode
	// SyncEvery bounds what a power cut can take in Async mode, default 500 ms.
	SyncEvery time.Duration
	// StoreHost goes into records that name no store host.
	StoreHost netip.AddrPort
	// Clock stamps messages, default time.Now. It may jump: stamps never go back.
	Clock func() time.Time
	// Logger receives what an operator should know; nil discards.
	Logger *slog.Logger

	// OnCommit is called by the completer after the messages have become
	// readable and after their Done calls. It must not block, nor keep the slice.
	OnCommit func([]Committed)

	// NumbersFrom and OnNumbered are called by Open and Reopen before anything
	// is appended: the first answers from which place of the log on the other is
	// told of the numbered appends that are there, in log order. Nil: nobody
	// wants to know.
	NumbersFrom func() int64
	OnNumbered  func(*Numbered)

	// MaxQueued bounds the bytes of appends that are not complete, default 64 MiB.
	MaxQueued int64
	// MaxBatch bounds the bytes written at once, default 1 MiB. One append that
	// is larger makes a batch of its own.
	MaxBatch int
	// MaxAppend bounds the record bytes of one Append, default 8 MiB. It cannot
	// exceed what one segment holds.
	MaxAppend int
	// TailCache is the memory that keeps the newest part of the log, default 32 MiB.
	TailCache int64
	// FillAhead is how far disk space is made ready ahead of the writer,
	// default 16 MiB.
	FillAhead int64
	// IndexEvery is how many bytes of log go into one run of the indexes,
	// default 16 MiB. What was not indexed is read again after a crash.
	IndexEvery int64
	// OpenFiles bounds the files kept open for reading, default 256.
	OpenFiles int
	// Upkeep is the period of checkpoints and disk checks, default 1 s.
	Upkeep time.Duration

	// Retention removes log files whose newest message is older; default 72 h,
	// negative means never.
	Retention time.Duration
	// DiskHigh is the used share of the disk above which log files are removed
	// before their time, default 0.85.
	DiskHigh float64
	// MinFree refuses writes while fewer bytes are free on the disk; default
	// the smaller of 2 GiB and 5 % of the disk, negative means no limit.
	MinFree int64
	// KeepFrom returns the physical offset from which on messages are still
	// needed. Files at or above it are kept, whatever their age. Nil: nothing
	// is needed.
	KeepFrom func() int64
	// DeleteUnfinished lets the disk watermark win over KeepFrom. Each range
	// lost that way is told to OnLost before it goes.
	DeleteUnfinished bool
	// OnLost is told the log range that DeleteUnfinished removes.
	OnLost func(from, to int64)

	// Repair lets Open set damaged ranges of the log aside instead of refusing.
	Repair bool
}

const (
	minSegment = 4 << 10
	kib        = 1 << 10
	mib        = 1 << 20
)

// withDefaults returns o with every zero field filled in.
func (o Options) withDefaults() Options {
	def(&o.SegmentSize, 1<<30)
	def(&o.SyncEvery, 500*time.Millisecond)
	def(&o.MaxQueued, 64*mib)
	def(&o.MaxBatch, mib)
	def(&o.MaxAppend, 8*mib)
	def(&o.TailCache, 32*mib)
	def(&o.FillAhead, 16*mib)
	def(&o.IndexEvery, 16*mib)
	def(&o.OpenFiles, 256)
	def(&o.Upkeep, time.Second)
	def(&o.Retention, 72*time.Hour)
	def(&o.DiskHigh, 0.85)
	o.SegmentSize = (o.SegmentSize + segmentUnit - 1) / segmentUnit * segmentUnit
	if o.FS == nil {
		o.FS = vfs.OS()
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func def[T int | int64 | float64 | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}
