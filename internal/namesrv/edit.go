// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"errors"
	"fmt"
)

var errRegisterFailed = errors.New("register broker failed")

// WipeWrite takes the write permission from all topics of a broker, until it
// registers a changed table, and returns how many there are.
func (t *Table) WipeWrite(broker string) int {
	return t.editPerm(broker, func(perm int32) int32 { return perm &^ permWrite })
}

// AddWrite gives read and write permission to all topics of a broker.
func (t *Table) AddWrite(broker string) int {
	return t.editPerm(broker, func(int32) int32 { return permRead | permWrite })
}

func (t *Table) editPerm(broker string, edit func(int32) int32) int {
	n := 0
	for _, byBroker := range t.topics {
		if q := byBroker[broker]; q != nil {
			q.Perm = edit(q.Perm)
			n++
		}
	}
	return n
}

// DeleteTopic takes a topic out, of one cluster or, if that is "", of all. It
// returns true if the topic is gone and has left an ordered-topic
// configuration in the KV table.
func (t *Table) DeleteTopic(topic, cluster string) bool {
	byBroker := t.topics[topic]
	for name := range byBroker {
		if b := t.brokers[name]; cluster == "" || b != nil && b.cluster == cluster {
			delete(byBroker, name)
		}
	}
	if len(byBroker) > 0 {
		return false
	}
	delete(t.topics, topic)
	return t.forgetOrder(topic)
}

// AddTopic registers queues of a topic for brokers that are known.
func (t *Table) AddTopic(topic string, queues []Queues) error {
	if topic == "" {
		return errors.New("a topic needs a name")
	}
	if t.topics[topic] == nil && len(t.topics) >= t.limits.Topics {
		return fmt.Errorf("the name server holds %d topics, its bound", len(t.topics))
	}
	for _, q := range queues {
		if t.brokers[q.Broker] == nil {
			continue
		}
		q.Topic.Name = topic
		t.setQueueData(q.Topic, q.Broker)
	}
	return nil
}
