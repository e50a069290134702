// SPDX-License-Identifier: Apache-2.0

package order

// Pump does what is due at now: it gives up what is too old and sends what may
// go. Call it after every event and when Next has come.
func (p *Pipe) Pump(now Time, buf []PipeAction) []PipeAction {
	if p.fenced {
		return p.end(ParcelFenced, p.cause, buf)
	}
	for _, q := range p.order {
		buf = p.expire(q, now, buf)
	}
	for _, q := range p.order {
		if q.out == 0 && len(q.frames) > 0 {
			buf = p.resolve(q, now, buf)
		}
	}
	if p.want || p.producer == 0 && !p.stock {
		return p.claim(now, buf)
	}
	for _, q := range p.order {
		buf = p.fill(q, buf)
	}
	return buf
}

// Next is when Pump has something to do though nothing happened.
func (p *Pipe) Next() Time {
	at := Never
	if p.want || p.producer == 0 && !p.stock {
		if !p.claiming && p.quiet() && !p.Idle() {
			at = p.claimAt
		}
	}
	for _, q := range p.order {
		if len(q.waiting) > 0 {
			at = min(at, q.waiting[0].Deadline)
		}
		if len(q.frames) == 0 {
			continue
		}
		if q.out == 0 && !p.want {
			at = min(at, q.retryAt)
		}
		if m := q.oldest(); m != nil {
			if q.out == 0 && !p.want {
				at = min(at, m.Deadline)
			}
			if !p.stock {
				at = min(at, m.Deadline.Add(p.cfg.Patience))
			}
		}
	}
	return at
}

// oldest is the first unanswered parcel whose end was not told.
func (q *pipeQueue) oldest() *Parcel {
	for _, f := range q.frames {
		for _, m := range f.Parcels {
			if !m.told {
				return m
			}
		}
	}
	return nil
}

// expire gives up waiting parcels that are too old, and unanswered ones of which
// the broker has had no word for too long.
func (p *Pipe) expire(q *pipeQueue, now Time, buf []PipeAction) []PipeAction {
	for len(q.waiting) > 0 && q.waiting[0].Deadline <= now {
		m := q.waiting[0]
		q.waiting = q.waiting[1:]
		buf = p.fail(q, m, ParcelLate, false, q.cause, buf)
	}
	if p.stock {
		return buf // resolve does
	}
	for _, f := range q.frames {
		for _, m := range f.Parcels {
			if !m.told && m.Deadline.Add(p.cfg.Patience) <= now {
				m.told = true
				p.bar(q, m)
				buf = p.fail(q, m, ParcelLate, f.open || f.out, q.cause, buf)
			}
		}
	}
	return buf
}

// resolve decides what follows when attempts of q have failed and none is under
// way.
func (p *Pipe) resolve(q *pipeQueue, now Time, buf []PipeAction) []PipeAction {
	if p.want {
		return buf
	}
	open, late := false, false
	for _, f := range q.frames {
		open = open || f.open
		for _, m := range f.Parcels {
			late = late || m.Deadline <= now
		}
	}
	switch {
	case !q.frames[0].refused && !late:
		if now >= q.retryAt {
			buf = q.repeat(buf)
		}
	case p.stock && open:
		buf = p.dissolve(q, p.giveUp(q, now, buf))
	case open:
		p.want = true
	default:
		if f := q.frames[0]; f.Producer != 0 {
			q.next = f.First
		}
		buf = p.expire(q, now, p.dissolve(q, buf))
	}
	return buf
}

// giveUp fails the late parcels of a frame without numbers, and those of their
// keys in it: which of them are stored nobody knows.
func (p *Pipe) giveUp(q *pipeQueue, now Time, buf []PipeAction) []PipeAction {
	for _, f := range q.frames {
		left := f.Parcels[:0:0]
		for _, m := range f.Parcels {
			if m.Deadline > now && !p.isStopped(m) {
				left = append(left, m)
				m.maybe = m.maybe || f.open
				continue
			}
			buf = append(buf, PipeAction{Kind: PipeFailed, Parcel: m, Why: ParcelLate, Maybe: f.open || m.maybe, Cause: q.cause})
			p.halt(m)
		}
		f.Parcels = left
	}
	return buf
}

// repeat sends the unanswered frames again, in order, up to a refused one.
func (q *pipeQueue) repeat(buf []PipeAction) []PipeAction {
	for _, f := range q.frames {
		if f.refused {
			break
		}
		buf = q.send(f, buf)
	}
	return buf
}

func (q *pipeQueue) send(f *Frame, buf []PipeAction) []PipeAction {
	f.out = true
	q.out++
	for _, m := range f.Parcels {
		m.Tries++
	}
	return append(buf, PipeAction{Kind: PipeSend, Frame: f})
}

// dissolve puts what is in frames back to the front of what waits. The parcels
// of a refused frame go alone; one that was alone is given up.
func (p *Pipe) dissolve(q *pipeQueue, buf []PipeAction) []PipeAction {
	var back []*Parcel
	frames := q.frames
	q.frames, q.parcels = nil, 0
	for _, f := range frames {
		for _, m := range f.Parcels {
			switch {
			case m.told:
			case m.barred:
				buf = append(buf, PipeAction{Kind: PipeFailed, Parcel: m, Why: ParcelStopped})
			case f.refused && !f.shared:
				buf = p.fail(q, m, ParcelRefused, false, f.cause, buf)
			default:
				m.single = m.single || f.refused
				back = append(back, m)
			}
		}
	}
	q.waiting = append(back, q.waiting...)
	return p.sweep(q, buf)
}

// fail tells that m is given up, and stops its key.
func (p *Pipe) fail(q *pipeQueue, m *Parcel, why PipeFailure, maybe bool, cause any, buf []PipeAction) []PipeAction {
	buf = append(buf, PipeAction{Kind: PipeFailed, Parcel: m, Why: why, Maybe: maybe || m.maybe, Cause: cause})
	if p.halt(m) {
		buf = p.sweep(q, buf)
	}
	return buf
}

// bar keeps the unanswered parcels behind m, of its key, from being sent again,
// even if the key may go on before the broker's word comes.
func (p *Pipe) bar(q *pipeQueue, m *Parcel) {
	if m.Key == "" || p.cfg.Continue {
		return
	}
	behind := false
	for _, f := range q.frames {
		for _, other := range f.Parcels {
			if behind && other.Key == m.Key {
				other.barred = true
			}
			behind = behind || other == m
		}
	}
}

func (p *Pipe) halt(m *Parcel) bool {
	if m.Key == "" || p.cfg.Continue {
		return false
	}
	p.stopped[m.Key] = true
	return true
}

func (p *Pipe) isStopped(m *Parcel) bool {
	return len(p.stopped) > 0 && m.Key != "" && p.stopped[m.Key]
}

// stop fails m if its key is stopped.
func (p *Pipe) stop(m *Parcel, buf []PipeAction) ([]PipeAction, bool) {
	if !p.isStopped(m) {
		return buf, false
	}
	return append(buf, PipeAction{Kind: PipeFailed, Parcel: m, Why: ParcelStopped, Maybe: m.maybe}), true
}

// sweep fails the waiting parcels of stopped keys.
func (p *Pipe) sweep(q *pipeQueue, buf []PipeAction) []PipeAction {
	kept := q.waiting[:0]
	for _, m := range q.waiting {
		var stopped bool
		if buf, stopped = p.stop(m, buf); !stopped {
			kept = append(kept, m)
		}
	}
	clear(q.waiting[len(kept):])
	q.waiting = kept
	return buf
}

// fill sends what waits, while no frame of the queue has failed.
func (p *Pipe) fill(q *pipeQueue, buf []PipeAction) []PipeAction {
	most := PipeFrames
	if p.stock {
		most = 1
	}
	for len(q.waiting) > 0 && q.out == len(q.frames) && len(q.frames) < most {
		m := q.waiting[0]
		if len(q.frames) > 0 && (m.Oneway || q.frames[0].Parcels[0].Oneway) {
			break
		}
		n := p.share(q)
		if n == 0 {
			break
		}
		f := &Frame{Queue: q.id, Parcels: append([]*Parcel(nil), q.waiting[:n]...), shared: n > 1}
		clear(q.waiting[:n])
		q.waiting = q.waiting[n:]
		if !p.stock && !m.Oneway {
			f.Producer, f.Epoch, f.First = p.producer, p.epoch, q.next
			q.next += uint64(n)
		}
		q.frames = append(q.frames, f)
		q.parcels += n
		buf = q.send(f, buf)
	}
	return buf
}

// share is how many of the waiting parcels make the next frame; 0: there is no
// room now.
func (p *Pipe) share(q *pipeQueue) int {
	room := min(len(q.waiting), PipeMessages-q.parcels)
	if room == 0 {
		return 0
	}
	first := q.waiting[0]
	if first.Share == 0 || first.single || first.Oneway {
		return 1
	}
	n, bytes := 1, first.Size
	for ; n < room; n++ {
		m := q.waiting[n]
		if bytes += m.Size; m.Share != first.Share || m.single || m.Oneway || bytes > p.cfg.MaxBytes {
			break
		}
	}
	return n
}
