// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/vfs"
)

// Config configures a Server. The zero value works; it keeps its KV
// configuration in memory only.
type Config struct {
	// ListenAddr is host:port: 127.0.0.1:9876. Port 0 picks a free one.
	ListenAddr string
	// Listen opens the listener; nil is net.Listen.
	Listen func(network, addr string) (net.Listener, error)
	// Dir is where KV configuration is kept, in kvConfig.json; "" keeps it in
	// memory. The caller sees to it that no other process uses it.
	Dir string
	// FS is the file system of Dir; nil is the real one.
	FS vfs.FS
	// BrokerTimeout is after how long without a registration a broker is out,
	// unless it asks for another time: 120 s.
	BrokerTimeout time.Duration
	// ScanInterval is how often time-outs are looked for: 5 s.
	ScanInterval time.Duration
	// Limits bounds what is kept.
	Limits Limits
	// Transport bounds connections.
	Transport transport.Limits
	MaxConns  int
	TLS       *tls.Config
	TLSMode   transport.TLSMode
	// Logger; nil discards.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.ListenAddr = cmp.Or(c.ListenAddr, "127.0.0.1:9876")
	c.BrokerTimeout = cmp.Or(c.BrokerTimeout, 120*time.Second)
	c.ScanInterval = cmp.Or(c.ScanInterval, 5*time.Second)
	if c.Listen == nil {
		c.Listen = net.Listen
	}
	if c.FS == nil {
		c.FS = vfs.OS()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
