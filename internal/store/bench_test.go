// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/vfs"
)

// The benchmarks append records of 1 KiB to real files. BenchmarkRaw… are what
// the disk can do with the same bytes in the same run.

var kilobyte = strings.Repeat("x", 1024-91-len("BenchTopic")-len("KEYS\x01k\x02TAGS\x01t\x02"))

func benchStore(b *testing.B, mode SyncMode) *Store {
	b.Helper()
	s, err := Open(b.Context(), Options{Dir: b.TempDir(), Mode: mode, StoreHost: testHost, Retention: -1, DiskHigh: 2, MinFree: -1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// caller appends synchronously, without allocating.
type caller struct {
	a    Append
	done chan error
}

func newCaller(queue int32, batch int) *caller {
	c := &caller{done: make(chan error, 1)}
	for range batch {
		c.a.Msgs = append(c.a.Msgs, message("BenchTopic", queue, kilobyte, "KEYS", "k", "TAGS", "t"))
	}
	c.a.Done = func(_ *Append, err error) { c.done <- err }
	return c
}

func (c *caller) send(b *testing.B, s *Store) {
	if err := s.Append(b.Context(), &c.a); err != nil {
		b.Error(err)
		return
	}
	if err := <-c.done; err != nil {
		b.Error(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, mode := range []SyncMode{Async, Synced} {
		for _, n := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", mode, n), func(b *testing.B) { benchCallers(b, mode, n) })
		}
		b.Run(fmt.Sprintf("%s/batch=64", mode), func(b *testing.B) {
			s := benchStore(b, mode)
			c := newCaller(0, 64)
			b.SetBytes(64 * kib)
			b.ReportAllocs()
			for b.Loop() {
				c.send(b, s)
			}
		})
	}
}

func benchCallers(b *testing.B, mode SyncMode, n int) {
	s := benchStore(b, mode)
	b.SetBytes(kib)
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range n {
		times := b.N / n
		if i < b.N%n {
			times++
		}
		wg.Go(func() {
			c := newCaller(int32(i%8), 1)
			for range times {
				c.send(b, s)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}

func rawFiles(b *testing.B, n int, zero int64) []vfs.File {
	b.Helper()
	var out []vfs.File
	for i := range n {
		f, err := vfs.OS().Create(fmt.Sprintf("%s/raw%d", b.TempDir(), i))
		if err != nil {
			b.Fatal(err)
		}
		if err := writeZeros(f, 0, zero); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { f.Close() })
		out = append(out, f)
	}
	return out
}

// BenchmarkRawWrite is the upper bound of async appends: to memory alone, and
// with the same syncs in the background, which the disk has to keep up with.
func BenchmarkRawWrite(b *testing.B) {
	for _, size := range []int{kib, 64 * kib} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) { benchRaw(b, size, false) })
	}
	b.Run("size=65536/synced=250ms", func(b *testing.B) { benchRaw(b, 64*kib, true) })
}

func benchRaw(b *testing.B, size int, sync bool) {
	f := rawFiles(b, 1, 0)[0]
	buf := make([]byte, size)
	b.SetBytes(int64(size))
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(250 * time.Millisecond)
		defer t.Stop()
		for sync {
			select {
			case <-t.C:
				f.SyncData()
			case <-stop:
				return
			}
		}
	}()
	at := int64(0)
	for b.Loop() {
		if _, err := f.WriteAt(buf, at); err != nil {
			b.Fatal(err)
		}
		if at += int64(size); at > 4<<30 { // fresh room, as the log has
			if err := f.Truncate(0); err != nil {
				b.Fatal(err)
			}
			at = 0
		}
	}
	close(stop)
	<-done
}

// BenchmarkRawSync is what one synced append costs at least: a write and a sync
// of one file, two writes to regions of one file and a sync, or two files side by
// side.
func BenchmarkRawSync(b *testing.B) {
	b.Run("regions=2", func(b *testing.B) {
		const room = 64 * mib
		f := rawFiles(b, 1, room)[0]
		buf := make([]byte, kib)
		at, frameAt := int64(0), int64(room/2)
		for b.Loop() {
			if _, err := f.WriteAt(buf, at); err != nil {
				b.Fatal(err)
			}
			if _, err := f.WriteAt(buf[:slotSize], frameAt); err != nil {
				b.Fatal(err)
			}
			if err := f.SyncData(); err != nil {
				b.Fatal(err)
			}
			at = (at + kib) % (room/2 - kib)
			frameAt = room/2 + (frameAt-room/2+slotSize)%(room/2-kib)
		}
	})
	for _, files := range []int{1, 2} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			const room = 64 * mib
			fs := rawFiles(b, files, room)
			sizes := []int64{kib, slotSize}
			buf := make([]byte, kib)
			var at [2]int64
			errs := make(chan error, 1)
			for b.Loop() {
				for i, f := range fs {
					if _, err := f.WriteAt(buf[:sizes[i]], at[i]); err != nil {
						b.Fatal(err)
					}
					at[i] = (at[i] + sizes[i]) % (room - kib)
				}
				if files == 2 {
					go func() { errs <- fs[1].SyncData() }()
				}
				if err := fs[0].SyncData(); err != nil {
					b.Fatal(err)
				}
				if files == 2 {
					if err := <-errs; err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, where := range []string{"tail", "disk"} {
		b.Run(where, func(b *testing.B) {
			s := benchStore(b, Async)
			c := newCaller(0, 64)
			for range 64 * mib / (64 * kib) {
				c.send(b, s)
			}
			_, hi := s.Bounds("BenchTopic", 0)
			lo := int64(0)
			if where == "tail" {
				lo = hi - 16*kib
			} else {
				hi = 16 * kib
			}
			buf := make([]byte, 0, 64*kib)
			b.SetBytes(32 * kib)
			b.ReportAllocs()
			at := lo
			for b.Loop() {
				r, err := s.Read("BenchTopic", 0, at, ReadLimit{Buf: buf[:0]}, nil)
				if err != nil || r.Count != 32 {
					b.Fatal(r.Count, err)
				}
				if at = r.Next; at >= hi {
					at = lo
				}
			}
		})
	}
}

// BenchmarkIntegrity compares the processor's part of the two ways to protect a
// record: a frame with a check sum over the batch, and a check in each record (a
// check sum and a property for each message). The disk's part is in
// BenchmarkRawSync: frames in a side file (files=2), frames in the log's own file
// (regions=2), no frames (files=1).
func BenchmarkIntegrity(b *testing.B) {
	m := message("BenchTopic", 0, kilobyte, "KEYS", "k", "TAGS", "t")
	b.Run("frame/cpu", func(b *testing.B) {
		var buf []byte
		b.SetBytes(kib)
		for b.Loop() {
			buf, _ = msg.AppendRecord(buf[:0], &m)
			crcOf(buf)
		}
	})
	b.Run("record/cpu", func(b *testing.B) {
		var buf []byte
		b.SetBytes(kib)
		for b.Loop() {
			buf, _ = msg.AppendCheckedRecord(buf[:0], &m)
			msg.SealRecord(buf)
		}
	})
}

// BenchmarkOpen opens a store of 256 MiB after a clean stop and after a kill.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	o := Options{Dir: dir, Mode: Async, StoreHost: testHost, Retention: -1, DiskHigh: 2, MinFree: -1}
	s, err := Open(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	c := newCaller(0, 64)
	for range 256 * mib / (64 * kib) {
		c.send(b, s)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		start := time.Now()
		s, err := Open(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Microseconds()), "us/open")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	os.RemoveAll(dir)
}
