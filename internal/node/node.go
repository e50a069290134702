// SPDX-License-Identifier: Apache-2.0

// Package node runs a name server and a broker together, or one of them, with
// every seam open: disk, network, clocks. Package embed is what users see of
// it.
//
// What is promised: Start returns when everything it started serves, and after
// an error nothing of it is left; Close ends all of it in an order that loses
// nothing (the broker first, so that it can take leave), whatever the context.
package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"

	"github.com/orderlymq/orderly/internal/broker"
	"github.com/orderlymq/orderly/internal/namesrv"
	"github.com/orderlymq/orderly/internal/vfs"
)

// Config says what to run. A part that is nil does not run.
type Config struct {
	// Namesrv runs a name server. Its Dir and FS come from Dir and FS here.
	Namesrv *namesrv.Config
	// Broker runs a broker. Its Dir and FS come from Dir and FS here; it
	// registers with the name server of this node too.
	Broker *broker.Config
	// Dir holds everything that must survive; FS is where it is, nil for the
	// machine's file system.
	Dir string
	FS  vfs.FS
}

// Node is what Start started.
type Node struct {
	lock    io.Closer
	namesrv *namesrv.Server
	broker  *broker.Broker
}

// Start starts the parts, the name server first. ctx bounds the start only.
func Start(ctx context.Context, cfg Config) (n *Node, err error) {
	n = &Node{}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close(context.WithoutCancel(ctx)))
			n = nil
		}
	}()
	if cfg.Dir == "" {
		return n, errors.New("node: no data directory: name one")
	}
	fs := cfg.FS
	if fs == nil {
		fs = vfs.OS()
	}
	if cfg.Namesrv != nil {
		if err := n.startNamesrv(ctx, *cfg.Namesrv, fs, cfg.Dir); err != nil {
			return n, err
		}
	}
	if cfg.Broker != nil {
		if err := n.startBroker(ctx, *cfg.Broker, fs, cfg.Dir); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (n *Node) startNamesrv(ctx context.Context, cfg namesrv.Config, fs vfs.FS, dir string) (err error) {
	cfg.FS, cfg.Dir = fs, path.Join(dir, "namesrv")
	if err := vfs.MkdirSync(fs, cfg.Dir); err != nil {
		return fmt.Errorf("node: %w: choose a data directory that can be written", err)
	}
	if n.lock, err = fs.Lock(path.Join(cfg.Dir, "namesrv.lock")); err != nil {
		return fmt.Errorf("node: data directory %s cannot be taken, is another server using it? %w", dir, err)
	}
	s := namesrv.New(cfg)
	if err := s.Start(ctx); err != nil {
		return err
	}
	n.namesrv = s
	return nil
}

func (n *Node) startBroker(ctx context.Context, cfg broker.Config, fs vfs.FS, dir string) error {
	cfg.FS, cfg.Dir = fs, dir
	if n.namesrv != nil {
		cfg.NameServers = append([]string{reachable(n.namesrv.Addr())}, cfg.NameServers...)
	}
	b, err := broker.New(cfg)
	if err != nil {
		return err
	}
	if err := b.Start(ctx); err != nil {
		return err
	}
	n.broker = b
	return nil
}

// reachable is an address of this process under which it can dial itself.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// NamesrvAddr is where the name server listens, "" without one.
func (n *Node) NamesrvAddr() string {
	if n.namesrv == nil {
		return ""
	}
	return n.namesrv.Addr()
}

// BrokerAddr is the broker's address as clients are told it, "" without one.
func (n *Node) BrokerAddr() string {
	if n.broker == nil {
		return ""
	}
	return n.broker.Addr()
}

// Broker is the broker, nil without one.
func (n *Node) Broker() *broker.Broker { return n.broker }

// Close ends the parts, the broker first, and returns when every goroutine is
// gone. ctx bounds the draining. A second call does nothing.
func (n *Node) Close(ctx context.Context) error {
	var errs []error
	if n.broker != nil {
		errs = append(errs, n.broker.Close(ctx))
	}
	if n.namesrv != nil {
		errs = append(errs, n.namesrv.Close(ctx))
	}
	if n.lock != nil {
		errs = append(errs, n.lock.Close())
	}
	n.broker, n.namesrv, n.lock = nil, nil, nil
	return errors.Join(errs...)
}

// DefaultDir is where data goes if nothing is said.
func DefaultDir(dir string) string { return cmp.Or(dir, "orderly-data") }
