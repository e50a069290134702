// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
)

// Span is a range of offsets, [From, To).
type Span struct{ From, To int64 }

// Counted is the answer of Count.
type Counted struct {
	// Messages of the queue that were asked for. If not all were looked at, the
	// rest is estimated by the share among those that were, and Exact is false.
	Messages int64
	Exact    bool
	Oldest   int64 // store time in ms of the first of them; 0: none was seen
	Looked   int   // index entries looked at
}

// Count counts the messages of a queue from an offset on whose tag hash match
// takes (nil: all), without those in skip, which is ascending. It looks at no
// more than limit entries of the queue index, and at none if nothing is to be
// matched or skipped, but for the first one's time.
func (s *Store) Count(topic string, queue int32, from int64, limit int, match func(tagHash int64) bool, skip []Span) (Counted, error) {
	c := s.core.Load()
	q := c.queues.get(topic, queue)
	if q == nil {
		return Counted{Exact: true}, nil
	}
	lo, hi := q.bounds()
	from = max(from, lo)
	if from >= hi {
		return Counted{Exact: true}, nil
	}
	r := &read{c: c, q: q, match: match, at: from, res: ReadResult{Max: hi}, lim: ReadLimit{MaxMsgs: unitBatch}}
	n, err := r.count(limit, skip)
	if err != nil {
		return Counted{}, fmt.Errorf("count %s queue %d at %d: %w", topic, queue, r.at, err)
	}
	return n, nil
}

func (r *read) count(limit int, skip []Span) (out Counted, err error) {
	var arr [unitBatch]unit
	fixed := false
	hi := r.res.Max
	for r.at < hi && out.Looked < limit {
		if r.match == nil && len(skip) == 0 && out.Oldest != 0 {
			break // every one of the rest counts
		}
		base, units, err := r.units(arr[:0])
		if bad, ok := errors.AsType[*errIndexBad](err); ok && !fixed {
			fixed = true
			if err := r.c.index.fix(request{queue: bad.file}); err != nil {
				return out, err
			}
			continue
		}
		if err != nil {
			return out, err
		}
		if base < 0 || base >= hi {
			r.at = hi
			break
		}
		r.at = base
		for i := range units {
			if r.at >= hi {
				break
			}
			for len(skip) > 0 && skip[0].To <= r.at {
				skip = skip[1:]
			}
			skipped := len(skip) > 0 && skip[0].From <= r.at
			if !skipped && (r.match == nil || r.match(units[i].tag)) {
				out.Messages++
				if out.Oldest == 0 {
					out.Oldest = units[i].stamp
				}
			}
			r.at++
			out.Looked++
		}
	}
	left := hi - r.at
	out.Exact = left == 0 || r.match == nil && len(skip) == 0
	switch {
	case left == 0:
	case r.match == nil:
		for _, s := range skip {
			left -= max(0, min(s.To, hi)-max(s.From, r.at))
		}
		out.Messages += left
		out.Exact = true
	case out.Looked > 0:
		out.Messages += int64(float64(left) * float64(out.Messages) / float64(out.Looked))
	default:
		out.Messages += left
	}
	return out, nil
}
