// SPDX-License-Identifier: Apache-2.0

package order

import "math"

// Bounds of what is kept and stored per group and queue.
const (
	maxUnfinished  = 4096
	maxSettledText = 64 << 10
)

// progress says how far a queue has been consumed. The commit offset is the
// lowest unfinished message, or the read position if there is none; it never
// goes back, because messages join the window only above it.
type progress struct {
	window
	next   int64   // the read position: everything below is in the window or finished
	before []Range // settled by an earlier owner, above next
	tried  []Attempt
}

// start begins at the position of g.
func (p *progress) start(g *Grant) {
	p.next = max(g.Offset, 0)
	p.before = normalize(append(p.before[:0], g.Settled...), p.next)
	p.tried = append(p.tried[:0], g.Attempts...)
	p.advance(p.next)
}

// low returns the lowest unfinished offset.
func (p *progress) low() int64 {
	if p.head != 0 {
		return p.at(p.head).Offset
	}
	return p.next
}

// advance moves the read position up to next, and over what was settled there
// by an earlier owner.
func (p *progress) advance(next int64) {
	p.next = max(p.next, next)
	drop := 0
	for drop < len(p.before) && p.before[drop].From <= p.next {
		p.next = max(p.next, p.before[drop].To)
		drop++
	}
	if drop > 0 {
		p.before = p.before[:copy(p.before, p.before[drop:])]
	}
	drop = 0
	for drop < len(p.tried) && p.tried[drop].Offset < p.next {
		drop++
	}
	if drop > 0 {
		p.tried = p.tried[:copy(p.tried, p.tried[drop:])]
	}
}

// settledBefore reports whether an earlier owner settled offset.
func (p *progress) settledBefore(offset int64) bool {
	for _, r := range p.before {
		if offset < r.From {
			return false
		}
		if offset < r.To {
			return true
		}
	}
	return false
}

// triedBefore returns how many attempts of offset an earlier owner ended.
func (p *progress) triedBefore(offset int64) int32 {
	for _, a := range p.tried {
		if a.Offset >= offset {
			if a.Offset == offset {
				return a.Ended
			}
			break
		}
	}
	return 0
}

// settled appends the settled ranges above low.
func (p *progress) settled(dst []Range) []Range {
	for i := p.head; i != 0; i = p.at(i).next {
		r := Range{From: p.at(i).Offset + 1, To: p.next}
		if n := p.at(i).next; n != 0 {
			r.To = p.at(n).Offset
		}
		if r.From < r.To {
			dst = append(dst, r)
		}
	}
	return append(dst, p.before...)
}

// full reports whether nothing more may be read ahead: the settled ranges
// would grow beyond what is stored for a group and queue.
func (p *progress) full() bool {
	digits := 1
	for n := p.next; n > 9; n /= 10 {
		digits++
	}
	return p.n+len(p.before) >= min(maxUnfinished, maxSettledText/(2*digits+2))
}

// normalize sorts out ranges: ascending, apart, not empty, above low.
func normalize(rs []Range, low int64) []Range {
	kept := rs[:0]
	last := int64(math.MinInt64)
	for _, r := range rs {
		r.From = max(r.From, low, last)
		if r.From < r.To {
			kept = append(kept, r)
			last = r.To
		}
	}
	return kept
}
