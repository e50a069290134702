// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"

	"github.com/orderlymq/orderly/internal/msg"
)

// Client is the connection to one cluster, shared by producers and consumers.
// Its methods may be called from several goroutines.
type Client struct {
	cfg   Config
	ids   *msg.IDGenerator
	codec msg.Codec
}

// Open checks cfg and reaches a name server. ctx bounds the opening only.
func Open(ctx context.Context, cfg Config) (*Client, error) { return nil, errors.ErrUnsupported }

// ID is the client id that brokers and tools show.
func (c *Client) ID() string { return "" }

// Queues lists the writable queues of a topic in their stable order.
func (c *Client) Queues(ctx context.Context, topic string) ([]Queue, error) {
	return nil, errors.ErrUnsupported
}

// NewProducer starts a producer. Close it, or the client.
func (c *Client) NewProducer(cfg ProducerConfig) (*Producer, error) {
	return nil, errors.ErrUnsupported
}

// Consume joins the group and hands messages to h until ctx ends. Then it
// takes no new messages, waits for running handlers, commits, gives its
// queues back and returns nil; after ConsumerConfig.CloseTimeout it ends the
// handlers' contexts and, if some still do not return, gives up with a
// *CloseError. Errors before the group was joined are returned as they are.
func (c *Client) Consume(ctx context.Context, cfg ConsumerConfig, h Handler) error {
	return errors.ErrUnsupported
}

// ConsumeBatch is Consume with several messages per call.
func (c *Client) ConsumeBatch(ctx context.Context, cfg ConsumerConfig, h BatchHandler) error {
	return errors.ErrUnsupported
}

// ConsumeManual is Consume with the decision about handed-out messages taken
// later. It needs order ByQueue.
func (c *Client) ConsumeManual(ctx context.Context, cfg ConsumerConfig, h ManualHandler) error {
	return errors.ErrUnsupported
}

// Close ends all consumers as if their contexts ended, closes producers, and
// returns after the last goroutine and connection is gone.
func (c *Client) Close() error { return errors.ErrUnsupported }
