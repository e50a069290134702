// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
)

// Handler serves the requests of a peer. Serve is called from the
// connection's reader, one request at a time in arrival order, so it must not
// wait for a disk or another peer: it hands the request on and somebody calls
// c.Reply(req, answer) later, from any goroutine. A request that is not
// one-way must get exactly one Reply. The request and its body belong to the
// handler.
type Handler interface {
	Serve(c *Conn, req *wire.Command)
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(c *Conn, req *wire.Command)

// Serve calls f.
func (f HandlerFunc) Serve(c *Conn, req *wire.Command) { f(c, req) }

// Limits bounds what a peer can make this side hold. The zero value of each
// field means the default given with it.
type Limits struct {
	// MaxFrame is the largest frame, length field included: 16 MiB.
	MaxFrame int
	// MaxHeader is the largest header inside a frame: 1 MiB.
	MaxHeader int
	// MaxInFlightBytes is how much of one connection's requests may be
	// unanswered before it is not read any more: 32 MiB. Each request counts
	// its frame and 512 bytes.
	MaxInFlightBytes int
	// MaxQueuedBytes is how much may wait to be written to one peer before it
	// counts as too slow and is closed: 64 MiB. One frame may exceed it.
	MaxQueuedBytes int
	// MaxCalls is how many calls of this side may be open on one connection:
	// 65536.
	MaxCalls int
	// IdleTimeout closes a connection on which nothing was read or written:
	// 120 s.
	IdleTimeout time.Duration
	// FrameTimeout closes a connection whose peer has begun a frame and does
	// not finish it: 30 s, and a second more for each 256 KiB announced.
	FrameTimeout time.Duration
	// WriteTimeout closes a connection whose peer does not take what is
	// written: 30 s, and a second more for each 256 KiB of one batch.
	WriteTimeout time.Duration
}

func (l Limits) withDefaults() Limits {
	return Limits{
		MaxFrame:         cmp.Or(l.MaxFrame, wire.MaxFrame),
		MaxHeader:        cmp.Or(l.MaxHeader, 1<<20),
		MaxInFlightBytes: cmp.Or(l.MaxInFlightBytes, 32<<20),
		MaxQueuedBytes:   cmp.Or(l.MaxQueuedBytes, 64<<20),
		MaxCalls:         cmp.Or(l.MaxCalls, 1<<16),
		IdleTimeout:      cmp.Or(l.IdleTimeout, 120*time.Second),
		FrameTimeout:     cmp.Or(l.FrameTimeout, 30*time.Second),
		WriteTimeout:     cmp.Or(l.WriteTimeout, 30*time.Second),
	}
}

// TLSMode says what a server with a TLS configuration does with plain
// connections. TLS is recognised by the first byte, on the same port.
type TLSMode int

const (
	// TLSPermissive serves both.
	TLSPermissive TLSMode = iota
	// TLSEnforcing closes plain connections.
	TLSEnforcing
)

// ServerConfig configures a Server. Handler is needed, the rest is optional.
type ServerConfig struct {
	Handler Handler
	// OnOpen is called before the first request of a connection is served.
	OnOpen func(*Conn)
	// OnClose is called once per connection, after every frame that arrived
	// before the end was served. The error is the reason; io.EOF stands for a
	// peer that closed.
	OnClose func(*Conn, error)
	Limits
	// MaxConns is how many connections may be open: 10,000. More are closed at
	// once, with a log line.
	MaxConns int
	// MaxTotalInFlightBytes bounds the unanswered requests of all connections:
	// 512 MiB.
	MaxTotalInFlightBytes int64
	// MaxTotalQueuedBytes bounds the unsent answers of all connections: 1 GiB.
	// Beyond it a connection that has more than 1 MiB waiting is closed.
	MaxTotalQueuedBytes int64
	// TLS enables TLS.
	TLS     *tls.Config
	TLSMode TLSMode
	// Logger gets one line per connection that ends badly; nil discards.
	Logger *slog.Logger
}
