// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
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
type Client struct {
	cfg     Config
	servers []string
	pool    *transport.Pool
}

// closeLimit bounds how long Close waits for connections to end.
const closeLimit = 2 * time.Second

// Open checks cfg. Connections are made as they are needed.
func Open(_ context.Context, cfg Config) (*Client, error) {
	cfg.RequestTimeout = cmp.Or(cfg.RequestTimeout, 5*time.Second)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Client{cfg: cfg}
	for _, entry := range cfg.NameServers {
		for addr := range strings.SplitSeq(entry, ";") {
			if addr = strings.TrimSpace(addr); addr == "" {
				continue
			}
			if _, _, err := net.SplitHostPort(addr); err != nil {
				return nil, fmt.Errorf("admin: name server %q: use HOST:PORT: %w", addr, err)
			}
			c.servers = append(c.servers, addr)
		}
	}
	if len(c.servers) == 0 {
		return nil, errors.New("admin: no name server is given")
	}
	c.pool = transport.NewPool(transport.PoolConfig{Dialer: &transport.Dialer{Dial: cfg.Dial, TLS: cfg.TLS, Logger: cfg.Logger}})
	return c, nil
}

// Close ends all connections and returns after the last goroutine is gone.
func (c *Client) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	return c.pool.Close(ctx)
}

// ResponseError is a refusal by a broker or name server.
type ResponseError struct {
	Addr   string // who refused
	Op     string // what was asked, such as UPDATE_AND_CREATE_TOPIC
	Code   int    // RocketMQ response code
	Name   string // its name, such as SYSTEM_ERROR
	Remark string // the peer's own words
}

// Error names the peer, the code and the peer's words.
func (e *ResponseError) Error() string {
	return fmt.Sprintf("admin: %s refused %s: %s (%d): %s", e.Addr, e.Op, e.Name, e.Code, e.Remark)
}

// call asks one peer. An answer other than success is a *ResponseError.
func (c *Client) call(ctx context.Context, addr string, code int32, h wire.Encoder, b []byte) (*wire.Command, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	op := wire.RequestName(code)
	conn, err := c.pool.Get(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("admin: %s: %w", op, err)
	}
	resp, err := conn.Call(ctx, wire.NewRequest(code, h, b))
	if err != nil {
		return nil, fmt.Errorf("admin: %s to %s: %w", op, addr, err)
	}
	if resp.Code != wire.Success {
		return nil, &ResponseError{Addr: addr, Op: op, Code: int(resp.Code), Name: wire.ResponseName(resp.Code), Remark: resp.Remark}
	}
	return resp, nil
}

// refused reports whether err is a refusal with one of the codes.
func refused(err error, codes ...int32) bool {
	e, ok := errors.AsType[*ResponseError](err)
	return ok && slices.Contains(codes, int32(e.Code))
}

// ask asks the name servers in turn; a refusal is an answer, too.
func (c *Client) ask(ctx context.Context, code int32, h wire.Encoder) (*wire.Command, error) {
	var errs []error
	for _, addr := range c.servers {
		resp, err := c.call(ctx, addr, code, h, nil)
		if err == nil {
			return resp, nil
		}
		if _, ok := errors.AsType[*ResponseError](err); ok {
			return nil, err
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// master is a broker that takes changes.
type master struct{ name, addr string }

// masters lists the brokers with id 0, by name.
func (c *Client) masters(ctx context.Context) ([]master, error) {
	resp, err := c.ask(ctx, wire.ReqGetBrokerClusterInfo, nil)
	if err != nil {
		return nil, err
	}
	var info body.ClusterInfo
	if err := info.Decode(resp.Body); err != nil {
		return nil, fmt.Errorf("admin: broker list: %w", err)
	}
	var ms []master
	for name, b := range info.BrokerAddrTable {
		if addr, ok := b.BrokerAddrs[0]; ok {
			ms = append(ms, master{name, addr})
		}
	}
	if len(ms) == 0 {
		return nil, ErrNoBroker
	}
	slices.SortFunc(ms, func(a, b master) int { return cmp.Compare(a.name, b.name) })
	return ms, nil
}

// each asks every master and stops at the first error.
func (c *Client) each(ctx context.Context, do func(master) error) error {
	ms, err := c.masters(ctx)
	if err != nil {
		return err
	}
	for _, m := range ms {
		if err := do(m); err != nil {
			return err
		}
	}
	return nil
}
