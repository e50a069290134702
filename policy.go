// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// groupPolicy is what the broker keeps of a group's wishes. Where it has one it
// wins over the member's own configuration: all members are to do the same.
type groupPolicy header.GroupPolicy

// policy is the policy of a group, as told by the last heartbeat's answer.
func (b *broker) policy(group string) groupPolicy {
	if all := b.policies.Load(); all != nil {
		return groupPolicy((*all)[group])
	}
	return groupPolicy{}
}

// apply puts the policy into the configuration of a lane.
func (p groupPolicy) apply(cfg *order.LaneConfig) {
	if p.MaxAttempts > 0 {
		cfg.MaxAttempts = int(p.MaxAttempts)
		switch p.Poison {
		case "dead-letter":
			cfg.Poison = order.PoisonLetter
		case "park":
			cfg.Poison = order.PoisonPark
		default:
			cfg.Poison = order.PoisonBlock
		}
	}
	if p.MaxHandler > 0 && p.Overrun == "release" {
		cfg.MaxHandler = p.MaxHandler
	}
}

// backoff is the wait before an attempt, 2 and up; 0 if the group has none.
func (p groupPolicy) backoff(attempt int) time.Duration {
	if len(p.Backoff) == 0 {
		return 0
	}
	return p.Backoff[min(max(attempt-2, 0), len(p.Backoff)-1)]
}
