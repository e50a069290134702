// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"net"
	"time"
)

// deadline is a point in time that wakes the waiting calls; guarded by pair.mu.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

func (d *deadline) set(at time.Time, wake func()) {
	d.stop()
	d.at = at
	if left := time.Until(at); !at.IsZero() && left > 0 {
		d.timer = time.AfterFunc(left, wake)
	}
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.setDeadlines(t, &c.read, &c.write) }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.setDeadlines(t, &c.read) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, &c.write) }

func (c *conn) setDeadlines(t time.Time, ds ...*deadline) error {
	c.pair.mu.Lock()
	defer c.pair.mu.Unlock()
	if c.closed {
		return c.failed("set", net.ErrClosed)
	}
	for _, d := range ds {
		d.set(t, c.pair.wake)
	}
	c.pair.cond.Broadcast()
	return nil
}
