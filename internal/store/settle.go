// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io"

	"github.com/orderlymq/orderly/internal/vfs"
)

// settle makes the outcome of the walk final: the log ends at r.end, all below
// is durable, nothing behind it can come back. It can be interrupted anywhere:
// the next recovery finds the same end.
func (r *recovery) settle(first int) error {
	if r.end.pos == r.seg.end() {
		// The last segment is full: the next one starts empty.
		r.end.framePos = 0
	}
	clean := r.hasCk && r.ck.clean && r.end.pos == r.ck.synced && !r.o.Repair
	for i := first; i < len(r.segs.list); i++ {
		g := r.segs.list[i]
		if g.base >= r.end.pos && g.base != r.segs.list[0].base {
			break
		}
		if err := r.settleSegment(g, clean); err != nil {
			return fmt.Errorf("settle segment %s: %w", segName(g.base), err)
		}
	}
	if err := r.dropLater(); err != nil || clean {
		return err
	}
	return r.syncDir() // a crash may have come before the names were durable
}

// settleSegment clears what is behind the end, frames first, and syncs.
func (r *recovery) settleSegment(g *segment, clean bool) error {
	log, err := r.fs.OpenRW(r.segs.logPath(g.base))
	if err != nil {
		return err
	}
	defer log.Close()
	size, err := log.Size()
	if err != nil {
		return err
	}
	if size < g.size {
		if err := log.Truncate(g.size); err != nil {
			return err
		}
	} else if clean {
		return nil
	}
	if r.end.pos < g.end() {
		if err := r.clear(log, g.size+r.end.framePos, size); err != nil {
			return err
		}
		if err := log.SyncData(); err != nil {
			return err
		}
		if err := r.clear(log, r.end.pos-g.base, g.size); err != nil {
			return err
		}
	}
	return log.SyncData()
}

// clear writes zeros over whatever is not zero in a range. Holes, which most of
// a segment is that is not full, are not read.
func (r *recovery) clear(f vfs.File, from, to int64) error {
	buf := make([]byte, 256*kib)
	for at := from; at < to; {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		var err error
		if at, err = vfs.NextData(f, at); err != nil {
			return err
		}
		if at >= to {
			return nil
		}
		n, err := f.ReadAt(buf[:min(int64(len(buf)), to-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 {
			return nil
		}
		if !allZero(buf[:n]) {
			r.dropped += int64(n)
			if err := writeZeros(f, at, int64(n)); err != nil {
				return err
			}
		}
		at += int64(n)
	}
	return nil
}

// dropLater removes the segments behind the end. They hold nothing that was
// promised; an empty one was made ahead.
func (r *recovery) dropLater() error {
	for n := len(r.segs.list) - 1; n > 0 && r.segs.list[n].base >= r.end.pos; n-- {
		if err := r.remove(r.segs.list[n].base); err != nil {
			return err
		}
		r.segs.list = r.segs.list[:n]
		// One by one, from the last, so that a crash leaves no gap.
		if err := r.syncDir(); err != nil {
			return err
		}
	}
	return nil
}

// syncDir makes the names of segments durable.
func (r *recovery) syncDir() error {
	if err := r.fs.SyncDir(r.segs.dir + "/" + logDir); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}
