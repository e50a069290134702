// SPDX-License-Identifier: Apache-2.0

package order

// locked handles the answer to a lock request: what it names is held, what it
// was asked for and does not name is not.
func (c *Claims) locked(now Time, ev *ClaimEvent, buf *[]ClaimAction) {
	if ev.ID == 0 || ev.ID != c.lock {
		return
	}
	c.lock = 0
	for i := range ev.Grants {
		if cl := c.byQueue[ev.Grants[i].Queue]; cl != nil && cl.answered() {
			c.granted(cl, &ev.Grants[i], buf)
		}
	}
	for _, cl := range c.sorted {
		if cl.answered() {
			c.refused(now, cl, buf)
		}
		cl.inLock, cl.stale = false, false
	}
	c.noticed = false
	c.sweep(now)
}

// answered reports, once per lock request, whether its answer says anything
// about the queue.
func (cl *claim) answered() bool {
	was := cl.inLock && !cl.stale
	if was {
		cl.inLock = false
	}
	return was
}

func (c *Claims) granted(cl *claim, g *Grant, buf *[]ClaimAction) {
	cl.mayHold = true
	switch {
	case cl.state == claimIdle && !cl.wanted:
	case cl.state == claimIdle:
		cl.state, cl.epoch = claimHeld, g.Epoch
		cl.tryAt = c.again()
		*buf = append(*buf, ClaimAction{Kind: ClaimStart, Queue: cl.queue, Grant: *g, Until: c.until()})
	case cl.state != claimHeld && cl.state != claimLeaving:
	case g.Epoch != cl.epoch:
		c.lose(cl, buf) // it was lost in between: others may have had it
	default:
		cl.tryAt = c.again()
		*buf = append(*buf, ClaimAction{Kind: ClaimGo, Queue: cl.queue, Until: c.until()})
	}
}

// again returns when a lock just granted is to be asked for again, and until
// how long it counts.
func (c *Claims) again() Time {
	if c.cfg.Stock {
		return c.lockAt.Add(stockRefresh)
	}
	return Never
}

func (c *Claims) until() Time {
	if c.cfg.Stock {
		return c.lockAt.Add(stockValid)
	}
	return Never
}

func (c *Claims) refused(now Time, cl *claim, buf *[]ClaimAction) {
	switch cl.state {
	case claimIdle:
		cl.tryAt = now.Add(c.cfg.RetryEvery)
		if c.noticed {
			cl.tryAt = now
		}
	case claimHeld, claimLeaving:
		c.lose(cl, buf)
	}
}

func (c *Claims) lose(cl *claim, buf *[]ClaimAction) {
	cl.state = claimLost
	*buf = append(*buf, ClaimAction{Kind: ClaimLost, Queue: cl.queue})
}

// failed handles a request without an answer. Nothing is known of its effect:
// what is held counts until its time ends, what was asked for is asked again
// or, if nobody wants it any more, unlocked.
func (c *Claims) failed(now Time, id uint64) {
	if id == 0 {
		return
	}
	switch id {
	case c.lock:
		c.lock = 0
		for _, cl := range c.sorted {
			c.lockFailed(now, cl)
		}
	case c.unlock:
		c.unlock = 0
		for _, cl := range c.sorted {
			c.unlockFailed(now, cl)
		}
	}
	c.sweep(now)
}

func (c *Claims) lockFailed(now Time, cl *claim) {
	if !cl.inLock {
		return
	}
	cl.inLock, cl.stale = false, false
	cl.mayHold = true
	cl.tryAt = now.Add(c.cfg.RetryEvery)
}

func (c *Claims) unlockFailed(now Time, cl *claim) {
	if !cl.inFree {
		return
	}
	cl.inFree = false
	cl.tryAt = now.Add(c.cfg.RetryEvery)
	cl.fails++
	if c.cfg.Stock && cl.fails >= unlockRetries {
		cl.mayHold = false
	}
	if cl.wanted || !cl.mayHold {
		cl.state, cl.overrun = claimIdle, false
	}
}

func (c *Claims) unlocked(now Time, id uint64) {
	if id == 0 || id != c.unlock {
		return
	}
	c.unlock = 0
	for _, cl := range c.sorted {
		if cl.inFree {
			cl.inFree, cl.mayHold, cl.overrun, cl.state, cl.tryAt = false, false, false, claimIdle, now
		}
	}
	c.sweep(now)
}

// released handles the end of a lane. A queue that is wanted again keeps its
// lease and begins anew with the position that the next lock names; the answer
// to a lock sent before may name an older one.
func (c *Claims) released(now Time, ev *ClaimEvent) {
	cl := c.byQueue[ev.Queue]
	if cl == nil || cl.state == claimIdle || cl.state == claimUnlocking {
		return
	}
	cl.stale = cl.inLock
	cl.tryAt, cl.fails = now, 0
	cl.state, cl.overrun = claimIdle, ev.Overrun
	if ev.Overrun {
		cl.state = claimUnlocking
	}
	c.sweep(now)
}
