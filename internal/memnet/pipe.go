// SPDX-License-Identifier: Apache-2.0

package memnet

import "time"

// segment is a run of bytes on its way, or the end of the stream.
type segment struct {
	data []byte
	at   time.Time // when it can be read; the zero time is at once
	held bool      // sent into a blocked way; at is set when the block ends
	fin  bool
}

// pipe is one direction of a connection. All fields are guarded by the pair's
// mutex. Segments arrive in their order: the first one not ready holds back
// the ones behind it.
type pipe struct {
	segs       []segment
	size       int // bytes in segs, at most bufferSize
	rule       rule
	swallowing bool // Blackhole: nothing arrives any more
	finSent    bool
	readerGone bool
	arrival    *time.Timer // wakes the reader when a delayed segment is ready
}

// setRule takes over a changed rule: a block holds what has not arrived yet,
// the end of a block sends it again.
func (p *pipe) setRule(r rule) {
	was := p.rule
	p.rule = r
	if was.blocked == r.blocked {
		return
	}
	now := time.Now()
	for i := range p.segs {
		s := &p.segs[i]
		switch {
		case r.blocked && s.at.After(now):
			s.held = true
		case !r.blocked && s.held:
			s.held, s.at = false, now.Add(r.delay)
		}
	}
}

// push sends up to the room there is and returns how many bytes were taken.
func (p *pipe) push(b []byte) int {
	if p.swallowing {
		return len(b)
	}
	n := min(len(b), bufferSize-p.size)
	if n == 0 {
		return 0
	}
	p.size += n
	if last := len(p.segs) - 1; last >= 0 && p.plain() && p.segs[last].at.IsZero() && !p.segs[last].held {
		p.segs[last].data = append(p.segs[last].data, b[:n]...)
		return n
	}
	p.segs = append(p.segs, p.stamp(segment{data: append([]byte(nil), b[:n]...)}))
	return n
}

func (p *pipe) plain() bool { return p.rule == rule{} }

func (p *pipe) stamp(s segment) segment {
	s.held = p.rule.blocked
	if p.rule.delay > 0 {
		s.at = time.Now().Add(p.rule.delay)
	}
	return s
}

// finish sends the end of the stream behind everything sent before.
func (p *pipe) finish() {
	if !p.finSent && !p.swallowing {
		p.segs = append(p.segs, p.stamp(segment{fin: true}))
	}
	p.finSent = true
}

// swallow loses what has not arrived and all that will be sent.
func (p *pipe) swallow() {
	p.swallowing = true
	ready := 0
	now := time.Now()
	for ready < len(p.segs) && !p.segs[ready].held && !p.segs[ready].at.After(now) {
		ready++
	}
	for _, s := range p.segs[ready:] {
		p.size -= len(s.data)
	}
	p.segs = p.segs[:ready]
}

// pull reads what has arrived. eof reports the end of the stream; next is when
// the first segment will be ready, zero if nobody knows.
func (p *pipe) pull(b []byte) (n int, eof bool, next time.Time) {
	now := time.Now()
	for n < len(b) && len(p.segs) > 0 {
		s := &p.segs[0]
		if s.held {
			break
		}
		if s.at.After(now) {
			next = s.at
			break
		}
		if s.fin {
			eof = n == 0
			break
		}
		k := copy(b[n:], s.data)
		n += k
		p.size -= k
		if s.data = s.data[k:]; len(s.data) == 0 {
			p.segs = p.segs[1:]
		}
	}
	if len(p.segs) == 0 {
		p.segs = nil // an idle connection holds no buffer
	}
	return n, eof, next
}

// buffered returns how many bytes have arrived and are unread.
func (p *pipe) buffered() int {
	now, n := time.Now(), 0
	for _, s := range p.segs {
		if s.held || s.at.After(now) {
			break
		}
		n += len(s.data)
	}
	return n
}
