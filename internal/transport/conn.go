// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// env is what the connections of one server, pool or dialer share.
type env struct {
	handler  Handler // nil refuses all requests
	limits   Limits
	log      *slog.Logger
	onOpen   func(*Conn)
	onClose  func(*Conn, error)
	inFlight budget
	queued   budget
	base     time.Time // lastWrite counts from here, on the monotonic clock
	tls      *tls.Config
	tlsMode  TLSMode
}

// Conn is one connection, of either side. Its methods may be called from any
// goroutine and, unless they say so, do not wait for the peer.
type Conn struct {
	id  uint64
	env *env
	raw net.Conn // as dialed or accepted
	nc  net.Conn // raw or TLS over it; set before the writer starts

	frames  *frameReader
	clock   readClock
	serving serving
	out     outbox
	calls   calls
	pokes   pokes

	lastWrite atomic.Int64 // since env.base
	writeErr  atomic.Pointer[error]
	value     atomic.Pointer[any]
	refused   bool         // the reader has logged a refusal
	received  atomic.Int64 // frames
	opened    atomic.Bool  // TLS, if any, is set up

	endOnce   sync.Once
	cause     error         // set before done is closed
	done      chan struct{} // closed when the connection has ended
	stopOnce  sync.Once
	stopCause error         // set before stop is closed
	stop      chan struct{} // closed to make the reader stop between frames
	finished  chan struct{} // closed after OnClose
	writer    sync.WaitGroup
}

func newConn(e *env, id uint64, nc net.Conn) *Conn {
	c := &Conn{
		id: id, env: e, raw: nc, nc: nc,
		done:     make(chan struct{}),
		stop:     make(chan struct{}),
		finished: make(chan struct{}),
	}
	c.serving.total = &e.inFlight
	c.out.total, c.out.limit, c.out.wake = &e.queued, e.limits.MaxQueuedBytes, make(chan struct{}, 1)
	c.calls.limit = e.limits.MaxCalls
	c.frames = newFrameReader(c.readSome, e.limits)
	return c
}

// ID is a number no other connection of the same server or pool has had.
func (c *Conn) ID() uint64 { return c.id }

// RemoteAddr returns the peer's address.
func (c *Conn) RemoteAddr() net.Addr { return c.raw.RemoteAddr() }

// LocalAddr returns this end's address.
func (c *Conn) LocalAddr() net.Addr { return c.raw.LocalAddr() }

// SetValue keeps one value of the user's with the connection.
func (c *Conn) SetValue(v any) { c.value.Store(&v) }

// Value returns what SetValue kept, or nil.
func (c *Conn) Value() any {
	if v := c.value.Load(); v != nil {
		return *v
	}
	return nil
}

// Done is closed when the connection has ended. If the peer ended it, all
// that had arrived has been served by then.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns nil while the connection lives, and then why it ended.
func (c *Conn) Err() error {
	select {
	case <-c.done:
		return c.ended(false)
	default:
		return nil
	}
}

// Queued returns how many bytes wait to be written to the peer.
func (c *Conn) Queued() int { return c.out.size() }

// Requests returns how many requests of the peer are unanswered, and their
// bytes.
func (c *Conn) Requests() (n, bytes int) { return c.serving.count() }

// Calls returns how many calls of this side are open.
func (c *Conn) Calls() int { return c.calls.count() }

// Close ends the connection at once, giving the reason to OnClose and to open
// calls. What is queued may be lost. It does not wait; see Wait.
func (c *Conn) Close(cause error) { c.end(cause) }

// Wait returns after OnClose has returned. It must not be called from the
// connection's Handler, OnOpen or OnClose.
func (c *Conn) Wait() { <-c.finished }

// Shutdown stops reading, waits until every request accepted has been answered
// and everything queued is written, closes, and waits for OnClose. When ctx
// ends first it closes at once.
func (c *Conn) Shutdown(ctx context.Context, cause error) error {
	c.stopReading(cause)
	select {
	case <-c.finished:
		return nil
	case <-ctx.Done():
		c.end(cause)
		<-c.finished
		return fmt.Errorf("transport: close of %v cut short: %w", c.RemoteAddr(), ctx.Err())
	}
}

// stopReading makes the reader end between two frames and then drain.
func (c *Conn) stopReading(cause error) {
	c.stopOnce.Do(func() {
		c.stopCause = cause
		close(c.stop)
		_ = c.raw.SetReadDeadline(past)
	})
}

// past is a read deadline that wakes a reader at once.
var past = time.Unix(1, 0)

// end closes the connection, once.
func (c *Conn) end(cause error) {
	c.endOnce.Do(func() {
		c.cause = cause
		c.out.refuse(c.ended(false))
		c.calls.refuse(c.ended(false))
		close(c.done)
		_ = c.raw.Close()
	})
}

// ended is the error for users of an ended connection; sent says whether the
// peer may have seen the request.
func (c *Conn) ended(sent bool) error { return &closedError{cause: c.cause, sent: sent} }

// run is the reader goroutine; it owns the connection's life.
func (c *Conn) run() {
	err := c.detectTLS()
	if err == nil {
		c.opened.Store(true)
		c.writer.Go(c.write)
		if c.env.onOpen != nil {
			c.env.onOpen(c)
		}
		err = c.readAll()
	}
	if errors.Is(err, errStopped) {
		c.drain()
		err = c.stopCause
	}
	if werr := c.writeErr.Load(); werr != nil {
		err = *werr
	}
	c.end(err)
	c.writer.Wait()
	c.calls.fail(c.ended(true))
	c.serving.clear()
	c.frames.release()
	c.report()
	if c.env.onClose != nil {
		c.env.onClose(c, c.cause)
	}
	close(c.finished)
}

// drain waits until what was accepted is answered and written, then tells the
// peer and gives it a moment to close first: a close with unread bytes would
// make the kernel reset the connection and lose answers on their way.
func (c *Conn) drain() {
	for ch := c.serving.busy(); ch != nil; ch = c.serving.busy() {
		if !c.waitFor(ch) {
			return
		}
	}
	for ch := c.out.drained(); ch != nil; ch = c.out.drained() {
		if !c.waitFor(ch) {
			return
		}
	}
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	_ = c.raw.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.Copy(io.Discard, c.raw)
}

// lingerTime bounds how long a drained connection waits for the peer's close.
const lingerTime = 200 * time.Millisecond

// waitFor returns true when ch is closed and false when the connection ends.
func (c *Conn) waitFor(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	case <-c.done:
		return false
	}
}

// report logs an end that somebody should know of.
func (c *Conn) report() {
	cause := c.cause
	switch {
	case cause == nil, errors.Is(cause, io.EOF), errors.Is(cause, ErrShutdown):
		c.env.log.Debug("connection closed", "peer", c.RemoteAddr().String(), "cause", cause)
	case isFrameError(cause):
		c.env.log.Warn("connection closed: the peer sent what is no frame", "peer", c.RemoteAddr().String(), "cause", cause)
	case errors.Is(cause, ErrSlowPeer):
		c.env.log.Warn("connection closed: the peer is too slow", "peer", c.RemoteAddr().String(), "cause", cause)
	default:
		c.env.log.Info("connection closed", "peer", c.RemoteAddr().String(), "cause", cause)
	}
}

func isFrameError(err error) bool {
	_, ok := errors.AsType[*FrameError](err)
	return ok
}
