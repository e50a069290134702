// SPDX-License-Identifier: Apache-2.0

package order

// Restore takes in a frame that is on disk: they come in the order of the log,
// some of them perhaps again. It is for a table that admits nothing yet.
func (n *Numbers) Restore(now Time, f *NumberedFrame) {
	m := n.makers[f.Producer]
	if m == nil || f.Epoch > m.epoch {
		return // the producer was forgotten: an epoch is noted before it is used
	}
	p := m.pairs[f.Queue]
	if p == nil {
		if p = n.pair(now, m, f.Queue); p == nil {
			m.forgot = true
			return
		}
		p.epoch = f.Epoch
	}
	switch {
	case f.Epoch < p.epoch || f.Epoch == p.epoch && p.count > 0 && f.First < p.next:
		return // told before
	case f.Epoch > p.epoch:
		p.begin(f.Epoch)
	}
	n.add(p, f.KeptFrame)
}

// Fresh appends the frames of at most limit pairs that were admitted or restored
// since the last call, oldest first in each pair, and reports whether these are
// all. Of each pair it tells no more than are kept.
func (n *Numbers) Fresh(buf []NumberedFrame, limit int) (frames []NumberedFrame, all bool) {
	var last [KeptFrames]KeptFrame
	for i, p := range n.fresh {
		if i == limit {
			n.fresh = append(n.fresh[:0], n.fresh[i:]...)
			return buf, false
		}
		for _, f := range p.kept(last[:0], uint64(p.fresh)) {
			buf = append(buf, NumberedFrame{p.maker.id, p.epoch, p.queue, f})
		}
		p.fresh = 0
	}
	clear(n.fresh)
	n.fresh = n.fresh[:0]
	return buf, true
}

// Expire forgets what was not used for the idle time, at most limit pairs and
// producers, and appends the producers that are gone since the last call, for
// want of room too.
func (n *Numbers) Expire(now Time, limit int, buf []uint64) []uint64 {
	for p := n.idlestPair(); p != nil && limit > 0 && now.Sub(p.used) >= n.cfg.Idle; p = n.idlestPair() {
		n.forgetPair(p)
		limit--
	}
	for m := n.idlestMaker(); m != nil && limit > 0 && now.Sub(m.used) >= n.cfg.Idle; m = n.idlestMaker() {
		n.forgetMaker(m)
		limit--
	}
	buf = append(buf, n.gone...)
	n.gone = n.gone[:0]
	return buf
}

// DropTopic forgets the numbers in a topic's queues: they begin at 0 again.
func (n *Numbers) DropTopic(topic string) {
	for e := n.pairs.Front(); e != nil; {
		p := e.Value.(*numberPair)
		e = e.Next()
		if p.queue.Topic == topic {
			n.dropPair(p)
		}
	}
}

// forgetIdlest makes room for one more producer, if one is idle enough.
func (n *Numbers) forgetIdlest(now Time) bool {
	m := n.idlestMaker()
	if m == nil || now.Sub(m.used) < n.cfg.Busy {
		return false
	}
	n.forgetMaker(m)
	return true
}

func (n *Numbers) forgetMaker(m *numberMaker) {
	for _, p := range m.pairs {
		n.forgetPair(p)
	}
	delete(n.makers, m.id)
	n.gone = append(n.gone, m.id)
	n.idle.Remove(m.at)
}

func (n *Numbers) forgetPair(p *numberPair) {
	if p.epoch == p.maker.epoch {
		p.maker.forgot = true
	}
	n.stats.Forgot++
	n.dropPair(p)
}

func (n *Numbers) dropPair(p *numberPair) {
	delete(p.maker.pairs, p.queue)
	n.pairs.Remove(p.at)
	p.at, p.count, p.fresh = nil, 0, 0 // it may still be in n.fresh
}

func (n *Numbers) touchPair(now Time, p *numberPair) {
	p.used = now
	n.pairs.MoveToBack(p.at)
}

func (n *Numbers) touchMaker(now Time, m *numberMaker) {
	m.used = now
	n.idle.MoveToBack(m.at)
}

func (n *Numbers) idlestPair() *numberPair {
	if e := n.pairs.Front(); e != nil {
		return e.Value.(*numberPair)
	}
	return nil
}

func (n *Numbers) idlestMaker() *numberMaker {
	if e := n.idle.Front(); e != nil {
		return e.Value.(*numberMaker)
	}
	return nil
}

// HasFresh reports whether Fresh has something to tell.
func (n *Numbers) HasFresh() bool { return len(n.fresh) > 0 }
