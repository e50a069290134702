// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Latencies counts times in buckets that are 1/32 of their value wide, up to
// about an hour. It may be added to from several goroutines.
type Latencies struct {
	buckets [subBuckets * 38]atomic.Uint32
	max     atomic.Int64
}

const (
	subBits    = 5
	subBuckets = 1 << subBits
)

// Add counts one time.
func (l *Latencies) Add(d time.Duration) {
	l.buckets[bucketOf(uint64(max(d, 0)))].Add(1)
	for {
		old := l.max.Load()
		if int64(d) <= old || l.max.CompareAndSwap(old, int64(d)) {
			return
		}
	}
}

// bucketOf is exact below subBuckets; above, the highest bits of v choose.
func bucketOf(v uint64) int {
	e := bits.Len64(v)
	if e <= subBits {
		return int(v)
	}
	shift := e - subBits - 1
	i := (shift+1)*subBuckets + int(v>>shift) - subBuckets
	return min(i, subBuckets*38-1)
}

// lowest is the smallest value of a bucket.
func lowest(i int) uint64 {
	if i < subBuckets {
		return uint64(i)
	}
	shift := i/subBuckets - 1
	return uint64(subBuckets+i%subBuckets) << shift
}

// Summary is times in microseconds.
type Summary struct {
	P50  float64 `json:"p50_us"`
	P99  float64 `json:"p99_us"`
	P999 float64 `json:"p999_us"`
	Max  float64 `json:"max_us"`
}

// Summary sums up what was added so far.
func (l *Latencies) Summary() Summary {
	var total uint64
	for i := range l.buckets {
		total += uint64(l.buckets[i].Load())
	}
	return Summary{
		P50: l.quantile(total, 0.5), P99: l.quantile(total, 0.99), P999: l.quantile(total, 0.999),
		Max: micros(l.max.Load()),
	}
}

// quantile is the middle of the bucket that the q-th of total times is in.
func (l *Latencies) quantile(total uint64, q float64) float64 {
	if total == 0 {
		return 0
	}
	rank := uint64(q * float64(total-1))
	for i := range l.buckets {
		n := uint64(l.buckets[i].Load())
		if rank < n {
			mid := int64(lowest(i)+lowest(i+1)) / 2
			return micros(min(mid, l.max.Load()))
		}
		rank -= n
	}
	return micros(l.max.Load())
}

func micros(ns int64) float64 { return float64(ns/10) / 100 }
