// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/route"
	"github.com/orderlymq/orderly/internal/store/meta"
)

const permReadWrite = route.PermRead | route.PermWrite

// errNoTopic: the topic is not there and is not made by itself.
var errNoTopic = errors.New("topic does not exist")

// topic returns a topic's configuration.
func (b *Broker) topic(name string) (*meta.Topic, bool) { return b.meta.View().Topic(name) }

// systemTopicList is what every broker has from the start.
func (b *Broker) systemTopicList() []meta.Topic {
	topic := func(name string, queues, perm int32) meta.Topic {
		return meta.Topic{Name: name, ReadQueues: queues, WriteQueues: queues, Perm: perm}
	}
	return []meta.Topic{
		topic(msg.TopicAutoCreate, 8, permReadWrite|route.PermInherit),
		topic(msg.TopicSelfTest, 1, permReadWrite),
		topic(msg.TopicBenchmark, 1024, permReadWrite),
		topic(msg.TopicOffsetMoved, 1, permReadWrite),
		topic(msg.TopicSchedule, int32(len(b.delays)), permReadWrite),
		topic(b.cfg.Cluster, 16, permReadWrite|route.PermInherit),
		topic(b.cfg.Name, 1, permReadWrite|route.PermInherit),
		topic(b.replyTopic(), 1, permReadWrite),
	}
}

// ensureSystem creates the topics and groups that a broker has from the start.
func (b *Broker) ensureSystem(ctx context.Context) error {
	err := b.meta.UpdateSync(ctx, func(v *meta.View) ([]meta.Change, error) {
		var changes []meta.Change
		for _, t := range b.systemTopicList() {
			if have, ok := v.Topic(t.Name); !ok || have.ReadQueues < t.ReadQueues {
				changes = append(changes, meta.PutTopic{Topic: t, At: b.clock.at()})
			}
		}
		for _, name := range toolGroups() {
			if _, ok := v.Group(name); !ok {
				changes = append(changes, meta.PutGroup{Group: meta.DefaultGroup(name), At: b.clock.at()})
			}
		}
		return changes, nil
	})
	if err != nil {
		return fmt.Errorf("create system topics: %w", err)
	}
	return nil
}

// createTopic stores t unless the topic is there already, and returns what is
// stored. It is on disk before a message for it can be acknowledged: a message
// without its topic would be lost. Name servers are told at once.
func (b *Broker) createTopic(ctx context.Context, t meta.Topic) (*meta.Topic, error) {
	made := false
	err := b.meta.UpdateSync(ctx, func(v *meta.View) ([]meta.Change, error) {
		if _, ok := v.Topic(t.Name); ok {
			return nil, nil
		}
		if v.TopicCount() >= b.cfg.MaxTopics {
			return nil, fmt.Errorf("topic %s is not created: there are %d, the limit", t.Name, v.TopicCount())
		}
		made = true
		return []meta.Change{meta.PutTopic{Topic: t, At: b.clock.at()}}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("create topic %s: %w", t.Name, err)
	}
	if made {
		b.log.Info("topic created", "topic", t.Name, "queues", t.WriteQueues, "perm", t.Perm)
		b.registrar.changed()
	}
	stored, ok := b.topic(t.Name)
	if !ok {
		return nil, fmt.Errorf("%w: %s was deleted meanwhile", errNoTopic, t.Name)
	}
	return stored, nil
}

// ownedTopicOf creates the retry or dead-letter topic of a group if it is
// missing.
func (b *Broker) ensureOwned(ctx context.Context, name string, queues int32) (*meta.Topic, error) {
	if t, ok := b.topic(name); ok {
		return t, nil
	}
	return b.createTopic(ctx, meta.Topic{Name: name, ReadQueues: queues, WriteQueues: queues, Perm: permReadWrite})
}

// autoCreate makes a topic that somebody sends to for the first time, after
// the template that the request names.
func (b *Broker) autoCreate(ctx context.Context, name, template string, queues int32) (*meta.Topic, error) {
	if group, ok := msg.RetryGroup(name); ok {
		if _, err := b.ensureGroup(ctx, group); err != nil {
			return nil, err
		}
		return b.ensureOwned(ctx, name, 1)
	}
	tmpl, ok := b.topic(template)
	if !ok || tmpl.Perm&route.PermInherit == 0 || template == msg.TopicAutoCreate && b.cfg.DisableAutoCreateTopic {
		return nil, errNoTopic
	}
	queues = max(1, min(queues, tmpl.WriteQueues))
	return b.createTopic(ctx, meta.Topic{
		Name: name, ReadQueues: queues, WriteQueues: queues, Perm: tmpl.Perm &^ route.PermInherit, SysFlag: 0,
	})
}
