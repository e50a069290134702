// SPDX-License-Identifier: Apache-2.0

package order

// PipeGrant is the answer to a claim.
type PipeGrant struct {
	Producer uint64 // 0: a stock broker
	Epoch    uint32
	// Stored tells whether number n of the epoch that was claimed from is stored
	// in q, and at which offset (-1: unknown).
	Stored func(q Queue, n uint64) (stored bool, offset int64)
}

// claim asks for an identity or the next epoch, when no attempt is under way.
func (p *Pipe) claim(now Time, buf []PipeAction) []PipeAction {
	if p.claiming || now < p.claimAt || !p.quiet() || p.Idle() {
		return buf
	}
	a := PipeAction{Kind: PipeClaim}
	if !p.anew {
		a.Producer, a.Epoch = p.producer, p.epoch
	}
	for _, q := range p.order {
		if len(q.frames) > 0 && a.Producer != 0 {
			a.Queues = append(a.Queues, q.id)
		}
	}
	p.claiming = true
	return append(buf, a)
}

// quiet reports whether no attempt is under way.
func (p *Pipe) quiet() bool {
	for _, q := range p.order {
		if q.out > 0 {
			return false
		}
	}
	return true
}

// ClaimFailed is a claim without an answer, or a refusal that may pass.
func (p *Pipe) ClaimFailed(now Time) {
	p.claiming = false
	p.wait = max(p.cfg.First, min(2*p.wait, p.cfg.Last))
	p.claimAt = now.Add(p.wait)
}

// ClaimFenced is the refusal of a claim from an epoch that is not the latest.
func (p *Pipe) ClaimFenced(cause any, buf []PipeAction) []PipeAction {
	p.claiming = false
	return p.fence(cause, buf)
}

// Granted starts a new epoch: what is stored of the old one is settled, the
// rest is numbered anew.
func (p *Pipe) Granted(g PipeGrant, buf []PipeAction) []PipeAction {
	known := p.producer != 0 && !p.anew
	p.producer, p.epoch, p.stock = g.Producer, g.Epoch, g.Producer == 0
	p.claiming, p.want, p.anew, p.wait, p.claimAt = false, false, false, 0, 0
	for _, q := range p.order {
		buf = p.renew(q, known, g, buf)
	}
	return buf
}

func (p *Pipe) renew(q *pipeQueue, known bool, g PipeGrant, buf []PipeAction) []PipeAction {
	kept := q.frames[:0]
	for _, f := range q.frames {
		left := f.Parcels[:0:0]
		for i, m := range f.Parcels {
			stored, offset := false, int64(-1)
			if known && f.Producer != 0 {
				stored, offset = g.Stored(q.id, f.First+uint64(i))
			}
			switch {
			case m.told:
			case stored:
				buf = append(buf, PipeAction{Kind: PipeFound, Parcel: m, Queue: q.id, Offset: offset})
			case !known && f.open:
				buf = append(buf, PipeAction{Kind: PipeFailed, Parcel: m, Why: ParcelForgotten, Maybe: true, Cause: f.cause})
				p.halt(m)
			default:
				left = append(left, m)
			}
		}
		if f.Parcels = left; len(left) > 0 {
			kept = append(kept, f)
		}
	}
	q.frames = kept
	buf = p.dissolve(q, buf)
	q.next, q.stored, q.retryAt = 0, 0, 0
	return buf
}
