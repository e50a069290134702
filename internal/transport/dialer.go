// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync/atomic"
	"time"
)

// Dialer makes client connections. The zero value works; it must not be
// changed or copied after the first Connect.
type Dialer struct {
	// Dial opens the network connection; nil dials TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Timeout bounds one attempt, TLS handshake included: 3 s.
	Timeout time.Duration
	// Handler serves what the peer asks of us; nil answers code 3.
	Handler Handler
	// OnOpen and OnClose are as in ServerConfig.
	OnOpen  func(*Conn)
	OnClose func(*Conn, error)
	Limits
	// TLS makes every connection a TLS one.
	TLS *tls.Config
	// Logger gets one line per connection that ends badly; nil discards.
	Logger *slog.Logger

	lastID atomic.Uint64
}

// Connect opens a connection. Its goroutines end with the connection; Close
// and then Wait, or Shutdown, ends them. ctx bounds the attempt only.
func (d *Dialer) Connect(ctx context.Context, addr string) (*Conn, error) {
	nc, err := d.open(ctx, addr)
	if err != nil {
		return nil, &DialError{Addr: addr, Err: err}
	}
	c := newConn(d.newEnv(d.OnClose), d.lastID.Add(1), nc)
	go c.run() // owned by c: Wait waits for it
	return c, nil
}

func (d *Dialer) newEnv(onClose func(*Conn, error)) *env {
	return &env{
		handler: d.Handler,
		limits:  d.Limits.withDefaults(),
		log:     orDiscard(d.Logger),
		onOpen:  d.OnOpen,
		onClose: onClose,
		base:    time.Now(),
	}
}

// open makes the network connection and the TLS handshake.
func (d *Dialer) open(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(d.Timeout, 3*time.Second))
	defer cancel()
	dial := d.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	nc, err := dial(ctx, "tcp", addr)
	if err != nil || d.TLS == nil {
		return nc, err
	}
	cfg := d.TLS
	if cfg.ServerName == "" && !cfg.InsecureSkipVerify {
		cfg = cfg.Clone()
		cfg.ServerName, _, _ = net.SplitHostPort(addr)
	}
	tc := tls.Client(nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		_ = nc.Close()
		return nil, err
	}
	return tc, nil
}
