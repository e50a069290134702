// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/orderlymq/orderly/internal/msg"
)

// OrderConf is an ordered-topic configuration, as text "broker-a:8;broker-b:4":
// which brokers hold the topic and how many queues each has. The order counts:
// it is the order of the queue list that keys are hashed over.
type OrderConf []BrokerQueues

// BrokerQueues is one entry of an OrderConf.
type BrokerQueues struct {
	Broker string
	Queues int32
}

// ParseOrderConf reads a configuration and refuses one that would not give a
// stable list: an empty or twice named broker, a count below 1, too many queues.
func ParseOrderConf(s string) (OrderConf, error) {
	var conf OrderConf
	for part := range strings.SplitSeq(s, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		broker, count, ok := strings.Cut(part, ":")
		n, err := strconv.ParseInt(count, 10, 32)
		if !ok || broker == "" || err != nil || n < 1 {
			return nil, fmt.Errorf("order configuration %.256q: %.64q is not broker:queues", s, part)
		}
		if conf.index(broker) >= 0 {
			return nil, fmt.Errorf("order configuration %.256q names broker %q twice", s, broker)
		}
		conf = append(conf, BrokerQueues{Broker: broker, Queues: int32(n)})
		if conf.Total() > msg.MaxQueueCount {
			return nil, fmt.Errorf("order configuration %.256q: more than %d queues", s, msg.MaxQueueCount)
		}
	}
	if len(conf) == 0 {
		return nil, fmt.Errorf("order configuration %.256q is empty: write broker:queues", s)
	}
	return conf, nil
}

// PinOf returns the configuration that keeps the given list, as Publishable made
// it, from changing.
func PinOf(queues []MessageQueue) OrderConf {
	var conf OrderConf
	for _, q := range queues {
		if i := conf.index(q.Broker); i >= 0 {
			conf[i].Queues = max(conf[i].Queues, q.Queue+1)
		} else {
			conf = append(conf, BrokerQueues{Broker: q.Broker, Queues: q.Queue + 1})
		}
	}
	return conf
}

func (c OrderConf) String() string {
	parts := make([]string, len(c))
	for i, b := range c {
		parts[i] = b.Broker + ":" + strconv.Itoa(int(b.Queues))
	}
	return strings.Join(parts, ";")
}

// Total counts the queues of all brokers.
func (c OrderConf) Total() int64 {
	var n int64
	for _, b := range c {
		n += int64(b.Queues)
	}
	return n
}

// With returns the configuration with one broker's entry added or replaced; it
// keeps its place.
func (c OrderConf) With(broker string, queues int32) OrderConf {
	out := slices.Clone(c)
	if i := out.index(broker); i >= 0 {
		out[i].Queues = queues
		return out
	}
	return append(out, BrokerQueues{Broker: broker, Queues: queues})
}

// Queues returns the list of all queues.
func (c OrderConf) Queues(topic string) []MessageQueue {
	out := make([]MessageQueue, 0, c.Total())
	for _, b := range c {
		for id := range b.Queues {
			out = append(out, MessageQueue{Topic: topic, Broker: b.Broker, Queue: id})
		}
	}
	return out
}

func (c OrderConf) index(broker string) int {
	return slices.IndexFunc(c, func(b BrokerQueues) bool { return b.Broker == broker })
}
