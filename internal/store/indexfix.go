// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
)

// request asks the indexer to make an index file anew that a reader found
// damaged. It closes done when it has tried.
type request struct {
	queue *indexFile
	key   *keyFile
	done  chan struct{}
}

// fix has a damaged file made anew and waits for it.
func (x *indexer) fix(r request) error {
	r.done = make(chan struct{})
	x.mu.Lock()
	x.asked = append(x.asked, r)
	x.mu.Unlock()
	poke(x.wake)
	select {
	case <-r.done:
		return nil
	case <-x.c.stop:
		return ErrClosed
	}
}

// answer does what readers have asked for. A file that was replaced since is
// left alone.
func (x *indexer) answer() {
	x.mu.Lock()
	asked := x.asked
	x.asked = nil
	x.mu.Unlock()
	for _, r := range asked {
		if err := x.remake(r); err != nil {
			x.c.o.Logger.Error("store: damaged index not rebuilt", "error", err)
		}
		close(r.done)
	}
}

func (x *indexer) remake(r request) error {
	ctx := context.Background() // bounded work of the indexer's own
	switch {
	case r.queue != nil:
		g := x.c.segs.at(r.queue.base)
		if g == nil || x.of(g.base).queue != r.queue {
			return nil
		}
		x.c.o.Logger.Warn("store: queue index is damaged, rebuilding", "file", r.queue.path)
		return x.rebuildQueues(ctx, g, r.queue.upTo)
	case r.key != nil:
		g := x.c.segs.at(r.key.base)
		if g == nil || x.of(g.base).key != r.key {
			return nil
		}
		x.c.o.Logger.Warn("store: key index is damaged, rebuilding", "file", r.key.path)
		return x.rebuildKeys(ctx, g, r.key.upTo)
	}
	return nil
}

// redoKeys makes the key indexes that were missing at the start.
func (x *indexer) redoKeys() {
	for {
		x.mu.RLock()
		var g *segment
		if len(x.redo) > 0 {
			g = x.redo[0]
		}
		x.mu.RUnlock()
		if g == nil {
			return
		}
		select {
		case <-x.c.stop:
			return // the next start finds it missing again
		default:
		}
		var err error
		if x.c.segs.at(g.base) != nil {
			x.c.o.Logger.Info("store: rebuilding key index", "segment", segName(g.base))
			err = x.rebuildKeys(context.Background(), g, g.end()) // bounded work of the indexer's own
		}
		if err != nil {
			x.c.o.Logger.Error("store: key index not rebuilt", "segment", segName(g.base), "error", err)
		}
		x.mu.Lock()
		x.redo = x.redo[1:]
		if err != nil {
			x.gaps[g.base] = err
		}
		close(x.ready)
		x.ready = make(chan struct{})
		x.mu.Unlock()
	}
}

// stuckErr says why appends are refused while indexes cannot be written.
func (x *indexer) stuckErr() error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.err == nil {
		return nil
	}
	if diskFull(x.err) {
		return fmt.Errorf("%w (%w)", ErrDiskFull, x.err)
	}
	return fmt.Errorf("%w: %w", ErrIndex, x.err)
}
