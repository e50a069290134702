// SPDX-License-Identifier: Apache-2.0

package vfs

import "strings"

// Op is a kind of call, as a bit, so that rules can name several.
type Op uint32

// The calls that hooks and rules can name.
const (
	OpCreate Op = 1 << iota
	OpOpen
	OpRead
	OpWrite
	OpSync
	OpTruncate
	OpAllocate
	OpRemove
	OpRename
	OpMkdir
	OpList
	OpStat
	OpSyncDir
	OpLock
	OpUsage
	OpClose

	OpAny Op = 1<<iota - 1
)

var opNames = [...]string{
	"create", "open", "read", "write", "sync", "truncate", "allocate", "remove", "rename", "mkdir", "list", "stat",
	"syncdir", "lock", "usage", "close",
}

func (o Op) String() string {
	var names []string
	for i, n := range opNames {
		if o&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, "|")
}
