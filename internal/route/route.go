// SPDX-License-Identifier: Apache-2.0

package route

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/orderlymq/orderly/internal/msg"
)

// Bits of QueueData.Perm.
const (
	PermInherit  int32 = 1 // template of created topics
	PermWrite    int32 = 2
	PermRead     int32 = 4
	PermPriority int32 = 8
)

// MasterID is the broker id of a master.
const MasterID int64 = 0

// BrokerData says where the processes of one broker name are, by broker id.
type BrokerData struct {
	Cluster, Name string
	Addrs         map[int64]string
	ActingMaster  bool
	Zone          string
}

// Master returns the address that takes sends.
func (b *BrokerData) Master() (string, bool) {
	addr, ok := b.Addrs[MasterID]
	return addr, ok && addr != ""
}

// Any returns the master's address or, without one, that of the lowest id.
func (b *BrokerData) Any() (string, bool) {
	for _, id := range slices.Sorted(maps.Keys(b.Addrs)) {
		if addr := b.Addrs[id]; addr != "" {
			return addr, true
		}
	}
	return "", false
}

// QueueData says how many queues of the topic one broker has.
type QueueData struct {
	Broker      string
	Read, Write int32
	Perm        int32
	SysFlag     int32
}

// TopicRoute is what a name server answers about one topic. Static topics (queue
// mappings across brokers) are not supported.
type TopicRoute struct {
	Brokers   []BrokerData
	Queues    []QueueData
	OrderConf string // ordered-topic configuration, see OrderConf
}

// Broker finds a broker by name.
func (r *TopicRoute) Broker(name string) (*BrokerData, bool) {
	for i := range r.Brokers {
		if r.Brokers[i].Name == name {
			return &r.Brokers[i], true
		}
	}
	return nil, false
}

// Publishable is the list of queues that a producer chooses from.
type Publishable struct {
	Queues  []MessageQueue
	Ordered bool // pinned by an ordered-topic configuration
}

// Publishable works out the queues to send to. With an ordered-topic
// configuration they are exactly its queues, in its order, whether or not a
// broker can take writes. Without one they are, sorted by broker name, the write
// queues of the brokers that have the write permission and a master.
func (r *TopicRoute) Publishable(topic string) (Publishable, error) {
	if r.OrderConf != "" {
		conf, err := ParseOrderConf(r.OrderConf)
		if err != nil {
			return Publishable{}, fmt.Errorf("route of %s: %w", topic, err)
		}
		return Publishable{Queues: conf.Queues(topic), Ordered: true}, nil
	}
	queues, err := r.list(topic, func(q *QueueData) int32 {
		if q.Perm&PermWrite == 0 {
			return 0
		}
		b, ok := r.Broker(q.Broker)
		if !ok {
			return 0
		}
		if _, ok := b.Master(); !ok {
			return 0
		}
		return q.Write
	})
	return Publishable{Queues: queues}, err
}

// Subscribable works out the queues to consume from: the read queues of the
// brokers that have the read permission, sorted by broker name.
func (r *TopicRoute) Subscribable(topic string) ([]MessageQueue, error) {
	return r.list(topic, func(q *QueueData) int32 {
		if q.Perm&PermRead == 0 {
			return 0
		}
		return q.Read
	})
}

func (r *TopicRoute) list(topic string, count func(*QueueData) int32) ([]MessageQueue, error) {
	sorted := slices.Clone(r.Queues)
	slices.SortStableFunc(sorted, func(a, b QueueData) int { return cmp.Compare(a.Broker, b.Broker) })
	var out []MessageQueue
	for i := range sorted {
		n := count(&sorted[i])
		if int64(n)+int64(len(out)) > msg.MaxQueueCount {
			return nil, fmt.Errorf("route of %s: broker %s claims %d queues, more than %d in all", topic, sorted[i].Broker, n, msg.MaxQueueCount)
		}
		for id := range n {
			out = append(out, MessageQueue{Topic: topic, Broker: sorted[i].Broker, Queue: id})
		}
	}
	return out, nil
}

// AutoCreated is the route that a producer pretends for a topic which does not
// exist yet: r is the route of the template topic, limit the queues per broker
// that the client asks for at most.
func (r *TopicRoute) AutoCreated(limit int32) TopicRoute {
	out := r.Clone()
	out.OrderConf = ""
	for i := range out.Queues {
		n := min(limit, out.Queues[i].Read)
		out.Queues[i].Read, out.Queues[i].Write = n, n
	}
	return out
}

// Clone copies the route in depth.
func (r *TopicRoute) Clone() TopicRoute {
	out := *r
	out.Queues = slices.Clone(r.Queues)
	out.Brokers = slices.Clone(r.Brokers)
	for i := range out.Brokers {
		out.Brokers[i].Addrs = maps.Clone(out.Brokers[i].Addrs)
	}
	return out
}

// Equal reports whether both routes say the same; the order of brokers and of
// queue data does not count.
func (r *TopicRoute) Equal(o *TopicRoute) bool {
	if r.OrderConf != o.OrderConf || len(r.Queues) != len(o.Queues) || len(r.Brokers) != len(o.Brokers) {
		return false
	}
	a, b := r.sorted(), o.sorted()
	return slices.Equal(a.Queues, b.Queues) && slices.EqualFunc(a.Brokers, b.Brokers, func(x, y BrokerData) bool {
		return x.Cluster == y.Cluster && x.Name == y.Name && x.ActingMaster == y.ActingMaster &&
			x.Zone == y.Zone && maps.Equal(x.Addrs, y.Addrs)
	})
}

func (r *TopicRoute) sorted() TopicRoute {
	out := TopicRoute{Queues: slices.Clone(r.Queues), Brokers: slices.Clone(r.Brokers)}
	slices.SortFunc(out.Queues, func(a, b QueueData) int {
		return cmp.Or(cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.Read, b.Read), cmp.Compare(a.Write, b.Write),
			cmp.Compare(a.Perm, b.Perm), cmp.Compare(a.SysFlag, b.SysFlag))
	})
	slices.SortStableFunc(out.Brokers, func(a, b BrokerData) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name))
	})
	return out
}
