// SPDX-License-Identifier: Apache-2.0

package changelog

import "sync"

// answers are given by a goroutine of their own, one after the other, so that
// a Done may submit the next record whatever the writer is doing.
type answers struct {
	wake chan struct{}

	mu     sync.Mutex
	due    []answer
	closed bool
}

type answer struct {
	seq  uint64
	err  error
	done func(uint64, error)
}

func newAnswers() answers { return answers{wake: make(chan struct{}, 1)} }

func (a *answers) add(due ...answer) {
	if len(due) == 0 {
		return
	}
	a.mu.Lock()
	a.due = append(a.due, due...)
	a.mu.Unlock()
	poke(a.wake)
}

// run gives answers until close, and then the rest.
func (a *answers) run() {
	var buf []answer
	for open := true; open; {
		<-a.wake
		a.mu.Lock()
		buf, a.due = a.due, buf[:0]
		open = !a.closed
		a.mu.Unlock()
		for _, x := range buf {
			x.done(x.seq, x.err)
		}
		clear(buf)
	}
}

func (a *answers) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	poke(a.wake)
}
