// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"time"
)

// Producer sends messages. Its methods may be called from several goroutines;
// "call order" below is the order in which calls of one key were made, so
// order between goroutines is the caller's business.
type Producer struct {
	c   *Client
	cfg ProducerConfig
}

// Send stores m and says where. If ctx ends first it returns ctx's error while
// the send goes on until DeliveryTimeout, in its place in the key's order.
func (p *Producer) Send(ctx context.Context, m *Message) (Receipt, error) {
	return Receipt{}, errors.ErrUnsupported
}

// SendAsync takes m in call order and returns; done (which may be nil) runs
// once, on another goroutine, when m is stored or given up. It waits for room
// when too much is pending, at most until ctx ends. m must not be changed
// before done runs.
func (p *Producer) SendAsync(ctx context.Context, m *Message, done func(Receipt, error)) {
}

// SendOneway writes m to the broker's connection and asks for no answer:
// nobody will know whether it was stored. Its place in the order of its key is
// kept against the calls before it, no more.
func (p *Producer) SendOneway(ctx context.Context, m *Message) error { return errors.ErrUnsupported }

// SendBatch stores messages of one topic with one request per queue. Messages
// of one key keep their order. On failure the error is a *BatchError and the
// receipts of the stored messages are there.
func (p *Producer) SendBatch(ctx context.Context, ms []*Message) ([]Receipt, error) {
	return nil, errors.ErrUnsupported
}

// Resume lets a stopped key go on. It reports whether the key was stopped.
func (p *Producer) Resume(topic, key string) bool { return false }

// StoppedKey is a key that a failed message stopped.
type StoppedKey struct {
	Topic       string
	OrderingKey string
	Since       time.Time
	Cause       error
}

// Stopped lists the stopped keys, oldest first.
func (p *Producer) Stopped() []StoppedKey { return nil }

// Close refuses new messages and returns when the accepted ones are settled;
// messages that are still unsent when ctx ends fail with ErrClosed.
func (p *Producer) Close(ctx context.Context) error { return errors.ErrUnsupported }
