// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/vfs"
)

// Config says what a broker is and where it lives. Dir is needed; the zero
// value of any other field means the default given with it.
type Config struct {
	// Name and Cluster are how clients and tools see the broker: broker-a of
	// DefaultCluster.
	Name, Cluster string
	// ListenAddr is where it listens: 127.0.0.1:10911. Port 0 picks a free one.
	ListenAddr string
	// VIPAddr is a second address for everything but pulls, for clients that
	// use RocketMQ's VIP channel (the port 2 below the first). Empty: none.
	VIPAddr string
	// AdvertiseAddr is the address that clients are told. Default: where it
	// listens; if that names no host, an address of this machine.
	AdvertiseAddr string
	// NameServers are host:port addresses; an entry may hold several,
	// separated by ';'.
	NameServers []string

	// Dir holds everything that must survive.
	Dir string
	// FS is where Dir is: the machine's file system.
	FS vfs.FS
	// SegmentSize is the length of the commit log's files: 1 GiB.
	SegmentSize int64
	// SyncMode says when a send is acknowledged: Synced.
	SyncMode store.SyncMode
	// SyncEvery bounds what a power cut can take in Async mode: 500 ms.
	SyncEvery time.Duration
	// Store, if set, may change the store's options before it is opened.
	Store func(*store.Options)
	// Repair sets damaged parts of the data aside instead of refusing to start.
	Repair bool

	// DisableAutoCreateTopic refuses sends to topics that nobody has created,
	// DisableAutoCreateGroup ignores groups that nobody has created.
	DisableAutoCreateTopic bool
	DisableAutoCreateGroup bool
	// RegisterEvery is the period of registrations with name servers: 30 s.
	RegisterEvery time.Duration

	Limits

	// Listen and Dial are the seams to the network.
	Listen func(network, addr string) (net.Listener, error)
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	// Clock is the wall clock; it stamps messages and may step. Mono is the
	// time since some moment and never steps; leases live on it.
	Clock func() time.Time
	Mono  func() time.Duration
	// Logger gets what operators should know. Nil: discard.
	Logger *slog.Logger
}

// Limits bound what peers can make the broker hold. Zero means the default.
type Limits struct {
	MaxMessageSize  int // bytes of a body: 4 MiB
	MaxQueues       int // queues of one topic: 4,096
	MaxTopics       int // 100,000
	MaxGroups       int // 100,000
	MaxBatch        int // messages of one send: 4,096
	MaxHolds        int // pulls that wait, in all: 100,000
	MaxConns        int // connections: 10,000
	MaxGroupsOfConn int // groups that one connection may touch: 4,096
	MaxPullMsgs     int // messages of one pull answer: 1,024
	MaxPullBytes    int // bytes of one pull answer: 1 MiB
	Readers         int // disk reads at a time: 16
	MaxProducers    int // producers that number their sends: 100,000
	MaxNumbered     int // queues of such producers whose numbers are kept: 100,000
}

// pullBytes is what a pull answer holds when the request does not say, as
// RocketMQ has it for messages in memory.
const pullBytes = 256 << 10

// maxHoldTime bounds how long a pull is held, whatever it asks for.
const maxHoldTime = 60 * time.Second

func (l Limits) withDefaults() Limits {
	return Limits{
		MaxMessageSize:  cmp.Or(l.MaxMessageSize, 4<<20),
		MaxQueues:       cmp.Or(l.MaxQueues, 4096),
		MaxTopics:       cmp.Or(l.MaxTopics, 100_000),
		MaxGroups:       cmp.Or(l.MaxGroups, 100_000),
		MaxBatch:        cmp.Or(l.MaxBatch, 4096),
		MaxHolds:        cmp.Or(l.MaxHolds, 100_000),
		MaxConns:        cmp.Or(l.MaxConns, 10_000),
		MaxGroupsOfConn: cmp.Or(l.MaxGroupsOfConn, 4096),
		MaxPullMsgs:     cmp.Or(l.MaxPullMsgs, 1024),
		MaxPullBytes:    cmp.Or(l.MaxPullBytes, 1<<20),
		Readers:         cmp.Or(l.Readers, 16),
		MaxProducers:    cmp.Or(l.MaxProducers, 100_000),
		MaxNumbered:     cmp.Or(l.MaxNumbered, 100_000),
	}
}

// withDefaults fills in what was left out and refuses what cannot work.
func (c Config) withDefaults() (Config, error) {
	c.Name = cmp.Or(c.Name, "broker-a")
	c.Cluster = cmp.Or(c.Cluster, "DefaultCluster")
	c.ListenAddr = cmp.Or(c.ListenAddr, "127.0.0.1:10911")
	c.RegisterEvery = cmp.Or(c.RegisterEvery, 30*time.Second)
	c.Limits = c.Limits.withDefaults()
	c.NameServers = splitAddrs(c.NameServers)
	if c.Listen == nil {
		c.Listen = net.Listen
	}
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	if c.FS == nil {
		c.FS = vfs.OS()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Dir == "" {
		return c, errors.New("broker: no data directory: set Dir")
	}
	for _, name := range []string{c.Name, c.Cluster} {
		if err := msg.CheckTopic(name); err != nil {
			return c, fmt.Errorf("broker: name %q of broker or cluster: %w", name, err)
		}
	}
	for _, addr := range c.NameServers {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return c, fmt.Errorf("broker: name server %q: %w: give host:port", addr, err)
		}
	}
	return c, nil
}

func splitAddrs(in []string) []string {
	var out []string
	for _, s := range in {
		for addr := range strings.SplitSeq(s, ";") {
			if addr = strings.TrimSpace(addr); addr != "" {
				out = append(out, addr)
			}
		}
	}
	return out
}
