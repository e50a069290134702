// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// NamespaceOrder is the KV namespace of ordered-topic configurations.
const NamespaceOrder = "ORDER_TOPIC_CONFIG"

// NamespaceConflicts is a KV namespace that can be read only: per ordered
// topic that more than one broker has registered, their names.
const NamespaceConflicts = "ORDERLY_CONFLICTS"

// orderPin is the queue set of an ordered topic. It belongs to the first
// broker that registered the topic and stays while that broker is away, so
// that keys do not move.
type orderPin struct {
	broker string
	queues int32
	others []string // other names that registered the topic, sorted
}

// Conflict is an ordered topic that a second broker has registered.
type Conflict struct {
	Topic string
	Owner string // whose queues are served
	Other string
}

// pinOrder notes a registered topic if it is ordered. It returns a conflict
// when one is new.
func (t *Table) pinOrder(topic Topic, broker string) (Conflict, bool) {
	pin := t.orders[topic.Name]
	switch {
	case !topic.Ordered:
		if pin != nil && pin.broker == broker {
			delete(t.orders, topic.Name)
		}
		return Conflict{}, false
	case pin == nil:
		t.prunePins()
		t.orders[topic.Name] = &orderPin{broker: broker, queues: topic.Write}
		return Conflict{}, false
	case pin.broker == broker:
		pin.queues = topic.Write
		return Conflict{}, false
	case slices.Contains(pin.others, broker):
		return Conflict{}, false
	}
	pin.others = append(pin.others, broker)
	slices.Sort(pin.others)
	return Conflict{topic.Name, pin.broker, broker}, true
}

// prunePins makes room when there are as many pins as there may be topics: it
// forgets those of topics that no broker has now.
func (t *Table) prunePins() {
	if len(t.orders) < t.limits.Topics {
		return
	}
	maps.DeleteFunc(t.orders, func(topic string, _ *orderPin) bool { return t.topics[topic] == nil })
}

// forgetConflicts takes a broker that is gone out of the conflicts. A pin it
// owns stays.
func (t *Table) forgetConflicts(broker string) {
	for _, pin := range t.orders {
		pin.others = slices.DeleteFunc(pin.others, func(name string) bool { return name == broker })
	}
}

// Conflicts lists the ordered topics that more than one broker has registered,
// with the names of the brokers, owner first.
func (t *Table) Conflicts() map[string][]string {
	found := map[string][]string{}
	for topic, pin := range t.orders {
		if len(pin.others) > 0 {
			found[topic] = append([]string{pin.broker}, pin.others...)
		}
	}
	return found
}

// OrderConf returns the ordered-topic configuration of a topic, "" if the
// topic is not ordered: what an administrator put, else the pinned queues.
func (t *Table) OrderConf(topic string) string {
	pin := t.orders[topic]
	if pin == nil {
		return ""
	}
	if conf, ok := t.GetKV(NamespaceOrder, topic); ok && conf != "" {
		return conf
	}
	return fmt.Sprintf("%s:%d", pin.broker, pin.queues)
}

// forgetOrder ends the order of a deleted topic. It returns whether an
// administrator's configuration was left, which the caller should delete: a
// new topic of the same name must not inherit it.
func (t *Table) forgetOrder(topic string) bool {
	delete(t.orders, topic)
	_, left := t.GetKV(NamespaceOrder, topic)
	return left
}

func (t *Table) conflictKV() map[string]string {
	kv := map[string]string{}
	for topic, names := range maps.All(t.Conflicts()) {
		kv[topic] = strings.Join(names, ",")
	}
	return kv
}
