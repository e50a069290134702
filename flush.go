// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"fmt"
	"slices"
)

// round is the sends that were accepted between two flushes.
type round struct {
	open     int           // accepted and not settled
	over     chan struct{} // closed when a flush waits for it and open is 0
	flushing bool
}

// Flush returns when everything that was accepted before the call is settled,
// stored or not; callbacks have returned then. Sends go out without it: it only
// waits. It must not be called from a callback.
func (p *Producer) Flush(ctx context.Context) error {
	p.mu.Lock()
	if r := p.rounds[len(p.rounds)-1]; r.open > 0 {
		r.flushing = true
		p.rounds = append(p.rounds, newRound())
	}
	before := slices.Clone(p.rounds[:len(p.rounds)-1])
	p.mu.Unlock()
	for _, r := range before {
		select {
		case <-r.over:
		case <-ctx.Done():
			return fmt.Errorf("orderly: flush: %w", context.Cause(ctx))
		}
	}
	return nil
}

func newRound() *round { return &round{over: make(chan struct{})} }

// accept counts one more send, unless the producer is closed.
func (p *Producer) accept(j *job) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.sends.Add(1)
	j.round = p.rounds[len(p.rounds)-1]
	j.round.open++
	return true
}

// settled is the end of a send: its caller knows.
func (p *Producer) settled(j *job) {
	p.mu.Lock()
	r := j.round
	if r.open--; r.open == 0 && r.flushing {
		close(r.over)
		p.rounds = slices.DeleteFunc(p.rounds, func(other *round) bool { return other == r })
	}
	p.mu.Unlock()
	p.sends.Done()
}
