// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"cmp"
	"maps"
	"slices"
)

// Broker is a copy of what the table holds of one broker name.
type Broker struct {
	Name         string
	Cluster      string
	Zone         string
	ActingMaster bool
	Addrs        map[int64]string
}

// Queues is what one broker has of a topic.
type Queues struct {
	Broker string
	Topic
}

// Route is where a topic is.
type Route struct {
	Brokers   []Broker // sorted by name, each with at least one address
	Queues    []Queues // sorted by broker
	OrderConf string
}

// Route returns where a topic is; false if no broker has it.
func (t *Table) Route(topic string) (Route, bool) {
	byBroker := t.topics[topic]
	var r Route
	for _, name := range slices.Sorted(maps.Keys(byBroker)) {
		r.Queues = append(r.Queues, Queues{name, byBroker[name].Topic})
		if b := t.brokers[name]; b != nil {
			r.Brokers = append(r.Brokers, b.copy())
		}
	}
	r.OrderConf = t.OrderConf(topic)
	return r, len(r.Brokers) > 0
}

func (b *broker) copy() Broker {
	return Broker{b.name, b.cluster, b.zone, b.actingMaster, maps.Clone(b.addrs)}
}

// Brokers returns all brokers, sorted by name.
func (t *Table) Brokers() []Broker {
	all := make([]Broker, 0, len(t.brokers))
	for _, b := range t.brokers {
		all = append(all, b.copy())
	}
	slices.SortFunc(all, func(a, b Broker) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Members returns the addresses of one broker of one cluster.
func (t *Table) Members(cluster, name string) (Broker, bool) {
	b := t.brokers[name]
	if b == nil || b.cluster != cluster {
		return Broker{}, false
	}
	return b.copy(), true
}

// Topics returns the names of all topics that keep accepts, sorted; keep gets
// what the brokers have of a topic.
func (t *Table) Topics(keep func(map[string]*queueData) bool) []string {
	names := []string{}
	for name, byBroker := range t.topics {
		if keep == nil || keep(byBroker) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// inCluster selects topics that some broker of the cluster has.
func (t *Table) inCluster(cluster string) func(map[string]*queueData) bool {
	return func(byBroker map[string]*queueData) bool {
		for name := range byBroker {
			if b := t.brokers[name]; b != nil && b.cluster == cluster {
				return true
			}
		}
		return false
	}
}

// withFlags selects topics whose system flag has all bits of set and none of
// unset.
func withFlags(set, unset int32) func(map[string]*queueData) bool {
	return func(byBroker map[string]*queueData) bool {
		for _, q := range byBroker {
			return q.SysFlag&set == set && q.SysFlag&unset == 0
		}
		return false
	}
}
