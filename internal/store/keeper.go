// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/orderlymq/orderly/internal/vfs"
)

// keeper does the regular work: checkpoints, a look at the disk and at the
// files, retention.
type keeper struct {
	c    *core
	wake chan struct{}
	asks chan chan struct{} // for a round now; closed when it is done
	last checkpoint         // written last
	boot string
}

// diskState is what was last seen of the disk.
type diskState struct {
	vfs.Usage
	low bool
}

func (k *keeper) poke() { poke(k.wake) }

func (k *keeper) run() {
	t := time.NewTicker(k.c.o.Upkeep)
	defer t.Stop()
	for {
		var ask chan struct{}
		select {
		case <-t.C:
		case <-k.wake:
		case ask = <-k.asks:
		case <-k.c.stop:
			return
		}
		k.tick()
		if ask != nil {
			close(ask)
		}
	}
}

// round has a round made now and waits for it.
func (k *keeper) round(ctx context.Context) error {
	ask := make(chan struct{})
	select {
	case k.asks <- ask:
	case <-ctx.Done():
		return ctx.Err()
	case <-k.c.stop:
		return ErrClosed
	}
	<-ask
	return nil
}

func (k *keeper) tick() {
	k.checkDisk()
	k.checkFiles()
	k.c.fill.retry()
	poke(k.c.index.wake)
	if err := k.retain(); err != nil {
		k.c.o.Logger.Warn("store: old segments stay", "error", err)
	}
	if err := k.compactFloors(); err != nil {
		k.c.o.Logger.Warn("store: floors not compacted", "error", err)
	}
	if err := k.checkpoint(); err != nil {
		k.c.o.Logger.Warn("store: checkpoint not written", "error", err)
	}
}

// claims returns what is true now.
func (k *keeper) claims() checkpoint {
	c := k.c
	m, fenced := c.syncedMark()
	p := checkpoint{
		boot: k.boot, fenced: fenced, async: c.o.Mode == Async, segSize: c.segs.size,
		synced: m.pos, framePos: m.framePos, stamp: c.lastStamp(),
		indexed: c.index.indexed.Load(), keyed: c.index.keysOn.Load(), floors: c.floors.length(),
	}
	if l := c.segs.snapshot(); len(l) > 0 {
		p.start = l[0].base
	}
	return p
}

// checkpoint writes what is true now, if it has changed.
func (k *keeper) checkpoint() error {
	p := k.claims()
	if p == k.last {
		return nil
	}
	commit := p.fenced != k.last.fenced
	k.last = p
	if commit {
		return k.c.ckpt.commit(p)
	}
	return k.c.ckpt.write(p)
}

// checkDisk refuses writes while too little space is left.
func (k *keeper) checkDisk() {
	u, err := k.c.o.FS.Usage(k.c.segs.dir)
	if err != nil {
		if !errors.Is(err, vfs.ErrUnsupported) {
			k.c.o.Logger.Warn("store: disk usage unknown", "error", err)
		}
		return
	}
	low := u.Free < k.minFree(u.Total)
	if was := k.c.diskLow.Swap(low); was != low {
		if low {
			k.c.o.Logger.Error("store: disk is full, refusing writes", "free", u.Free, "total", u.Total)
		} else {
			k.c.o.Logger.Info("store: space is free again, taking writes", "free", u.Free)
		}
	}
	k.c.usage.Store(&diskState{u, low})
}

func (k *keeper) minFree(total int64) int64 {
	if n := k.c.o.MinFree; n != 0 {
		return n
	}
	return min(2<<30, total/20)
}

// checkFiles fences the log if its files are no longer the ones being written:
// what goes to a removed or shortened file would be gone after a restart.
func (k *keeper) checkFiles() {
	a := k.c.active.Load()
	if a == nil || k.c.fenceErr(false) != nil {
		return
	}
	err := k.sameFile(a.log, k.c.segs.logPath(a.base), a.size)
	if err != nil && k.c.active.Load() == a {
		k.c.fence(err)
	}
}

func (k *keeper) sameFile(f vfs.File, path string, size int64) error {
	have, err := k.c.o.FS.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s was removed under the running store", path)
	}
	if err != nil {
		return nil // no statement about the file
	}
	open, err := f.Stat()
	if err != nil {
		return nil // it was closed: the writer has gone on to the next
	}
	if have.ID != open.ID {
		return fmt.Errorf("%s was replaced under the running store", path)
	}
	if open.Size < size {
		return fmt.Errorf("%s was cut to %d bytes under the running store", path, open.Size)
	}
	return nil
}
