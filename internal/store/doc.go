// SPDX-License-Identifier: Apache-2.0

// Package store keeps messages on disk.
//
// Its promise: a message whose Append completed without an error is there, once,
// at the offset it was given, until retention removes it. In [Synced] mode that
// holds across a power cut; in [Async] mode a power cut may take a suffix of
// the log that spans at most Options.SyncEvery. The end of the process, however
// it comes, takes nothing in either mode. A message that was refused, or that a
// crash took, never turns up later. What the store cannot keep it says: damage
// is named and never cut off in silence, and after the first failed write or
// sync nothing more is acknowledged until the log has been read back (Reopen).
//
// # How it works
//
// All messages of all topics go to one commit log in Apache RocketMQ's record
// format and file naming. Behind the records of each log file, in the same file,
// stand frames: one for each batch that was written, with a check sum over the
// batch. The queue index (offset in a queue to place in the log) and the key
// index are derived from the log and rebuilt when they are missing or wrong.
// docs/format describes every file byte by byte.
//
// One goroutine writes. A message passes these stages, each visible in
// Positions:
//
//	Append -> assigned -> written -> synced -> committed -> dispatched -> Done
//	  intake   writer      writer    syncer    completer    completer   completer
//
// Readers see dispatched messages only. The writer goes on with the next batch
// while the syncer makes the last one durable; the completer completes batches
// in log order. Replication will come between synced and committed.
//
// The indexer follows behind the completer: it feeds the key index and writes
// both indexes to disk in runs. The filler keeps zero-filled space and the next
// segment ready ahead of the writer. The keeper writes checkpoints, watches the
// disk and applies retention.
package store
