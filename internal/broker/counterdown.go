// SPDX-License-Identifier: Apache-2.0

package broker

import "sync/atomic"

// counterDown counts parts that are under way.
type counterDown struct{ n atomic.Int64 }

// Add adds parts.
func (c *counterDown) Add(n int64) { c.n.Add(n) }

// Done ends a part and reports whether it was the last one.
func (c *counterDown) Done() bool { return c.n.Add(-1) == 0 }
