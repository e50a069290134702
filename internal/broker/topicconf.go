// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"maps"
	"strings"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/route"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// topicBody is a topic as it is told to others. Our own settings travel as
// attributes.
func topicBody(t *meta.Topic) body.TopicConfig {
	attrs := maps.Clone(t.Attributes)
	if attrs == nil {
		attrs = map[string]string{}
	}
	if t.Ordered() {
		attrs[header.AttrLaneFunction] = t.LaneFunc.String()
		attrs[header.AttrLaneCheck] = t.Check.String()
		if t.Lanes != nil {
			m := route.LaneMap{Epoch: int64(t.Lanes.Epoch), Queue: t.Lanes.Queue}
			attrs[header.AttrLaneMap] = m.String()
		}
	}
	return body.TopicConfig{
		TopicName: t.Name, ReadQueueNums: t.ReadQueues, WriteQueueNums: t.WriteQueues, Perm: t.Perm,
		TopicFilterType: t.FilterType.String(), TopicSysFlag: t.SysFlag, Order: t.Order, Attributes: attrs,
	}
}

// topicFrom reads a topic as somebody wants it, and refuses what makes no
// sense.
func (b *Broker) topicFrom(c *body.TopicConfig) (meta.Topic, error) {
	t := meta.Topic{
		Name: c.TopicName, ReadQueues: c.ReadQueueNums, WriteQueues: c.WriteQueueNums, Perm: c.Perm,
		SysFlag: c.TopicSysFlag, Order: c.Order, Attributes: map[string]string{},
	}
	switch c.TopicFilterType {
	case "SINGLE_TAG":
	case "MULTI_TAG":
		t.FilterType = meta.MultiTag
	default:
		return t, &sendError{wire.SystemError, fmt.Sprintf("topicFilterType = [%s] value invalid: SINGLE_TAG or MULTI_TAG", c.TopicFilterType)}
	}
	if t.Perm < 0 || t.Perm > route.PermRead|route.PermWrite|route.PermInherit {
		return t, &sendError{wire.InvalidParameter, fmt.Sprintf("perm %d of topic %s is not 0 to 7", t.Perm, t.Name)}
	}
	for _, n := range []int32{t.ReadQueues, t.WriteQueues} {
		if n < 1 || int(n) > b.cfg.MaxQueues {
			return t, &sendError{wire.InvalidParameter, fmt.Sprintf("topic %s: %d queues: 1 to %d are possible", t.Name, n, b.cfg.MaxQueues)}
		}
	}
	return t, nil
}

// change is one step of an attributes text: set or remove a key.
type attrChange struct {
	key, value string
	remove     bool
}

// parseAttrs reads `+key=value,-key`.
func parseAttrs(text string) ([]attrChange, error) {
	var changes []attrChange
	seen := map[string]bool{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		key, value, set := strings.Cut(item[1:], "=")
		c := attrChange{key: strings.TrimSpace(key), value: strings.TrimSpace(value), remove: item[0] == '-'}
		switch {
		case item[0] != '+' && item[0] != '-', c.key == "", c.remove == set:
			return nil, fmt.Errorf("attribute %.64q: expected +key=value or -key", item)
		case seen[c.key]:
			return nil, fmt.Errorf("alter duplication key. key: %s", c.key)
		}
		seen[c.key] = true
		changes = append(changes, c)
	}
	return changes, nil
}

// applyAttrs changes t's attributes, starting from old's, which is nil for a
// new topic.
func applyAttrs(t *meta.Topic, old *meta.Topic, changes []attrChange) error {
	if old != nil {
		t.Attributes = maps.Clone(old.Attributes)
		t.LaneFunc, t.Check, t.Lanes = old.LaneFunc, old.Check, old.Lanes
	}
	if t.Attributes == nil {
		t.Attributes = map[string]string{}
	}
	for _, c := range changes {
		if c.remove && old == nil {
			return fmt.Errorf("only add attribute is supported while creating topic. key: %s", c.key)
		}
		if err := applyAttr(t, c); err != nil {
			return err
		}
	}
	t.Order = t.Order || t.MessageType() == meta.TypeFIFO
	if kind := t.MessageType(); t.Order && (kind == "" || kind == "UNSPECIFIED") {
		t.Attributes[meta.AttrMessageType] = meta.TypeFIFO
	}
	return nil
}

// applyAttr makes one change, if the key is known and the value possible.
func applyAttr(t *meta.Topic, c attrChange) error {
	ok := true
	switch c.key {
	case header.AttrLaneFunction:
		t.LaneFunc, ok = meta.ParseLaneFunc(c.value)
	case header.AttrLaneCheck:
		t.Check, ok = meta.ParseCheckMode(c.value)
	case header.AttrLaneMap:
		return nil // told by us, and given back by tools that edit what they read
	case "message.type", "queue.type", "cleanup.policy", "reserve.time":
		if ok = c.remove || attrValueOK(c.key, c.value); ok {
			setAttr(t, c)
		}
	default:
		return fmt.Errorf("unsupported key: %s", c.key)
	}
	if !ok {
		return fmt.Errorf("value %.64q of attribute %s is not possible", c.value, c.key)
	}
	return nil
}

func setAttr(t *meta.Topic, c attrChange) {
	if c.remove {
		delete(t.Attributes, c.key)
		return
	}
	t.Attributes[c.key] = c.value
}

// attrValueOK checks the values of RocketMQ's own attributes, and refuses kinds
// of topics that this broker does not have.
func attrValueOK(key, value string) bool {
	switch key {
	case "message.type":
		switch value {
		case "UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED":
			return true
		}
		return false
	case "queue.type":
		return value == "SimpleCQ"
	case "cleanup.policy":
		return value == "DELETE"
	default:
		return len(value) <= 32
	}
}

// checkTopicName says why a topic of this name may not be created or deleted by
// clients, "" if it may.
func (b *Broker) checkTopicName(name string) string {
	if err := msg.CheckTopic(name); err != nil {
		return err.Error()
	}
	if b.isSystemTopic(name) {
		return fmt.Sprintf("The topic[%s] is conflict with system topic.", name)
	}
	return ""
}
