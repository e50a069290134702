// SPDX-License-Identifier: Apache-2.0

// Package changelog is a durable log of opaque change records, with snapshots.
//
// What is promised:
//
//   - Records have numbers without gaps, 1, 2, 3, ..., in the order of Submit.
//   - A record is answered after it was written to its file: the end of the
//     process loses nothing that was answered. It is synced within SyncEvery,
//     or before the answer if asked: a power cut then loses nothing either.
//   - After the first failed write or sync the log is fenced: nothing is
//     answered with success any more, Health says why. Opening it again reads
//     back what is there.
//   - Opening finds the longest run of whole records. A torn tail, which only
//     a crash before a sync can leave, is dropped and erased. Damage to records
//     that were synced is never dropped: Open refuses and names the place, or
//     with Repair sets it aside in a file of its own and goes on behind it.
//   - Replay is bounded: when the tail has grown past a bound, a snapshot is
//     written in the background, synced and renamed, and only then older files
//     go. Commits do not wait for it.
//
// # Goroutines
//
// The writer takes what was submitted, has each record prepared, in order, and
// writes the batch with one call. The syncer syncs, while the writer goes on.
// The answerer calls Done. The snapshotter exists only while a snapshot is written. Close waits for all.
//
// The files are described byte by byte in docs/format/changelog.md.
package changelog
