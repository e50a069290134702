// SPDX-License-Identifier: Apache-2.0

// Package embed runs a name server and a broker inside this process, for
// programs that bring their broker along and for tests. Several servers may
// live in one process; they share nothing.
package embed

import (
	"context"
	"errors"
	"log/slog"
	"time"
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
	// DisableAutoCreateTopic refuses sends to topics that nobody has created.
	DisableAutoCreateTopic bool
	// DisableAutoCreateGroup ignores groups that nobody has created.
	DisableAutoCreateGroup bool
	// Repair sets damaged parts of the data aside, and reports what they held,
	// instead of refusing to start.
	Repair bool
	// Logger gets what operators should know. Nil: discard.
	Logger *slog.Logger
}

// Server is a running name server and broker.
type Server struct{}

// Start opens the data directory, recovers what is there, and returns when
// both parts serve. ctx bounds the start only.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	return nil, errors.ErrUnsupported
}

// StartNamesrv starts a name server alone; of cfg it uses NamesrvAddr, DataDir
// and Logger.
func StartNamesrv(ctx context.Context, cfg Config) (*Server, error) {
	return nil, errors.ErrUnsupported
}

// StartBroker starts a broker alone that registers with the given name
// servers; each entry may hold several addresses, separated by ';'.
func StartBroker(ctx context.Context, cfg Config, nameServers []string) (*Server, error) {
	return nil, errors.ErrUnsupported
}

// NamesrvAddr is the host:port that clients are pointed at.
func (s *Server) NamesrvAddr() string { return "" }

// BrokerAddr is the host:port of the broker.
func (s *Server) BrokerAddr() string { return "" }

// Close stops accepting, lets what was accepted finish, syncs and closes. It
// returns when every goroutine is gone; ctx bounds the draining.
func (s *Server) Close(ctx context.Context) error { return errors.ErrUnsupported }
