// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"errors"
	"fmt"

	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// updateTopic handles UPDATE_AND_CREATE_TOPIC 17.
func (b *Broker) updateTopic(r request) {
	var h header.CreateTopic
	if !r.decode(&h) {
		return
	}
	cfg := body.TopicConfig{
		TopicName: h.Topic, ReadQueueNums: h.ReadQueueNums, WriteQueueNums: h.WriteQueueNums, Perm: h.Perm,
		TopicFilterType: h.TopicFilterType, TopicSysFlag: h.TopicSysFlag.Value, Order: h.Order,
	}
	if err := b.putTopic(&cfg, h.Attributes); err != nil {
		r.fail(sendErrorCode(err), err.Error())
		return
	}
	b.registrar.changed()
	r.ok(nil)
}

// updateTopics handles UPDATE_AND_CREATE_TOPIC_LIST 18.
func (b *Broker) updateTopics(r request) {
	var list body.TopicConfigList
	if err := list.Decode(r.cmd.Body); err != nil {
		r.fail(wire.SystemError, err.Error())
		return
	}
	for i := range list.Topics {
		if err := b.putTopic(&list.Topics[i], attrText(list.Topics[i].Attributes)); err != nil {
			r.fail(sendErrorCode(err), err.Error())
			return
		}
	}
	b.registrar.changed()
	r.ok(nil)
}

// attrText writes attributes as a request's text would.
func attrText(attrs map[string]string) string {
	text := ""
	for k, v := range attrs {
		text += "+" + k + "=" + v + ","
	}
	return text
}

// putTopic creates or changes one topic.
func (b *Broker) putTopic(cfg *body.TopicConfig, attrs string) error {
	if why := b.checkTopicName(cfg.TopicName); why != "" {
		return &sendError{wire.InvalidParameter, why}
	}
	changes, err := parseAttrs(attrs)
	if err != nil {
		return &sendError{wire.SystemError, err.Error()}
	}
	t, err := b.topicFrom(cfg)
	if err != nil {
		return err
	}
	err = b.meta.UpdateSync(b.ctx, func(v *meta.View) ([]meta.Change, error) {
		old, _ := v.Topic(t.Name)
		if old == nil && v.TopicCount() >= b.cfg.MaxTopics {
			return nil, &sendError{wire.SystemError, fmt.Sprintf("there are %d topics, the limit", v.TopicCount())}
		}
		if err := applyAttrs(&t, old, changes); err != nil {
			return nil, &sendError{wire.SystemError, err.Error()}
		}
		if t.Ordered() && t.ReadQueues < t.WriteQueues {
			return nil, &sendError{wire.InvalidParameter, fmt.Sprintf("ordered topic %s: of %d queues to write only %d are read: keys of the others would wait for ever", t.Name, t.WriteQueues, t.ReadQueues)}
		}
		if old != nil {
			if err := checkShrink(&t, old); err != nil {
				return nil, &sendError{wire.InvalidParameter, err.Error()}
			}
		}
		return []meta.Change{meta.PutTopic{Topic: t, At: b.clock.at()}}, nil
	})
	if err != nil {
		return err
	}
	b.log.Info("topic stored", "topic", t.Name, "read queues", t.ReadQueues, "write queues", t.WriteQueues, "perm", t.Perm, "ordered", t.Ordered())
	return nil
}

// checkShrink refuses a change of an ordered topic's queues that would move
// keys while their messages are still waiting elsewhere.
func checkShrink(t, old *meta.Topic) error {
	if !old.Ordered() || t.WriteQueues == old.WriteQueues && t.ReadQueues >= old.ReadQueues {
		return nil
	}
	return errors.New("the queues of an ordered topic cannot be changed yet: keys would move to other queues before their messages are done; create a new topic")
}
