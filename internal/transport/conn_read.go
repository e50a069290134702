// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
)

// smallFrame is the largest frame that is served even when the requests of all
// connections have reached their bound: pings, locks, commits and pulls fit.
const smallFrame = 4 << 10

var errStopped = errors.New("transport: reading stopped")

// readAll serves frames until the connection ends or is to stop.
func (c *Conn) readAll() error {
	for {
		if err := c.waitForRoom(); err != nil {
			return err
		}
		h, err := c.frames.next()
		if err != nil {
			return err
		}
		c.received.Add(1)
		if h.cmd.IsResponse() {
			err = c.answered(h)
		} else {
			err = c.requested(h)
		}
		if err != nil {
			return err
		}
	}
}

// waitForRoom waits while the peer has too many unanswered requests.
func (c *Conn) waitForRoom() error {
	for {
		ch := c.serving.full(c.env.limits.MaxInFlightBytes)
		if ch == nil {
			return nil
		}
		select {
		case <-ch:
		case <-c.done:
			return c.ended(true)
		case <-c.stop:
			return errStopped
		}
	}
}

// requested takes a request in and hands it to the handler.
func (c *Conn) requested(h head) error {
	charge := h.size + requestCost
	force := h.size <= smallFrame
	if !c.env.inFlight.take(charge, force) && !force {
		return c.refuse(h)
	}
	if err := c.frames.body(h); err != nil {
		c.env.inFlight.give(charge)
		return err
	}
	c.serving.add(h.cmd, charge)
	if c.env.handler == nil {
		remark := fmt.Sprintf(" request type %d not supported", h.cmd.Code)
		c.tryReply(h.cmd, wire.NewResponse(h.cmd, wire.RequestCodeNotSupported, remark))
		return nil
	}
	c.env.handler.Serve(c, h.cmd)
	if h.cmd.IsOneway() {
		c.tryReply(h.cmd, nil)
	}
	return nil
}

// tryReply answers from the reader. If the connection has ended the reader
// finds out by itself, after it has served what arrived.
func (c *Conn) tryReply(req, resp *wire.Command) { _ = c.Reply(req, resp) }

// refuse answers SYSTEM_BUSY without holding the request's body.
func (c *Conn) refuse(h head) error {
	if !c.refused {
		c.refused = true
		c.env.log.Warn("request refused: the requests in flight of all connections have reached their bound",
			"peer", c.RemoteAddr().String(), "code", h.cmd.Code, "size", h.size, "bound", c.env.inFlight.limit)
	}
	if err := c.frames.skip(h); err != nil {
		return err
	}
	if h.cmd.IsOneway() {
		return nil
	}
	resp := wire.NewResponse(h.cmd, wire.SystemBusy, "[OVERLOAD]system busy, start flow control for a while")
	_ = c.post(resp, WriteOptions{}) // as in tryReply
	return nil
}

// answered completes the call that h answers. An answer nobody waits for is
// dropped without holding its body.
func (c *Conn) answered(h head) error {
	if !c.calls.has(h.cmd.Opaque) {
		c.env.log.Debug("answer without a call dropped", "peer", c.RemoteAddr().String(), "opaque", h.cmd.Opaque)
		return c.frames.skip(h)
	}
	if err := c.frames.body(h); err != nil {
		return err
	}
	if call := c.calls.take(h.cmd.Opaque); call != nil {
		call.done(h.cmd, nil)
	}
	return nil
}

// readClock is the reader's view of time-outs.
type readClock struct {
	armed    time.Time // the read deadline set last
	lastRead time.Time
	began    time.Time // when the present frame was first seen incomplete

	letThrough bool // a poke has found something unread; see poked
}

// readSome reads from the connection, minding its time-outs. It costs no
// system call or timer operation per read: the deadline is set once and worked
// out again when it passes.
func (c *Conn) readSome(b []byte) (int, error) {
	for {
		if err := c.arm(); err != nil {
			return 0, err
		}
		c.poke()
		n, err := c.nc.Read(b)
		if n > 0 {
			c.clock.lastRead, c.clock.letThrough = time.Now(), false
			return n, nil
		}
		select {
		case <-c.stop:
			return 0, errStopped
		default:
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, c.readFailed(err)
		}
		if c.pokes.pending.Load() {
			c.poked()
			continue
		}
		if err := c.expired(time.Now()); err != nil {
			return 0, err
		}
		c.clock.armed = time.Time{}
	}
}

// readFailed prefers the reason of a local close to the error it caused.
func (c *Conn) readFailed(err error) error {
	select {
	case <-c.done:
		return c.ended(true)
	default:
		return err
	}
}

// arm makes sure that the read deadline is not later than the next time-out.
func (c *Conn) arm() error {
	if !c.frames.partial() {
		c.clock.began = time.Time{}
		if !c.clock.armed.IsZero() {
			return nil
		}
	} else if !c.clock.began.IsZero() && !c.clock.armed.IsZero() {
		return nil
	}
	now := time.Now()
	if c.clock.lastRead.IsZero() {
		c.clock.lastRead = now
	}
	if c.frames.partial() && c.clock.began.IsZero() {
		c.clock.began = now
	}
	limit := c.timeout()
	if !c.clock.armed.IsZero() && !c.clock.armed.After(limit) {
		return nil
	}
	c.clock.armed = limit
	if err := c.raw.SetReadDeadline(limit); err != nil {
		return c.readFailed(err)
	}
	select {
	case <-c.stop: // the deadline just set may have undone the one of stopReading
		return errStopped
	default:
		return nil
	}
}

// timeout returns when the connection times out if nothing more is read.
func (c *Conn) timeout() time.Time {
	last := c.clock.lastRead
	if w := c.env.base.Add(time.Duration(c.lastWrite.Load())); w.After(last) {
		last = w
	}
	limit := last.Add(c.env.limits.IdleTimeout)
	if !c.clock.began.IsZero() {
		if frame := c.clock.began.Add(c.frameTimeout()); frame.Before(limit) {
			return frame
		}
	}
	return limit
}

// frameTimeout is how long the present frame may take: FrameTimeout and a
// second for each 256 KiB announced.
func (c *Conn) frameTimeout() time.Duration {
	return c.env.limits.FrameTimeout + time.Duration(c.frames.inside>>18)*time.Second
}

// expired says which time-out has passed, if any.
func (c *Conn) expired(now time.Time) error {
	if c.writeErr.Load() != nil {
		return ErrClosed // run knows the reason
	}
	if now.Before(c.timeout()) {
		return nil
	}
	if !c.clock.began.IsZero() {
		return &FrameError{Reason: fmt.Sprintf("a frame was begun and not ended within %v", c.frameTimeout())}
	}
	return fmt.Errorf("%w: nothing read or written for %v", ErrIdle, c.env.limits.IdleTimeout)
}

// detectTLS looks at the first byte of an accepted connection, when the server
// has TLS, and puts TLS in between if that byte begins a handshake.
func (c *Conn) detectTLS() error {
	if c.env.tls == nil {
		return nil
	}
	if err := c.frames.need(1); err != nil {
		return c.frames.truncated(err, "a TLS handshake")
	}
	const handshake = 0x16
	if c.frames.buf[c.frames.r] != handshake {
		if c.env.tlsMode == TLSEnforcing {
			return &FrameError{Reason: "a plain connection on a port that wants TLS"}
		}
		return nil
	}
	first := append([]byte(nil), c.frames.buf[c.frames.r:c.frames.w]...)
	c.frames.r = c.frames.w
	c.clock.began = time.Time{}
	conn := tls.Server(&replay{Conn: c.raw, first: first}, c.env.tls)
	if err := conn.SetDeadline(time.Now().Add(c.env.limits.FrameTimeout)); err != nil {
		return c.readFailed(err)
	}
	c.clock.armed = time.Time{}
	if err := conn.Handshake(); err != nil { // bounded by the deadline, ended by Close
		return c.readFailed(fmt.Errorf("transport: TLS handshake: %w", err))
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return c.readFailed(err)
	}
	c.nc = conn
	return nil
}

// replay gives back bytes that were read too early.
type replay struct {
	net.Conn
	first []byte
}

// Read implements net.Conn.
func (r *replay) Read(b []byte) (int, error) {
	if len(r.first) == 0 {
		return r.Conn.Read(b)
	}
	n := copy(b, r.first)
	r.first = r.first[n:]
	return n, nil
}
