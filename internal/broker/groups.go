// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store/meta"
)

// groups holds the groups at work. A group exists here from the first request
// that concerns it until it is deleted.
type groups struct {
	mu     sync.RWMutex
	byName map[string]*group
}

// errNoGroup: the group is not configured and is not made by itself.
var errNoGroup = errors.New("consumer group does not exist")

// group returns a group at work; nil if it is not configured.
func (b *Broker) group(name string) *group {
	b.groups.mu.RLock()
	g := b.groups.byName[name]
	b.groups.mu.RUnlock()
	if g != nil {
		return g
	}
	if _, ok := b.meta.View().Group(name); !ok {
		return nil
	}
	b.groups.mu.Lock()
	defer b.groups.mu.Unlock()
	if g := b.groups.byName[name]; g != nil {
		return g
	}
	g = newGroup(b, name)
	b.groups.byName[name] = g
	return g
}

// allGroups returns the groups at work.
func (b *Broker) allGroups() []*group {
	b.groups.mu.RLock()
	defer b.groups.mu.RUnlock()
	all := make([]*group, 0, len(b.groups.byName))
	for _, g := range b.groups.byName {
		all = append(all, g)
	}
	return all
}

// ensureGroup returns a group at work, which it configures with defaults if
// nobody has and that is allowed.
func (b *Broker) ensureGroup(ctx context.Context, name string) (*group, error) {
	if g := b.group(name); g != nil {
		return g, nil
	}
	if err := msg.CheckGroup(name); err != nil {
		return nil, err
	}
	if b.cfg.DisableAutoCreateGroup {
		return nil, fmt.Errorf("%w: %s", errNoGroup, name)
	}
	err := b.meta.Update(ctx, func(v *meta.View) ([]meta.Change, error) {
		if _, ok := v.Group(name); ok {
			return nil, nil
		}
		if v.GroupCount() >= b.cfg.MaxGroups {
			return nil, fmt.Errorf("consumer group %s is not created: there are %d, the limit", name, v.GroupCount())
		}
		return []meta.Change{meta.PutGroup{Group: meta.DefaultGroup(name), At: b.clock.at()}}, nil
	})
	if err != nil {
		return nil, err
	}
	b.log.Info("consumer group created", "group", name)
	return b.group(name), nil
}

// leaseConfig returns the rules of a group's leases.
func (b *Broker) leaseConfig(name string) order.LeaseConfig {
	cfg := order.LeaseConfig{Start: b.served}
	if g, ok := b.meta.View().Group(name); ok {
		cfg.Grace, cfg.Lease, cfg.StockFastRelease = g.Grace(), g.Lease(), g.StockFastRelease
	}
	return cfg
}

// reconfigure gives a group's table the rules as they are stored now.
func (b *Broker) reconfigure(name string) {
	b.groups.mu.RLock()
	g := b.groups.byName[name]
	b.groups.mu.RUnlock()
	if g == nil {
		return
	}
	g.mu.Lock()
	g.leases.Configure(b.clock.now(), b.leaseConfig(name))
	b.alarms.set(g.bell, g.leases.Next())
	g.mu.Unlock()
}

// restoreGroups brings the groups to work that have leases, so that these end
// in time even if nobody asks.
func (b *Broker) restoreGroups() {
	last := ""
	for key, q := range b.meta.View().AllQueues() {
		if q.Lease.Held() && key.Group != last {
			last = key.Group
			b.group(last)
		}
	}
}

func metaKey(group, topic string, queue int32) meta.QueueKey {
	return meta.QueueKey{Group: group, Topic: topic, Queue: queue}
}

func orderQueue(key meta.QueueKey) order.Queue { return order.Queue{Topic: key.Topic, ID: key.Queue} }
