// SPDX-License-Identifier: Apache-2.0

package broker

import "sync"

// pool runs functions on at most size goroutines, which exist only while there
// is something to do. Disk reads of pulls run here, so that neither a
// connection nor the store's writer waits for them.
type pool struct {
	size int
	wg   sync.WaitGroup

	mu      sync.Mutex
	running int
	queue   []func()
	closed  bool
}

func newPool(size int) *pool { return &pool{size: size} }

// run has f run soon. It reports false once the pool is closed. The queue is
// bounded by what feeds it: held pulls and requests in flight, both limited.
func (p *pool) run(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	if p.running == p.size {
		p.queue = append(p.queue, f)
		return true
	}
	p.running++
	p.wg.Go(func() { p.work(f) })
	return true
}

func (p *pool) work(f func()) {
	for {
		f()
		p.mu.Lock()
		if len(p.queue) == 0 {
			p.queue = nil
			p.running--
			p.mu.Unlock()
			return
		}
		f = p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		p.mu.Unlock()
	}
}

// close refuses further functions and waits for the accepted ones.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.wg.Wait()
}
