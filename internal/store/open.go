// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"path"

	"github.com/orderlymq/orderly/internal/vfs"
)

// makeDirs makes the directories of a store, with durable names.
func makeDirs(fsys vfs.FS, dir string) error {
	for _, d := range []string{"", logDir, queueDir, keyDir} {
		if err := fsys.MkdirAll(path.Join(dir, d)); err != nil {
			return fmt.Errorf("make data directory: %w", err)
		}
	}
	if err := fsys.SyncDir(dir); err != nil {
		return fmt.Errorf("sync data directory: %w", err)
	}
	// The parent may not be ours to sync; the directory is then as durable as
	// whoever made it saw fit.
	_ = fsys.SyncDir(path.Dir(dir))
	return nil
}

// openCore recovers the store on disk. known, if not zero, is what a fenced
// core knew to be durable.
func openCore(ctx context.Context, o *Options, known int64, reread bool) (*core, error) {
	c := newCore(o)
	r, err := c.recover(ctx, known, reread)
	if err != nil {
		c.files.closeAll()
		return nil, err
	}
	w, err := c.assemble(ctx, r)
	if err != nil {
		c.abandon()
		return nil, err
	}
	if err := c.replay(ctx, w.pos); err != nil {
		c.abandon()
		return nil, err
	}
	c.start(w)
	return c, nil
}

func newCore(o *Options) *core {
	c := &core{
		o: o, segs: &segments{dir: o.Dir, size: o.SegmentSize}, files: newFileCache(o.FS, o.OpenFiles),
		queues: newTable(), in: newIntake(o.MaxQueued),
		batches: make(chan *batch, pipelineDepth), synced: make(chan *batch, pipelineDepth), done: make(chan *batch, pipelineDepth),
		synchro: make(chan struct{}, 1), lag: newLag(o.SyncEvery), stop: make(chan struct{}),
	}
	for range pipelineDepth {
		c.batches <- &batch{}
	}
	c.check = newVerifier(c.segs, c.files)
	c.index = newIndexer(c)
	return c
}

// recover finds the end of the log and makes it final.
func (c *core) recover(ctx context.Context, known int64, reread bool) (*recovery, error) {
	ck, ok, err := readCheckpoint(c.o.FS, c.o.Dir+"/"+ckptFileName)
	if err != nil {
		return nil, err
	}
	boot := c.o.FS.BootID()
	r := &recovery{
		ctx: ctx, o: c.o, fs: c.o.FS, segs: c.segs, files: c.files, ck: ck, hasCk: ok,
		trust:  ok && boot != "" && ck.boot == boot && !ck.fenced && !reread,
		reread: reread, durable: known, redo: map[int64]bool{},
	}
	if err := r.list(); err != nil {
		return nil, err
	}
	if err := r.run(); err != nil {
		return nil, err
	}
	// Other files were changed than those that may be open for reading.
	c.files.closeAll()
	return r, nil
}

// assemble makes the rest of a core on a recovered log.
func (c *core) assemble(ctx context.Context, r *recovery) (*writer, error) {
	c.repairs = r.repairs
	c.stamp = r.stamp
	c.pos.assigned.Store(r.end.pos)
	c.pos.written.Store(r.end.pos)
	c.pos.synced.Store(r.end.pos)
	c.pos.committed.Store(r.end.pos)
	c.pos.dispatched.Store(r.end.pos)
	c.mark = r.end
	ld := loader{c: c, r: r}
	if err := ld.load(ctx); err != nil {
		return nil, err
	}
	entries, _, err := readFloors(c.o.FS, c.o.Dir, r.ck.floors)
	if err != nil && !c.o.Repair {
		return nil, err
	}
	c.applyFloors(entries, r.lossy(c.o.FS.BootID()))
	c.tail = newTail(c.o.TailCache, c.segs.size)
	c.fill = newFiller(c.segs, c.o, c.fence, c.stop)
	c.keeper = &keeper{c: c, wake: make(chan struct{}, 1), asks: make(chan chan struct{}), boot: c.o.FS.BootID()}
	if c.ckpt, err = openCheckpoint(c.o.FS, c.o.Dir, r.ck.seq); err != nil {
		return nil, err
	}
	a, err := c.openActive(r)
	if err != nil {
		return nil, err
	}
	w := &writer{c: c, cur: a, pos: r.end.pos, framePos: r.end.framePos}
	c.active.Store(a)
	c.fill.begin(a, r.end.pos, r.end.framePos)
	return w, c.firstCheckpoint(r)
}

// firstCheckpoint says, durable, that the store is in use. What the last run
// has left to be concluded, from its boot id above all, must be settled before:
// the floors file says it from then on.
func (c *core) firstCheckpoint(r *recovery) (err error) {
	if r.hasCk && r.ck.floors > 0 {
		p := r.ck
		p.floors = 0 // the length that was vouched for is about to change
		if err := c.ckpt.commit(p); err != nil {
			return err
		}
	}
	if c.floors, err = openFloors(c.o.FS, c.o.Dir, floorsOf(c.queues)); err != nil {
		return err
	}
	p := checkpoint{
		boot: c.keeper.boot, async: c.o.Mode == Async, segSize: c.segs.size, start: c.segs.list[0].base,
		synced: r.end.pos, framePos: r.end.framePos, stamp: r.stamp, floors: c.floors.length(),
		indexed: c.index.indexed.Load(), keyed: c.index.keysOn.Load(),
	}
	if err := c.ckpt.commit(p); err != nil {
		return err
	}
	c.keeper.tick()
	return nil
}

// lossy reports whether messages that were readable may be gone: offsets that
// were reserved ahead are then not given out again.
func (r *recovery) lossy(boot string) bool {
	if r.hasCk && r.ck.clean {
		return false
	}
	if !r.hasCk {
		return true
	}
	return r.ck.async && (boot == "" || r.ck.boot != boot || r.ck.fenced || r.reread)
}

// applyFloors gives queues the offsets that the log does not show.
func (c *core) applyFloors(entries []floorEntry, lossy bool) {
	for _, e := range entries {
		q := c.queues.make(e.topic, e.id)
		q.mu.Lock()
		switch e.kind {
		case floorNext:
			q.lift(e.value)
		case floorDrop:
			q.lift(e.value)
			q.floor = max(q.floor, e.value)
			q.min = max(q.min, q.floor)
			q.dropped = q.min >= q.max
		case floorMark:
			q.mark = max(q.mark, e.value)
			if lossy {
				q.lift(e.value)
			}
		}
		q.trim()
		q.mu.Unlock()
	}
}

// openActive opens the segment that holds the end of the log, or makes it.
func (c *core) openActive(r *recovery) (*active, error) {
	g := c.segs.at(r.end.pos)
	if g == nil {
		a, err := c.fill.create(max(r.end.pos, r.ck.start))
		if err != nil {
			return nil, err
		}
		c.segs.add(a.segment)
		return a, nil
	}
	f, err := c.o.FS.OpenRW(c.segs.logPath(g.base))
	if err != nil {
		return nil, fmt.Errorf("open log file: %w", err)
	}
	return newActive(g, f), nil
}

// abandon closes what a failed assembly has opened.
func (c *core) abandon() {
	if a := c.active.Load(); a != nil {
		a.close()
	}
	if c.ckpt != nil {
		c.ckpt.close()
	}
	if c.floors != nil {
		c.floors.close()
	}
	c.files.closeAll()
}
