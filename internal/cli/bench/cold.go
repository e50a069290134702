// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/vfs"
)

const (
	coldQueue = 1000 // nobody appends to it while it is read
	// coldRate is what the reader of old messages takes, in bytes a second: more
	// than an ordered consumer of any kind was seen to handle.
	coldRate = 100 << 20
)

// openCold fills a store with old messages, and opens it anew as it would be
// after a restart: its checks not made, its files not in memory.
func openCold(ctx context.Context, dir string, mode store.SyncMode, bytes int64) (*store.Store, error) {
	o := store.Options{Dir: dir, Mode: store.Async, StoreHost: anyHost, Retention: -1, DiskHigh: 2}
	s, err := store.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	err = errors.Join(fillCold(ctx, s, bytes), s.Close())
	if err != nil {
		return nil, err
	}
	if err := dropCaches(filepath.Join(dir, "commitlog")); err != nil {
		return nil, err
	}
	o.Mode = mode
	return store.Open(ctx, o)
}

func fillCold(ctx context.Context, s *store.Store, bytes int64) error {
	c := newCaller(coldQueue, 64, recordSize-recordOverhead)
	for at := int64(0); at < bytes; at += 64 * recordSize {
		if err := c.append(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// dropCaches asks the system to forget the contents of the files in dir.
func dropCaches(dir string) error {
	fsys := vfs.OS()
	names, err := fsys.List(dir)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	for _, n := range names {
		f, err := fsys.Open(filepath.Join(dir, n))
		if err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		err = dropCache(vfs.OSFile(f))
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
	}
	return nil
}

// coldReader reads the old messages, from where the slice before has ended.
type coldReader struct {
	s    *store.Store
	next int64
	buf  []byte
}

// run reads at coldRate until ctx ends, and returns how much.
func (r *coldReader) run(ctx context.Context) (bytes int64, err error) {
	began := time.Now()
	wait := time.NewTimer(0)
	defer wait.Stop()
	for ctx.Err() == nil {
		got, err := r.s.Read(engineTopic, coldQueue, r.next, store.ReadLimit{Buf: r.buf[:0]}, nil)
		if err != nil {
			return bytes, fmt.Errorf("read old messages: %w", err)
		}
		r.buf, r.next = got.Records, got.Next
		if got.Count == 0 { // all of them: they are in memory from now on
			r.next = got.Min
			continue
		}
		bytes += int64(len(got.Records))
		due := began.Add(time.Duration(float64(bytes) / coldRate * float64(time.Second)))
		if d := time.Until(due); d > time.Millisecond {
			wait.Reset(d)
			select {
			case <-wait.C:
			case <-ctx.Done():
			}
		}
	}
	return bytes, nil
}

// appendBeside is append with a reader of old messages beside it.
func (b *storeBench) appendBeside(ctx context.Context, r *coldReader, callers, batch int) (slice, error) {
	reading, stop := context.WithCancel(ctx)
	type outcome struct {
		bytes int64
		err   error
	}
	done := make(chan outcome, 1)
	began := time.Now()
	go func() {
		n, err := r.run(reading)
		done <- outcome{n, err}
	}()
	out, err := b.append(ctx, r.s, callers, batch)
	stop()
	got := <-done
	out.read = float64(got.bytes) / time.Since(began).Seconds()
	return out, errors.Join(err, got.err)
}
