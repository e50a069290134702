// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net"
	"sync"

	"github.com/orderlymq/orderly/internal/wire"
)

const (
	// chunkSize is how much one buffer of coalesced frames holds.
	chunkSize = 16 << 10
	// copyLimit is the largest body that is copied next to its header instead
	// of being written from where it is.
	copyLimit = 4 << 10
	// batchSize is how much is written at once; an urgent frame waits for one
	// batch at most.
	batchSize = 256 << 10
)

// chunk is a run of whole frames: coalesced bytes, then at most one body that
// belongs to the last header in buf.
type chunk struct {
	buf     *[]byte // from buffers
	body    []byte
	written []func(error)
}

func (c *chunk) size() int { return len(*c.buf) + len(c.body) }

// buffers lends the memory of chunks, so that an idle connection holds none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, chunkSize); return &b }}

func putBuffer(b *[]byte) {
	if cap(*b) > 4*chunkSize { // one odd header should not stay for ever
		return
	}
	*b = (*b)[:0]
	buffers.Put(b)
}

// lane is a queue of chunks.
type lane struct{ chunks []chunk }

// push adds one frame, given as its encoded part and the body to follow.
func (l *lane) push(head, body []byte, written func(error)) {
	last := len(l.chunks) - 1
	if last < 0 || l.chunks[last].body != nil || len(*l.chunks[last].buf)+len(head) > chunkSize {
		l.chunks = append(l.chunks, chunk{buf: buffers.Get().(*[]byte)})
		last++
	}
	c := &l.chunks[last]
	*c.buf = append(*c.buf, head...)
	c.body = body
	if written != nil {
		c.written = append(c.written, written)
	}
}

// pop moves chunks to batch until it holds batchSize bytes, and returns its
// size.
func (l *lane) pop(batch []chunk, size int) ([]chunk, int) {
	n := 0
	for n < len(l.chunks) && size < batchSize {
		size += l.chunks[n].size()
		batch = append(batch, l.chunks[n])
		n++
	}
	left := copy(l.chunks, l.chunks[n:])
	clear(l.chunks[left:])
	l.chunks = l.chunks[:left]
	if left == 0 && cap(l.chunks) > 64 {
		l.chunks = nil
	}
	return batch, size
}

// outbox is what waits to be written to one peer. Urgent frames go first.
type outbox struct {
	total *budget
	limit int
	wake  chan struct{} // one token: there is something to write

	mu     sync.Mutex
	urgent lane
	normal lane
	queued int           // bytes in both lanes and in the batch being written
	closed error         // set once nothing is accepted any more
	empty  chan struct{} // closed when queued falls to 0; nil if nobody waits
}

// fairQueue is what a connection may have waiting while the total is used up.
const fairQueue = 1 << 20

// put queues one frame. A full outbox returns ErrSlowPeer.
func (o *outbox) put(head, body []byte, urgent bool, written func(error)) error {
	n := len(head) + len(body)
	o.mu.Lock()
	if o.closed != nil {
		err := o.closed
		o.mu.Unlock()
		return err
	}
	if o.queued > o.limit || !o.total.take(n, o.queued < fairQueue) && o.queued >= fairQueue {
		o.mu.Unlock()
		return ErrSlowPeer
	}
	if urgent {
		o.urgent.push(head, body, written)
	} else {
		o.normal.push(head, body, written)
	}
	o.queued += n
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// take returns the next batch to write, urgent frames first.
func (o *outbox) take(batch []chunk) ([]chunk, int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	batch, size := o.urgent.pop(batch, 0)
	return o.normal.pop(batch, size)
}

// done accounts for a batch that was written or failed with err, and gives its
// memory back.
func (o *outbox) done(batch []chunk, size int, err error) {
	for i := range batch {
		putBuffer(batch[i].buf)
		for _, f := range batch[i].written {
			f(err)
		}
	}
	clear(batch)
	o.total.give(size)
	o.mu.Lock()
	o.queued -= size
	if o.queued == 0 && o.empty != nil {
		close(o.empty)
		o.empty = nil
	}
	o.mu.Unlock()
}

// refuse makes put fail with err from now on.
func (o *outbox) refuse(err error) {
	o.mu.Lock()
	if o.closed == nil {
		o.closed = err
	}
	o.mu.Unlock()
}

// drop forgets what waits, telling err to who asked.
func (o *outbox) drop(err error) {
	for {
		batch, size := o.take(nil)
		if len(batch) == 0 {
			return
		}
		o.done(batch, size, err)
	}
}

// drained returns a channel that is closed once everything put so far has been
// written, or nil if nothing waits.
func (o *outbox) drained() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.queued == 0 {
		return nil
	}
	if o.empty == nil {
		o.empty = make(chan struct{})
	}
	return o.empty
}

func (o *outbox) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queued
}

// scratch lends memory to encode a frame in before it is queued.
var scratch = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// encode appends cmd to dst: the whole frame if its body is small, else the
// header, and returns the body to write behind it.
func encode(dst []byte, cmd *wire.Command) (head, body []byte, err error) {
	if len(cmd.Body) <= copyLimit {
		head, err = wire.AppendFrame(dst, cmd)
		return head, nil, err
	}
	head, err = wire.AppendHeader(dst, cmd, len(cmd.Body))
	return head, cmd.Body, err
}

// vector lists the slices of a batch for one writev.
func vector(v net.Buffers, batch []chunk) net.Buffers {
	for i := range batch {
		v = append(v, *batch[i].buf)
		if batch[i].body != nil {
			v = append(v, batch[i].body)
		}
	}
	return v
}
