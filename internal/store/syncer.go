// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"sync"
	"time"
)

// runSyncer makes batches durable: one sync for all batches that were written
// meanwhile.
func (c *core) runSyncer() {
	defer close(c.done)
	group := make([]*batch, 0, pipelineDepth)
	for b := range c.synced {
		group = append(group[:0], b)
		group = c.more(group)
		if err := c.syncGroup(group); err != nil {
			c.fence(err)
		}
		c.syncing.Add(-int32(len(group)))
		poke(c.synchro)
		for i, b := range group {
			if b.err == nil {
				b.err = c.fenceIfBehind(b)
			}
			c.done <- b
			group[i] = nil
		}
	}
}

// more adds the batches that are waiting.
func (c *core) more(group []*batch) []*batch {
	for len(group) < cap(group) {
		select {
		case b, ok := <-c.synced:
			if !ok {
				return group
			}
			group = append(group, b)
		default:
			return group
		}
	}
	return group
}

// fenceIfBehind fails a batch that no sync has covered, or what came before it.
func (c *core) fenceIfBehind(b *batch) error {
	if max(b.end.pos, b.after) <= c.pos.synced.Load() {
		return nil
	}
	return c.fenceErr(true)
}

// syncGroup makes the batches' bytes durable. After a failed write nothing is
// synced any more: what reached the disk is for the recovery to find out.
func (c *core) syncGroup(group []*batch) error {
	var end syncMark
	var last *active
	for _, b := range group {
		for _, a := range b.segs {
			if a != last && last != nil {
				if err := last.sync(); err != nil {
					return err
				}
			}
			last = a
		}
		if b.end.pos > end.pos {
			end = b.end
		}
	}
	if last == nil {
		return nil
	}
	if err := last.sync(); err != nil {
		return err
	}
	c.setSynced(end)
	for _, b := range group {
		c.retire(b.retire)
	}
	return nil
}

// retire closes the files of a full segment that is synced.
func (c *core) retire(a *active) {
	if a == nil {
		return
	}
	if err := a.close(); err != nil {
		c.fence(fmt.Errorf("close segment: %w", err))
	}
}

// sync makes what was written to the segment's file durable.
func (a *active) sync() error {
	if err := a.log.SyncData(); err != nil {
		return fmt.Errorf("sync segment %s: %w", segName(a.base), err)
	}
	return nil
}

// lag is what Async mode has written and not synced. It holds the writer back
// when the oldest of it is older than the mode allows, so that what a power cut
// can take is bounded even by a slow disk.
type lag struct {
	limit time.Duration

	mu      sync.Mutex
	segs    []*active // written to since the last sync began
	retired []*active
	end     syncMark
	since   time.Time     // of the oldest write that no sync has begun for; zero if none
	running time.Time     // of the oldest write in the sync under way; zero if none
	synced  chan struct{} // closed when a sync ends
	due     chan struct{} // a write is older than half the limit: poke
}

func newLag(limit time.Duration) *lag {
	return &lag{limit: limit, synced: make(chan struct{}), due: make(chan struct{}, 1)}
}

// wrote notes a batch and waits while too much is unsynced.
func (l *lag) wrote(b *batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.since.IsZero() {
		l.since = now
	}
	for _, a := range b.segs {
		if n := len(l.segs); n == 0 || l.segs[n-1] != a {
			l.segs = append(l.segs, a)
		}
	}
	if b.retire != nil {
		l.retired = append(l.retired, b.retire)
	}
	if b.end.pos > l.end.pos {
		l.end = b.end
	}
	for l.late(now) {
		ch := l.synced
		l.mu.Unlock()
		poke(l.due)
		<-ch
		l.mu.Lock()
	}
}

// late reports whether something unsynced is older than the limit.
func (l *lag) late(now time.Time) bool {
	oldest := l.running
	if oldest.IsZero() {
		oldest = l.since
	}
	return !oldest.IsZero() && now.Sub(oldest) > l.limit
}

func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// begin takes what is to be synced.
func (l *lag) begin() (segs, retired []*active, end syncMark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	segs, retired, end = l.segs, l.retired, l.end
	l.segs, l.retired = nil, nil
	l.running, l.since = l.since, time.Time{}
	return segs, retired, end
}

func (l *lag) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = time.Time{}
	close(l.synced)
	l.synced = make(chan struct{})
}

// runLagSyncer syncs in Async mode: twice in each period, so that nothing gets
// as old as the period unless the disk is slow.
func (c *core) runLagSyncer() {
	t := time.NewTicker(max(c.lag.limit/2, time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-c.lag.due:
		case <-c.stop:
			c.syncLag()
			return
		}
		c.syncLag()
	}
}

// syncLag syncs what was written so far.
func (c *core) syncLag() {
	defer c.lag.finish()
	segs, retired, end := c.lag.begin()
	if len(segs) == 0 || c.fenceErr(false) != nil {
		return
	}
	for _, a := range segs {
		if err := a.sync(); err != nil {
			c.fence(err)
			return
		}
	}
	c.setSynced(end)
	for _, a := range retired {
		c.retire(a)
	}
}
