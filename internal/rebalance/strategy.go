// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"fmt"
	"slices"

	"github.com/orderlymq/orderly/internal/route"
)

// Strategy works out one member's share.
type Strategy interface {
	// Name is the strategy's name in RocketMQ.
	Name() string
	// Allocate returns the queues of member self. A self that is not among the
	// members, because the broker does not know it yet, gets none. The order of
	// queues and members does not matter; both are left as they are.
	Allocate(group, self string, queues []route.MessageQueue, members []string) ([]route.MessageQueue, error)
}

// Names of the strategies.
const (
	NameAverage       = "AVG"
	NameCircle        = "AVG_BY_CIRCLE"
	NameConsistent    = "CONSISTENT_HASH"
	NameConfig        = "CONFIG"
	NameMachineRoom   = "MACHINE_ROOM"
	NameNearbyPrefix  = "MACHINE_ROOM_NEARBY-"
	NameSticky        = "ORDERLY_STICKY"
	defaultVirtualNds = 10
)

// ByName returns a strategy that needs no settings.
func ByName(name string) (Strategy, error) {
	switch name {
	case "", NameAverage:
		return Average{}, nil
	case NameCircle:
		return Circle{}, nil
	case NameConsistent:
		return ConsistentHash{}, nil
	}
	return nil, fmt.Errorf("allocation strategy %.64q is unknown: use %s, %s or %s", name, NameAverage, NameCircle, NameConsistent)
}

// Table works out the shares of all members.
func Table(s Strategy, group string, queues []route.MessageQueue, members []string) (map[string][]route.MessageQueue, error) {
	out := make(map[string][]route.MessageQueue, len(members))
	for _, m := range members {
		share, err := s.Allocate(group, m, queues, members)
		if err != nil {
			return nil, err
		}
		out[m] = share
	}
	return out, nil
}

// input checks what is common to all and sorts it. place is self's place among
// the members, or -1.
func input(name, group, self string, queues []route.MessageQueue, members []string) (qs []route.MessageQueue, ms []string, place int, err error) {
	switch {
	case self == "":
		return nil, nil, -1, fmt.Errorf("allocate %s for group %s: no client id given", name, group)
	case len(queues) == 0:
		return nil, nil, -1, fmt.Errorf("allocate %s for group %s: no queues given", name, group)
	case len(members) == 0:
		return nil, nil, -1, fmt.Errorf("allocate %s for group %s: no members given", name, group)
	}
	qs, ms = sortedQueues(queues), sortedMembers(members)
	place, found := slices.BinarySearch(ms, self)
	if !found {
		place = -1
	}
	return qs, ms, place, nil
}

func sortedQueues(queues []route.MessageQueue) []route.MessageQueue {
	if slices.IsSortedFunc(queues, route.MessageQueue.Compare) {
		return queues
	}
	queues = slices.Clone(queues)
	slices.SortFunc(queues, route.MessageQueue.Compare)
	return queues
}

func sortedMembers(members []string) []string {
	if slices.IsSorted(members) {
		return members
	}
	members = slices.Clone(members)
	slices.Sort(members)
	return members
}
