// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"cmp"
	"slices"

	"github.com/orderlymq/orderly/internal/route"
)

// Sticky splits the queues among the members so that shares differ by one at
// most and, among all such splits, as many queues as possible stay where prev
// has them. prev may name queues and members that are gone. It is worked out in
// one place for all members, because it depends on the past.
//
// A queue that was lent to others comes home if the caller puts its home into
// prev when the member is back.
func Sticky(queues []route.MessageQueue, members []string, prev map[route.MessageQueue]string) map[string][]route.MessageQueue {
	members = slices.Compact(slices.Clone(sortedMembers(members)))
	queues = slices.Compact(slices.Clone(sortedQueues(queues)))
	if len(members) == 0 {
		return nil
	}
	held, free := heldNow(queues, members, prev)

	// Those who hold the most keep the larger shares: that moves the least.
	order := slices.Clone(members)
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(len(held[b]), len(held[a])) })
	size, larger := len(queues)/len(members), len(queues)%len(members)
	quota := make(map[string]int, len(members))
	for i, m := range order {
		quota[m] = size
		if i < larger {
			quota[m]++
		}
		if extra := len(held[m]) - quota[m]; extra > 0 {
			cut := len(held[m]) - extra
			free = append(free, held[m][cut:]...)
			held[m] = held[m][:cut]
		}
	}
	slices.SortFunc(free, route.MessageQueue.Compare)
	deal(free, members, held, quota)
	for _, m := range members {
		slices.SortFunc(held[m], route.MessageQueue.Compare)
	}
	return held
}

// heldNow sorts the queues by present holder; free are those without one.
func heldNow(queues []route.MessageQueue, members []string, prev map[route.MessageQueue]string) (held map[string][]route.MessageQueue, free []route.MessageQueue) {
	held = make(map[string][]route.MessageQueue, len(members))
	for _, m := range members {
		held[m] = nil
	}
	for _, q := range queues {
		holder, ok := prev[q]
		if ok {
			_, ok = held[holder]
		}
		if !ok {
			free = append(free, q)
			continue
		}
		held[holder] = append(held[holder], q)
	}
	return held, free
}

// deal gives the free queues out in turn to those below their quota. The quotas
// add up to the number of queues, so it ends with none left.
func deal(free []route.MessageQueue, members []string, held map[string][]route.MessageQueue, quota map[string]int) {
	open := slices.Clone(members)
	for len(free) > 0 {
		open = slices.DeleteFunc(open, func(m string) bool { return len(held[m]) >= quota[m] })
		for _, m := range open[:min(len(open), len(free))] {
			held[m] = append(held[m], free[0])
			free = free[1:]
		}
	}
}
