// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
)

// WriteOptions says how a frame is written.
type WriteOptions struct {
	// Urgent puts the frame ahead of everything queued, but behind other
	// urgent ones. Pings and their answers use it.
	Urgent bool
	// Written, if set, is called exactly once, when the frame's bytes are no
	// longer needed: after they were written (nil), or when they will not be.
	// It must not wait.
	Written func(error)
}

// CallOptions says how a call is made.
type CallOptions struct {
	// Deadline ends the call with ErrTimeout; zero waits as long as the
	// connection lives.
	Deadline time.Time
	Urgent   bool
}

// Reply answers a request of this connection. It sets the answer's opaque and
// response flag and encodes it before it returns; a body of more than 4 KiB is
// not copied and must stay as it is until it is written. The answer to a
// one-way request is dropped. A nil answer closes the request without one. An
// error means that the answer will not arrive: the connection has ended, or
// the request has been answered before (ErrAnswered).
func (c *Conn) Reply(req, resp *wire.Command) error { return c.ReplyWith(req, resp, WriteOptions{}) }

// ReplyWith is Reply with options.
func (c *Conn) ReplyWith(req, resp *wire.Command, o WriteOptions) error {
	charge, ok := c.serving.claim(req)
	if ok {
		defer c.serving.release(charge)
	}
	var err error
	switch {
	case req.IsOneway() || resp == nil:
	case ok:
		resp.Opaque = req.Opaque
		resp.Flag |= wire.FlagResponse
		return c.post(resp, o)
	default:
		if err = c.Err(); err == nil { // a request of an ended connection is not open either
			err = ErrAnswered
		}
	}
	if o.Written != nil {
		o.Written(err)
	}
	return err
}

// Send queues a frame that gets no answer. A request gets an opaque and the
// one-way flag; a response goes as it is.
func (c *Conn) Send(cmd *wire.Command) error { return c.SendWith(cmd, WriteOptions{}) }

// SendWith is Send with options.
func (c *Conn) SendWith(cmd *wire.Command, o WriteOptions) error {
	if !cmd.IsResponse() {
		cmd.Flag |= wire.FlagOneway
		cmd.Opaque = c.calls.reserve()
	}
	return c.post(cmd, o)
}

// Call sends a request and waits for its answer, until ctx ends. An answer
// with an error code is an answer. The request is encoded before Call waits;
// its body must stay as it is until Call returns.
func (c *Conn) Call(ctx context.Context, cmd *wire.Command) (*wire.Command, error) {
	return c.CallWith(ctx, cmd, CallOptions{})
}

// CallWith is Call with options.
func (c *Conn) CallWith(ctx context.Context, cmd *wire.Command, o CallOptions) (*wire.Command, error) {
	type result struct {
		resp *wire.Command
		err  error
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	answer := make(chan result, 1)
	cl := &call{deadline: o.Deadline, done: func(resp *wire.Command, err error) { answer <- result{resp, err} }}
	if err := c.start(cl, cmd, o); err != nil {
		return nil, err
	}
	var err error
	select {
	case r := <-answer:
		return r.resp, r.err
	case <-ctx.Done():
		err = fmt.Errorf("%w: %w", ErrTimeout, context.Cause(ctx))
	case <-c.done:
		err = c.ended(true)
	}
	if c.calls.take(cl.opaque) == nil { // its end is under way
		r := <-answer
		return r.resp, r.err
	}
	return nil, err
}

// CallAsync sends a request and gives its answer to done: exactly once, from
// another goroutine, or before CallAsync returns if the request could not be
// queued. done must not wait and must not be called with a lock held that it
// takes. A zero deadline waits as long as the connection lives.
func (c *Conn) CallAsync(cmd *wire.Command, deadline time.Time, done func(*wire.Command, error)) {
	c.CallAsyncWith(cmd, CallOptions{Deadline: deadline}, done)
}

// CallAsyncWith is CallAsync with options.
func (c *Conn) CallAsyncWith(cmd *wire.Command, o CallOptions, done func(*wire.Command, error)) {
	if err := c.start(&call{deadline: o.Deadline, done: done}, cmd, o); err != nil {
		done(nil, err)
	}
}

// start opens a call and queues its request. After an error the call's done
// has not run and will not.
func (c *Conn) start(cl *call, cmd *wire.Command, o CallOptions) error {
	if err := c.calls.add(cl); err != nil {
		return c.notSent(err)
	}
	cmd.Opaque = cl.opaque
	cmd.Flag &^= wire.FlagResponse | wire.FlagOneway
	err := c.post(cmd, WriteOptions{Urgent: o.Urgent})
	if err != nil && c.calls.take(cl.opaque) == nil {
		return nil // the connection's end has run done already
	}
	return err
}

func (c *Conn) notSent(err error) error {
	if errors.Is(err, ErrNotSent) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNotSent, err)
}

// post encodes a frame and queues it. Written is called whatever happens.
func (c *Conn) post(cmd *wire.Command, o WriteOptions) error {
	buf := scratch.Get().(*[]byte)
	head, body, err := encode((*buf)[:0], cmd)
	if err == nil {
		err = c.out.put(head, body, o.Urgent, o.Written)
	}
	if cap(head) <= 4*chunkSize {
		*buf = head[:0]
		scratch.Put(buf)
	}
	if err == nil {
		return nil
	}
	if o.Written != nil {
		o.Written(err)
	}
	if errors.Is(err, ErrSlowPeer) {
		c.end(fmt.Errorf("%w: %d bytes wait to be written", ErrSlowPeer, c.out.size()))
		err = c.ended(false)
	}
	return c.notSent(err)
}

// write is the writer goroutine.
func (c *Conn) write() {
	var batch []chunk
	var v net.Buffers
	for {
		var size int
		if batch, size = c.out.take(batch[:0]); len(batch) == 0 {
			if cap(batch) > 8 {
				batch, v = nil, nil // an idle connection holds little
			}
			select {
			case <-c.out.wake:
				continue
			case <-c.done:
				c.out.drop(c.ended(false))
				return
			}
		}
		v = vector(v[:0], batch)
		err := c.writeBatch(v, size)
		c.out.done(batch, size, err)
		if err != nil {
			c.writeFailed(err)
			return
		}
	}
}

// writeBatch writes the slices of v, size bytes, with as few system calls as
// there can be. Large bodies get a second more for each 256 KiB.
func (c *Conn) writeBatch(v net.Buffers, size int) error {
	limit := c.env.limits.WriteTimeout + time.Duration(size>>18)*time.Second
	if err := c.nc.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	_, err := v.WriteTo(c.nc)
	c.lastWrite.Store(int64(time.Since(c.env.base)))
	return err
}

// writeFailed stops writing for good. A peer that is too slow is closed; one
// that is gone is read to its end first, so that what it sent before is served.
func (c *Conn) writeFailed(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.end(fmt.Errorf("%w: it did not take what was written in time", ErrSlowPeer))
	}
	c.writeErr.Store(&err)
	ended := &closedError{cause: err}
	c.out.refuse(ended)
	c.calls.refuse(ended)
	c.out.drop(ended)
	_ = c.raw.SetReadDeadline(time.Now().Add(time.Second))
}
