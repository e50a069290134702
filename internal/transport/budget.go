// SPDX-License-Identifier: Apache-2.0

package transport

import "sync/atomic"

// budget is a bound shared by the connections of a server; the zero limit is
// no bound.
type budget struct {
	limit int64
	used  atomic.Int64
}

// take adds n and reports whether the sum is within the limit; if not, nothing
// is added, unless force.
func (b *budget) take(n int, force bool) bool {
	within := b.used.Add(int64(n)) <= b.limit || b.limit == 0
	if !within && !force {
		b.used.Add(-int64(n))
	}
	return within
}

func (b *budget) give(n int) { b.used.Add(-int64(n)) }
