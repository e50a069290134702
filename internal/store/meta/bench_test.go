// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/orderlymq/orderly/internal/vfs"
)

// benchKeys are n queues of groups with eight queues each.
func benchKeys(n int) []QueueKey {
	keys := make([]QueueKey, n)
	for i := range keys {
		keys[i] = QueueKey{Group: fmt.Sprintf("group-%05d", i/8), Topic: "orders", Queue: int32(i % 8)}
	}
	return keys
}

func filledState(b testing.TB, n int) (*State, []QueueKey) {
	b.Helper()
	s, err := Open(b.Context(), Options{FS: vfs.OS(), Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	keys := benchKeys(n)
	for i := 0; i < n; i += 1000 {
		var changes []Change
		for _, k := range keys[i:min(i+1000, n)] {
			changes = append(changes, Commit{QueueKey: k, Offset: 1})
		}
		if err := s.Apply(b.Context(), changes...); err != nil {
			b.Fatal(err)
		}
	}
	return s, keys
}

// BenchmarkCommit commits single offsets, with many requests under way, beside
// 100,000 others. A commit costs the same whatever their number.
func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint("pairs=", n), func(b *testing.B) {
			s, keys := filledState(b, n)
			before := s.Health()
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				wg.Add(1)
				err := s.Submit(b.Context(), &Request{
					Decide: func(*View) ([]Change, error) {
						return []Change{Commit{QueueKey: keys[i%n], Offset: int64(i)}}, nil
					},
					Done: func(err error) {
						if err != nil {
							b.Error(err)
						}
						wg.Done()
					},
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			wg.Wait()
			b.StopTimer()
			if tail := s.Health().Tail - before.Tail; tail > 0 {
				b.ReportMetric(float64(tail)/float64(b.N), "log-B/op")
			}
		})
	}
}

// BenchmarkCommitAndWait is one caller that waits for each answer.
func BenchmarkCommitAndWait(b *testing.B) {
	s, keys := filledState(b, 100_000)
	for i := 0; b.Loop(); i++ {
		if err := s.Apply(b.Context(), Commit{QueueKey: keys[i%len(keys)], Offset: int64(i)}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommitWhileSnapshotting is BenchmarkCommitAndWait beside snapshots
// without a pause.
func BenchmarkCommitWhileSnapshotting(b *testing.B) {
	s, keys := filledState(b, 100_000)
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			if err := s.Snapshot(b.Context()); err != nil {
				b.Error(err)
				return
			}
		}
	})
	for i := 0; b.Loop(); i++ {
		if err := s.Apply(b.Context(), Commit{QueueKey: keys[i%len(keys)], Offset: int64(i)}); err != nil {
			b.Fatal(err)
		}
	}
	stop.Store(true)
	wg.Wait()
}

func BenchmarkRead(b *testing.B) {
	s, keys := filledState(b, 100_000)
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if s.View().Committed(keys[i*7919%len(keys)]) == None {
				b.Fatal("not committed")
			}
		}
	})
}

// BenchmarkOpen opens a state of 100,000 pairs from its tail, then from a
// snapshot.
func BenchmarkOpen(b *testing.B) {
	for _, snapshot := range []bool{false, true} {
		b.Run(fmt.Sprint("snapshot=", snapshot), func(b *testing.B) {
			o := Options{FS: vfs.OS(), Dir: b.TempDir()}
			s, err := Open(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			for _, k := range benchKeys(100_000) {
				if err := s.Submit(b.Context(), &Request{
					Decide: func(*View) ([]Change, error) { return []Change{Commit{QueueKey: k, Offset: 1}}, nil },
					Done:   func(error) {},
				}); err != nil {
					b.Fatal(err)
				}
			}
			if snapshot {
				if err := s.Snapshot(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			for {
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				if !b.Loop() {
					break
				}
				if s, err = Open(b.Context(), o); err != nil {
					b.Fatal(err)
				}
				if s.View().QueueCount() != 100_000 {
					b.Fatal(s.View().QueueCount())
				}
			}
		})
	}
}

// BenchmarkMemory prints what one idle queue of one group takes.
func BenchmarkMemory(b *testing.B) {
	for range b.N {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s, keys := filledState(b, 100_000)
		clear(keys)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/100_000, "B/queue")
		runtime.KeepAlive(s)
	}
}
