// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/orderlymq/orderly/internal/route"
)

// MachineRoom splits only the queues of brokers whose name is room@name with a
// room of the list. Where the members are plays no part.
type MachineRoom struct{ Rooms []string }

// Name implements Strategy.
func (MachineRoom) Name() string { return NameMachineRoom }

// Allocate implements Strategy. Each member gets a block of n/c queues and the
// first members one of the rest, taken from the end of the list.
func (s MachineRoom) Allocate(group, self string, queues []route.MessageQueue, members []string) ([]route.MessageQueue, error) {
	queues, members, i, err := input(s.Name(), group, self, queues, members)
	if err != nil || i < 0 {
		return nil, err
	}
	var ours []route.MessageQueue
	for _, q := range queues {
		// As Java splits: separators at the end do not count.
		room, name, ok := strings.Cut(strings.TrimRight(q.Broker, "@"), "@")
		if ok && !strings.Contains(name, "@") && slices.Contains(s.Rooms, room) {
			ours = append(ours, q)
		}
	}
	size := len(ours) / len(members)
	out := slices.Clone(ours[i*size : (i+1)*size])
	if rest := size*len(members) + i; rest < len(ours) {
		out = append(out, ours[rest])
	}
	return out, nil
}

// NearbyRoom lets the members of a room split the queues of that room by the
// inner strategy; all members together split those of rooms where nobody is.
type NearbyRoom struct {
	Inner      Strategy // nil: Average
	QueueRoom  func(route.MessageQueue) string
	MemberRoom func(member string) string
}

func (s NearbyRoom) inner() Strategy {
	if s.Inner == nil {
		return Average{}
	}
	return s.Inner
}

// Name implements Strategy.
func (s NearbyRoom) Name() string { return NameNearbyPrefix + s.inner().Name() }

// Allocate implements Strategy.
func (s NearbyRoom) Allocate(group, self string, queues []route.MessageQueue, members []string) ([]route.MessageQueue, error) {
	queues, members, i, err := input(s.Name(), group, self, queues, members)
	if err != nil || i < 0 {
		return nil, err
	}
	if s.QueueRoom == nil || s.MemberRoom == nil {
		return nil, fmt.Errorf("allocate %s for group %s: no functions that name the rooms", s.Name(), group)
	}
	queuesIn := map[string][]route.MessageQueue{}
	for _, q := range queues {
		room := s.QueueRoom(q)
		if room == "" {
			return nil, fmt.Errorf("allocate %s for group %s: no room for %v", s.Name(), group, q)
		}
		queuesIn[room] = append(queuesIn[room], q)
	}
	membersIn := map[string][]string{}
	for _, m := range members {
		room := s.MemberRoom(m)
		if room == "" {
			return nil, fmt.Errorf("allocate %s for group %s: no room for member %s", s.Name(), group, m)
		}
		membersIn[room] = append(membersIn[room], m)
	}
	var out []route.MessageQueue
	mine := s.MemberRoom(self)
	for _, room := range append([]string{mine}, slices.Sorted(maps.Keys(queuesIn))...) {
		local, among := queuesIn[room], membersIn[room]
		delete(queuesIn, room)
		if len(local) == 0 || room != mine && len(among) > 0 {
			continue
		}
		if len(among) == 0 {
			among = members
		}
		share, err := s.inner().Allocate(group, self, local, among)
		if err != nil {
			return nil, err
		}
		out = append(out, share...)
	}
	return out, nil
}
