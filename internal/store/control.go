// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
)

// dropTopic makes it durable that the topic's messages are gone, then so.
func (c *core) dropTopic(topic string) error {
	var entries []floorEntry
	queues := c.queues.of(topic)
	for _, q := range queues {
		if _, next := q.bounds(); next > 0 {
			entries = append(entries, floorEntry{floorDrop, q.topic, q.id, q.nextOffset()})
		}
	}
	if len(entries) == 0 {
		return nil
	}
	if err := c.floors.add(entries); err != nil {
		return fmt.Errorf("drop topic %s: %w", topic, err)
	}
	i := 0
	for _, q := range queues {
		if i < len(entries) && entries[i].id == q.id {
			q.drop(entries[i].value)
			i++
		}
	}
	return nil
}

func (q *queue) nextOffset() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.next
}

// sync waits until what is dispatched now is durable.
func (c *core) sync(ctx context.Context) error {
	pos := c.pos.dispatched.Load()
	for c.pos.synced.Load() < pos {
		if err := c.fenceErr(false); err != nil {
			return err
		}
		ch := c.lag.next()
		if c.pos.synced.Load() >= pos {
			return nil
		}
		poke(c.lag.due)
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.stop:
			return ErrClosed
		}
	}
	return nil
}

// next returns what is closed when the next sync ends.
func (l *lag) next() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.synced
}

func (c *core) health() Health {
	h := Health{
		Positions: c.positions(), Segments: c.segs.count(), ReadErrors: c.readErrs.Load(),
		Queued: c.in.bytes.Load(), IndexErr: c.index.lastErr(), Queues: c.queues.size(),
	}
	if d := c.usage.Load(); d != nil {
		h.DiskUsed, h.DiskFree = d.Used(), d.Free
	}
	if c.diskLow.Load() || c.fill.full() {
		h.State, h.Err = StateDiskFull, ErrDiskFull
	}
	if err := c.fenceErr(false); err != nil {
		h.State, h.Err = StateFenced, err
	}
	select {
	case <-c.stop:
		if h.State != StateFenced {
			h.State, h.Err = StateClosed, ErrClosed
		}
	default:
	}
	return h
}

func (x *indexer) lastErr() error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.err
}

func (t *table) size() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.count
}

// full reports whether the disk had no room at the last try.
func (f *filler) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err != nil
}

// halt ends all goroutines of a fenced core; reads go on.
func (c *core) halt() {
	c.in.close(c.fenceErr(false))
	c.pipe.Wait()
	select {
	case <-c.stop:
		return // a Reopen before has failed
	default:
	}
	close(c.stop)
	c.back.Wait()
	// The note that the log is fenced is best effort: without it the next start
	// may take lost bytes for damage.
	_ = c.ckpt.commit(c.keeper.claims())
	c.ckpt.close()
	c.floors.close()
	for _, a := range []*active{c.active.Load(), c.fill.next} {
		if a != nil {
			a.close()
		}
	}
}

// release closes what a halted core kept for reading.
func (c *core) release() { c.files.closeAll() }
