// SPDX-License-Identifier: Apache-2.0

package body

// Our own entries of the KVTable that answers GET_BROKER_RUNTIME_INFO: the
// condition of the message log and of the change log. Entries that would be
// empty are left out.
const (
	InfoStoreState    = "orderly.store.state"   // open, disk full, fenced, closed
	InfoRescued       = "orderly.pulls.rescued" // pulls that waited for a message that was there
	InfoStoreError    = "orderly.store.error"   // why it is not open
	InfoStoreIndex    = "orderly.store.index.error"
	InfoStoreReads    = "orderly.store.read.errors" // how many reads failed
	InfoStoreRepaired = "orderly.store.repaired"    // ranges set aside at the start
	InfoStateState    = "orderly.state.state"       // healthy, fenced, closed
	InfoStateError    = "orderly.state.error"       // why it is not healthy
	InfoStateSnapshot = "orderly.state.snapshot.error"
	InfoStateRepaired = "orderly.state.repaired" // places passed over at the start
	InfoStateAside    = "orderly.state.aside"    // files set aside at the start, separated by spaces
)
