// SPDX-License-Identifier: Apache-2.0

package order

// cacheState counts the messages that are in memory, and says why nothing more
// is read ahead.
type cacheState struct {
	count int
	bytes int64
	why   LaneWhy // LaneHandling: there is room
	since Time
}

// room reports whether more may be read ahead, and notes why not.
func (l *Lane) room(now Time) bool {
	why := LaneHandling
	switch {
	case l.progress.full():
		why = LaneWindowFull
	case l.cacheFull() && !l.evict():
		why = LaneCacheFull
	}
	if why != l.cache.why {
		l.cache.why, l.cache.since = why, now
	}
	return why == LaneHandling
}

func (l *Lane) cacheFull() bool {
	return l.cache.count > l.cfg.MaxCount || l.cache.bytes > l.cfg.MaxBytes
}

// keep notes that the message of s is in memory.
func (l *Lane) keep(st *strand, s *slot) {
	s.kept = true
	st.kept++
	l.cache.count++
	l.cache.bytes += int64(s.Size)
}

// unkeep drops the message of s from memory. It is read again when its turn
// comes.
func (l *Lane) unkeep(st *strand, s *slot) {
	st.kept--
	l.cache.count--
	l.cache.bytes -= int64(s.Size)
	s.kept, s.Ref, s.Size = false, nil, 0
}

// evict drops what waits behind the first message of a blocked key.
func (l *Lane) evict() bool {
	if !l.cfg.ByKey {
		return false
	}
	for i := range l.strands.all {
		st := &l.strands.all[i]
		if i == queueStrand || st.kept < 2 || st.state != strandWaiting && st.state != strandParked {
			continue
		}
		for j := l.at(st.from).after; j != 0; j = l.at(j).after {
			if s := l.at(j); s.kept {
				l.unkeep(st, s)
			}
		}
	}
	return !l.cacheFull()
}

// crowds reports whether one more message of st is better read again later:
// no key may fill the memory that the others need.
func (l *Lane) crowds(st *strand) bool {
	if !l.cfg.ByKey || st.key == 0 || st.n == 0 {
		return false
	}
	tight := l.cache.count >= l.cfg.MaxCount/2 || l.cache.bytes >= l.cfg.MaxBytes/2
	return tight && st.kept >= max(1, l.cfg.MaxCount/32)
}
