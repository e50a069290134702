// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store/meta"
)

// clock gives the broker's times. Leases run on the monotonic scale; what is
// stored of times is the start's wall time plus monotonic time, so a step of
// the wall clock moves nothing.
type clock struct {
	mono  func() time.Duration
	start time.Time     // wall time at the start
	zero  time.Duration // mono at the start
}

func newClock(cfg Config) *clock {
	mono := cfg.Mono
	if mono == nil {
		base := time.Now()
		mono = func() time.Duration { return time.Since(base) }
	}
	return &clock{mono: mono, start: cfg.Clock(), zero: mono()}
}

// now is the moment on the scale of leases; it begins at 1 so that 0 stands
// for 'never was'.
func (c *clock) now() order.Time { return order.Time(c.mono()-c.zero) + 1 }

// at is the moment as it is stored.
func (c *clock) at() meta.Time { return c.stored(c.now()) }

func (c *clock) stored(t order.Time) meta.Time {
	return meta.Time(c.start.UnixNano()) + meta.Time(t)
}
