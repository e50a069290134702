// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/orderlymq/orderly/internal/msg"
)

// unitOf makes the index unit of a record.
func unitOf(v msg.View, phys int64) unit {
	return unit{phys: phys, tag: v.TagHash(), stamp: v.StoreTimestamp(), key: v.KeyHash(), size: uint32(v.Size())}
}

// collector gathers units by queue, for a run.
type collector struct {
	queues *table
	units  map[*queue][]memExtent
}

func (k *collector) add(v msg.View, phys int64) error {
	if !isIndexed(v.SysFlag()) {
		return nil
	}
	q := k.queues.get(string(v.Topic()), v.QueueID())
	if q == nil {
		q = k.queues.make(string(v.Topic()), v.QueueID())
	}
	l := k.units[q]
	off := v.QueueOffset()
	if n := len(l); n > 0 && l[n-1].end() == off {
		l[n-1].units = append(l[n-1].units, unitOf(v, phys))
	} else {
		k.units[q] = append(l, memExtent{base: off, units: []unit{unitOf(v, phys)}})
	}
	return nil
}

// run makes the units into a run and forgets them.
func (k *collector) run(from, to int64, last frameRef) *runBuilder {
	r := &runBuilder{}
	r.reset(from, to, last)
	queues := make([]*queue, 0, len(k.units))
	for q := range k.units {
		queues = append(queues, q)
	}
	slices.SortFunc(queues, compareQueues)
	for _, q := range queues {
		for _, e := range k.units[q] {
			r.add(q, e)
		}
	}
	clear(k.units)
	return r
}

// rebuildQueues makes the segment's queue-index file anew from the log, up to a
// frame boundary, and makes the queues use it.
func (x *indexer) rebuildQueues(ctx context.Context, g *segment, to int64) error {
	si := x.of(g.base)
	f, on, err := x.scanQueues(ctx, g, to, si.queue)
	if err != nil {
		return err
	}
	x.install(si, f, on)
	return nil
}

// scanQueues makes a queue-index file from the log, to replace old.
func (x *indexer) scanQueues(ctx context.Context, g *segment, to int64, old *indexFile) (*indexFile, map[*queue][]extent, error) {
	f := &indexFile{base: g.base, upTo: g.base}
	if old != nil {
		f.gen = old.gen + 1
	}
	path, err := x.create(queueDir, g.base, f.gen)
	if err != nil {
		return nil, nil, err
	}
	f.path = path
	k := collector{queues: x.c.queues, units: map[*queue][]memExtent{}}
	next := &segmentIndex{queue: f}
	on := map[*queue][]extent{}
	flush := func(upTo int64, last frameRef) error {
		from := f.upTo
		r := k.run(from, upTo, last)
		file, at, err := x.appendQueueRun(next, cut{seg: g, from: from, to: upTo, last: last}, r.bytes())
		if err != nil {
			return err
		}
		for q, e := range r.extents(file, at) {
			on[q] = append(on[q], e...)
		}
		return nil
	}
	if err := x.eachFrame(ctx, g, to, x.c.o.IndexEvery, flush, k.add); err != nil {
		return nil, nil, fmt.Errorf("rebuild queue index: %w", err)
	}
	return f, on, nil
}

// install puts a new file in the place of the one the segment had.
func (x *indexer) install(si *segmentIndex, f *indexFile, on map[*queue][]extent) {
	x.mu.Lock()
	old := si.queue
	si.queue = f
	x.mu.Unlock()
	for _, q := range x.c.queues.all() {
		if e := on[q]; old != nil || len(e) > 0 {
			q.replace(old, e)
		}
	}
	if old != nil {
		x.remove(old.path)
	}
}
