// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/orderlymq/orderly/internal/vfs"
)

// rawFile is a file as the engine's log: its first part is filled with zeros
// and synced, so that a write there changes no metadata.
type rawFile struct {
	f    vfs.File
	path string
	at   int64
}

// rawRoom is the zero-filled part, which is written round and round.
const rawRoom = 16 << 20

func newRawFile(dir string) (*rawFile, error) {
	r := &rawFile{path: filepath.Join(dir, "raw")}
	f, err := vfs.OS().Create(r.path)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	r.f = f
	zero := make([]byte, 1<<20)
	for at := int64(0); at < rawRoom; at += int64(len(zero)) {
		if _, err := f.WriteAt(zero, at); err != nil {
			r.close()
			return nil, fmt.Errorf("bench: %w", err)
		}
	}
	if err := f.Sync(); err != nil {
		r.close()
		return nil, fmt.Errorf("bench: %w", err)
	}
	return r, nil
}

func (r *rawFile) close() {
	_ = r.f.Close()
	_ = os.Remove(r.path)
}

// syncs writes size bytes and a frame's worth behind the data, as the engine
// does for one append, and syncs, for a time.
func (r *rawFile) syncs(ctx context.Context, size int, d time.Duration) (n int64, took time.Duration, err error) {
	const frame = 64
	data := make([]byte, size)
	began := time.Now()
	for ; took < d && ctx.Err() == nil; took = time.Since(began) {
		if r.at+int64(size) > rawRoom/2 {
			r.at = 0
		}
		if _, err := r.f.WriteAt(data, r.at); err != nil {
			return n, took, fmt.Errorf("bench: %w", err)
		}
		if _, err := r.f.WriteAt(data[:min(frame, size)], rawRoom/2+r.at/int64(size)*frame%(rawRoom/2)); err != nil {
			return n, took, fmt.Errorf("bench: %w", err)
		}
		if err := r.f.SyncData(); err != nil {
			return n, took, fmt.Errorf("bench: %w", err)
		}
		r.at += int64(size)
		n++
	}
	return n, took, nil
}

// writes writes chunks without a sync, for a time, always to fresh room, as a
// log does. What was written is synced afterwards, outside the time.
func (r *rawFile) writes(ctx context.Context, size int, d time.Duration, most int64) (n int64, took time.Duration, err error) {
	data := make([]byte, size)
	at := int64(rawRoom)
	began := time.Now()
	for ; took < d && n*int64(size) < most && ctx.Err() == nil; took = time.Since(began) {
		if _, err := r.f.WriteAt(data, at); err != nil {
			return n, took, fmt.Errorf("bench: %w", err)
		}
		at += int64(size)
		n++
	}
	if err := r.f.SyncData(); err != nil {
		return n, took, fmt.Errorf("bench: %w", err)
	}
	if err := r.f.Truncate(rawRoom); err != nil {
		return n, took, fmt.Errorf("bench: %w", err)
	}
	return n, took, nil
}
