// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/orderlymq/orderly/internal/msg"
)

// unitAt returns the unit of the first message at or after an offset, and its
// offset; -1 if there is none.
func (c *core) unitAt(q *queue, from int64) (int64, unit, error) {
	for attempt := 0; ; attempt++ {
		var one [1]unit
		base, got, disk := q.find(from, one[:0])
		if base < 0 {
			return -1, unit{}, nil
		}
		if len(got) > 0 {
			return base, got[0], nil
		}
		got, err := c.unitsOf(&disk, base, one[:])
		if err == nil {
			return base, got[0], nil
		}
		var bad *errIndexBad
		if !errors.As(err, &bad) || attempt > 0 {
			return -1, unit{}, err
		}
		if err := c.index.fix(request{queue: bad.file}); err != nil {
			return -1, unit{}, err
		}
	}
}

// offsetAtTime searches by store time, which never falls within a queue.
func (c *core) offsetAtTime(q *queue, ms int64, upper bool) (int64, error) {
	if upper {
		ms++
	}
	// The first offset whose message, or the next that is there, is not older.
	begin, end := q.bounds()
	lo, hi := begin, end
	for lo < hi {
		mid := lo + (hi-lo)/2
		at, u, err := c.unitAt(q, mid)
		if err != nil {
			return 0, err
		}
		switch {
		case at < 0 || at >= hi || u.stamp >= ms:
			hi = mid
		default:
			lo = at + 1
		}
	}
	if !upper {
		return c.landed(q, lo, end)
	}
	return c.before(q, begin, lo)
}

// landed moves an offset from a hole to the next message.
func (c *core) landed(q *queue, at, end int64) (int64, error) {
	if at >= end {
		return end, nil
	}
	got, _, err := c.unitAt(q, at)
	if got < 0 {
		got = end
	}
	return got, err
}

// before returns the last message below an offset, 0 if there is none.
func (c *core) before(q *queue, begin, at int64) (int64, error) {
	if at <= begin {
		return 0, nil
	}
	// Offsets in a hole were passed over above, so at-1 holds a message.
	return at - 1, nil
}

// storeTime returns the store time of the message at an offset.
func (c *core) storeTime(q *queue, offset int64) (int64, error) {
	if q == nil {
		return 0, ErrNotFound
	}
	at, u, err := c.unitAt(q, offset)
	if err != nil {
		return 0, err
	}
	if at != offset {
		return 0, ErrNotFound
	}
	return u.stamp, nil
}

// record returns the committed record at a place in the log.
func (c *core) record(physical int64) ([]byte, error) {
	limit := c.pos.dispatched.Load()
	g := c.segs.at(physical)
	if g == nil || physical < 0 || physical+msg.MinRecordSize > min(limit, g.end()) {
		return nil, fmt.Errorf("record at %d: %w", physical, ErrNotFound)
	}
	head, _, err := c.readLog(nil, physical, msg.MinRecordSize)
	if err != nil {
		return nil, fmt.Errorf("record at %d: %w", physical, err)
	}
	kind, size := msg.Peek(head)
	if kind != msg.KindRecord || physical+int64(size) > min(limit, g.end()) || size > maxRecord ||
		int64(binary.BigEndian.Uint64(head[28:])) != physical {
		return nil, fmt.Errorf("record at %d: %w", physical, ErrNotFound)
	}
	b, _, err := c.readLog(make([]byte, 0, size), physical, size)
	if err != nil {
		return nil, fmt.Errorf("record at %d: %w", physical, err)
	}
	if _, n, err := msg.ParseView(b); err != nil || n != size {
		return nil, fmt.Errorf("record at %d: %w", physical, ErrNotFound)
	}
	return b, nil
}

// queryKey finds records by key, newest first.
func (c *core) queryKey(ctx context.Context, topic, key string, limit int, begin, end int64) ([][]byte, error) {
	if err := c.index.waitKeyed(ctx, c.pos.dispatched.Load()); err != nil {
		return nil, err
	}
	places, err := c.searchKey(keyHash(topic, key))
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, p := range places {
		if len(out) == limit {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := c.record(p)
		if errors.Is(err, ErrNotFound) {
			continue // its segment has just gone
		}
		if err != nil {
			return nil, err
		}
		v := msg.View(b)
		if t := v.StoreTimestamp(); t < begin || t > end || !hasKey(v, topic, key) || !c.visible(v) {
			continue
		}
		out = append(out, b)
	}
	return out, nil
}

// searchKey searches the key index, again after each damaged file was made anew.
func (c *core) searchKey(hash uint64) ([]int64, error) {
	start := int64(0)
	if l := c.segs.snapshot(); len(l) > 0 {
		start = l[0].base
	}
	places, err := c.index.search(hash, start)
	for range c.segs.count() { // a file that stays damaged is an error
		bad, ok := errors.AsType[*keyFileError](err)
		if !ok {
			break
		}
		if err := c.index.fix(request{key: bad.f}); err != nil {
			return nil, err
		}
		places, err = c.index.search(hash, start)
	}
	return places, err
}

// visible reports whether a record was not dropped with its topic.
func (c *core) visible(v msg.View) bool {
	q := c.queues.get(string(v.Topic()), v.QueueID())
	if q == nil || !isIndexed(v.SysFlag()) {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return v.QueueOffset() >= q.floor
}
