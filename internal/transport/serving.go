// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"

	"github.com/orderlymq/orderly/internal/wire"
)

// requestCost is what an open request counts on top of its frame.
const requestCost = 512

// keepMap is how large a map may have been to be kept when it is empty: maps do
// not shrink, and an idle connection should hold little.
const keepMap = 64

// serving is the set of requests a connection has handed to its handler and
// that are not answered yet.
type serving struct {
	total *budget // of the server; counts bytes

	mu       sync.Mutex
	open     map[*wire.Command]int // request -> charge
	replying int                   // taken out of open, their answers not yet queued
	bytes    int                   // charges of both
	peak     int                   // most requests in open since it was made
	fewer    chan struct{}         // closed when bytes falls; nil if nobody waits
}

// add takes a request in. It must have been charged to the total already.
func (s *serving) add(req *wire.Command, charge int) {
	s.mu.Lock()
	if s.open == nil {
		s.open = map[*wire.Command]int{}
	}
	s.open[req] = charge
	s.peak = max(s.peak, len(s.open))
	s.bytes += charge
	s.mu.Unlock()
}

// claim takes a request out to answer it, and reports whether it was still
// open. It counts until release.
func (s *serving) claim(req *wire.Command) (charge int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	charge, ok = s.open[req]
	if ok {
		delete(s.open, req)
		s.replying++
		if len(s.open) == 0 && s.peak > keepMap {
			s.open, s.peak = nil, 0
		}
	}
	return charge, ok
}

// release ends a claim.
func (s *serving) release(charge int) {
	s.mu.Lock()
	s.replying--
	s.fell(charge)
	s.mu.Unlock()
}

// clear forgets all requests: the connection is gone and nobody waits for
// their answers.
func (s *serving) clear() {
	s.mu.Lock()
	for _, charge := range s.open {
		s.fell(charge)
	}
	s.open = nil
	s.mu.Unlock()
}

// fell lowers the sums and wakes who waits; s.mu is held.
func (s *serving) fell(n int) {
	s.bytes -= n
	s.total.give(n)
	if s.fewer != nil {
		close(s.fewer)
		s.fewer = nil
	}
}

// full returns a channel that is closed when open requests get fewer, or nil
// if one more may be added: less than limit bytes are open.
func (s *serving) full(limit int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes == 0 || s.bytes < limit {
		return nil
	}
	return s.wait()
}

// busy returns a channel that is closed when open requests get fewer, or nil
// if there are none.
func (s *serving) busy() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open)+s.replying == 0 {
		return nil
	}
	return s.wait()
}

func (s *serving) wait() <-chan struct{} {
	if s.fewer == nil {
		s.fewer = make(chan struct{})
	}
	return s.fewer
}

// count returns how many requests are open and their bytes.
func (s *serving) count() (n, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) + s.replying, s.bytes
}
