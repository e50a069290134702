// SPDX-License-Identifier: Apache-2.0

// Package embed runs a name server and a broker inside this process, for
// programs that bring their broker along and for tests. Several servers may
// live in one process; they share nothing.
package embed

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/broker"
	"github.com/orderlymq/orderly/internal/namesrv"
	"github.com/orderlymq/orderly/internal/node"
	"github.com/orderlymq/orderly/internal/store"
)

// Config says where a Server listens and keeps its data. The zero value of a
// field means its default.
type Config struct {
	// NamesrvAddr is where the name server listens. Default 127.0.0.1:9876;
	// port 0 picks a free one.
	NamesrvAddr string
	// BrokerAddr is where the broker listens. Default 127.0.0.1:10911; port 0
	// picks a free one.
	BrokerAddr string
	// AdvertiseAddr is the broker's address as clients are told it. Default:
	// the address that it listens on. Needed when BrokerAddr names no host.
	AdvertiseAddr string
	// DataDir holds everything that must survive. Default ./orderly-data. A
	// second server on the same directory is refused.
	DataDir string
	// BrokerName and ClusterName are how clients and tools see the broker.
	// Defaults broker-a and DefaultCluster.
	BrokerName, ClusterName string
	// SegmentSize is the length of the commit log's files. Default 1 GiB, at
	// least 1 MiB.
	SegmentSize int64
	// AsyncDisk acknowledges a message before its disk has synced it. Default
	// false: every acknowledged message survives a power cut.
	AsyncDisk bool
	// AsyncEvery is how often an asynchronous disk is synced. Default 500 ms.
	AsyncEvery time.Duration
	// Repair sets damaged parts of the data aside instead of refusing to start.
	// What they held is lost and reported in the log.
	Repair bool
	// DisableAutoCreateTopic refuses sends to topics that nobody has created.
	DisableAutoCreateTopic bool
	// DisableAutoCreateGroup ignores groups that nobody has created.
	DisableAutoCreateGroup bool
	// Logger gets what operators should know. Nil: discard.
	Logger *slog.Logger
}

// minSegment is the least SegmentSize.
const minSegment = 1 << 20

// Server is a running name server and broker, or one of them.
type Server struct {
	node                    *node.Node
	namesrvAddr, brokerAddr string

	closing sync.Once
	closed  error
}

// Start opens the data directory, recovers what is there, and returns when
// both parts serve. ctx bounds the start only.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	return start(ctx, cfg, cfg.namesrv(), cfg.broker(nil))
}

// StartNamesrv starts a name server alone; of cfg it uses NamesrvAddr, DataDir
// and Logger.
func StartNamesrv(ctx context.Context, cfg Config) (*Server, error) {
	return start(ctx, cfg, cfg.namesrv(), nil)
}

// StartBroker starts a broker alone that registers with the given name
// servers; each entry may hold several addresses, separated by ';'.
func StartBroker(ctx context.Context, cfg Config, nameServers []string) (*Server, error) {
	return start(ctx, cfg, nil, cfg.broker(nameServers))
}

func start(ctx context.Context, cfg Config, ns *namesrv.Config, b *broker.Config) (*Server, error) {
	if b != nil && cfg.SegmentSize != 0 && cfg.SegmentSize < minSegment {
		return nil, fmt.Errorf("embed: segment size %d: at least %d bytes are needed", cfg.SegmentSize, minSegment)
	}
	n, err := node.Start(ctx, node.Config{Namesrv: ns, Broker: b, Dir: node.DefaultDir(cfg.DataDir)})
	if err != nil {
		return nil, err
	}
	return &Server{node: n, namesrvAddr: n.NamesrvAddr(), brokerAddr: n.BrokerAddr()}, nil
}

func (c Config) namesrv() *namesrv.Config {
	return &namesrv.Config{ListenAddr: cmp.Or(c.NamesrvAddr, "127.0.0.1:9876"), Logger: c.Logger}
}

func (c Config) broker(nameServers []string) *broker.Config {
	mode := store.Synced
	if c.AsyncDisk {
		mode = store.Async
	}
	return &broker.Config{
		Name: c.BrokerName, Cluster: c.ClusterName, ListenAddr: c.BrokerAddr, AdvertiseAddr: c.AdvertiseAddr,
		NameServers: nameServers, SegmentSize: c.SegmentSize, SyncMode: mode, SyncEvery: c.AsyncEvery, Repair: c.Repair,
		DisableAutoCreateTopic: c.DisableAutoCreateTopic, DisableAutoCreateGroup: c.DisableAutoCreateGroup,
		Logger: c.Logger,
	}
}

// NamesrvAddr is the host:port that clients are pointed at, "" without a name
// server.
func (s *Server) NamesrvAddr() string { return s.namesrvAddr }

// BrokerAddr is the host:port of the broker as clients are told it, "" without
// a broker.
func (s *Server) BrokerAddr() string { return s.brokerAddr }

// Close stops accepting, lets what was accepted finish, syncs and closes,
// within 2 seconds. It returns when every goroutine is gone; ctx bounds the
// draining. A second call returns what the first one did.
func (s *Server) Close(ctx context.Context) error {
	s.closing.Do(func() { s.closed = s.node.Close(ctx) })
	return s.closed
}
