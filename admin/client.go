// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"time"
)

// Config is what a Client needs to know. Only NameServers has no default.
type Config struct {
	// NameServers are host:port addresses; an entry may hold several,
	// separated by ';'. They are tried in turn.
	NameServers []string
	// TLS, when set, encrypts every connection.
	TLS *tls.Config
	// Dial opens connections. Nil: a net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// RequestTimeout bounds a single request. Default 5 s.
	RequestTimeout time.Duration
	// Logger gets what the caller cannot see from return values. Nil: discard.
	Logger *slog.Logger
}

// Client asks name servers and brokers. Its methods may be called from several
// goroutines.
type Client struct{}

// Open checks cfg. Connections are made as they are needed.
func Open(ctx context.Context, cfg Config) (*Client, error) { return nil, errors.ErrUnsupported }

// Close ends all connections and returns after the last goroutine is gone.
func (c *Client) Close() error { return errors.ErrUnsupported }

// CreateTopic creates a topic, or changes one to what t says, and returns when
// the name servers know it. Fewer queues than a topic has are refused.
func (c *Client) CreateTopic(ctx context.Context, t Topic) error { return errors.ErrUnsupported }

// DeleteTopic deletes a topic, its messages and all positions in it.
func (c *Client) DeleteTopic(ctx context.Context, name string) error { return errors.ErrUnsupported }

// Topics lists the users' topics by name, without the system's own and the
// retry and dead-letter topics of groups.
func (c *Client) Topics(ctx context.Context) ([]Topic, error) { return nil, errors.ErrUnsupported }

// Topic tells of one topic.
func (c *Client) Topic(ctx context.Context, name string) (TopicInfo, error) {
	return TopicInfo{}, errors.ErrUnsupported
}

// CreateGroup creates a consumer group, or changes one to what g says.
func (c *Client) CreateGroup(ctx context.Context, g Group) error { return errors.ErrUnsupported }

// DeleteGroup deletes a group and all its positions.
func (c *Client) DeleteGroup(ctx context.Context, name string) error { return errors.ErrUnsupported }

// Groups lists the users' groups by name.
func (c *Client) Groups(ctx context.Context) ([]Group, error) { return nil, errors.ErrUnsupported }

// Group tells of one group.
func (c *Client) Group(ctx context.Context, name string) (GroupInfo, error) {
	return GroupInfo{}, errors.ErrUnsupported
}
