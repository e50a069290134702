// SPDX-License-Identifier: Apache-2.0

package header

import "strings"

// Values of EndTransaction.CommitOrRollback: the transaction bits of a
// message's sysFlag.
const (
	TransactionUnknown  int32 = 0
	TransactionCommit   int32 = 8
	TransactionRollback int32 = 12
)

// Bits of PullMessage.SysFlag.
const (
	PullCommitOffset int32 = 1 << 0 // CommitOffset is valid
	PullSuspend      int32 = 1 << 1 // may wait for a message
	PullSubscription int32 = 1 << 2 // the subscription is in the request
	PullClassFilter  int32 = 1 << 3
	PullLite         int32 = 1 << 4
)

// Upper says whether a search wants the last message at or before the time;
// anything but UPPER is LOWER, the first one at or after it.
func (h *SearchOffset) Upper() bool { return strings.EqualFold(h.BoundaryType, "UPPER") }
