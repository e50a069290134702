// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"crypto/md5"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/orderlymq/orderly/internal/route"
)

// ConsistentHash puts the members on a ring, each several times, and gives a
// queue to the next member clockwise. Few queues move when members come and go,
// but the shares are uneven.
type ConsistentHash struct {
	VirtualNodes int // per member; 0: 10, as RocketMQ
}

// Name implements Strategy.
func (ConsistentHash) Name() string { return NameConsistent }

// Allocate implements Strategy.
func (s ConsistentHash) Allocate(group, self string, queues []route.MessageQueue, members []string) ([]route.MessageQueue, error) {
	queues, members, i, err := input(s.Name(), group, self, queues, members)
	if err != nil || i < 0 {
		return nil, err
	}
	ring := s.ring(members)
	var out []route.MessageQueue
	for _, q := range queues {
		if ring.owner(q.String()) == self {
			out = append(out, q)
		}
	}
	return out, nil
}

type hashRing struct {
	points []uint32 // sorted
	owners map[uint32]string
}

// ring places the members. Where two points meet, the later member has it, as
// in a map that is filled in this order.
func (s ConsistentHash) ring(members []string) hashRing {
	n := s.VirtualNodes
	if n <= 0 {
		n = defaultVirtualNds
	}
	r := hashRing{owners: make(map[uint32]string, n*len(members))}
	for _, m := range members {
		for k := range n {
			r.owners[ringHash(m+"-"+strconv.Itoa(k))] = m
		}
	}
	r.points = make([]uint32, 0, len(r.owners))
	for p := range r.owners {
		r.points = append(r.points, p)
	}
	slices.Sort(r.points)
	return r
}

func (r hashRing) owner(key string) string {
	i, _ := slices.BinarySearch(r.points, ringHash(key))
	return r.owners[r.points[i%len(r.points)]]
}

// ringHash is the first four bytes of the MD5 sum, which is fixed by RocketMQ's
// ring and protects nothing here.
func ringHash(s string) uint32 {
	sum := md5.Sum([]byte(s))
	return binary.BigEndian.Uint32(sum[:])
}
