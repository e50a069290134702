// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Permission bits of a queue.
const (
	permWrite = 2
	permRead  = 4
)

// Bits of a topic's system flag.
const (
	flagUnit    = 1
	flagUnitSub = 2
)

// DataVersion tells two states of a broker's topic table apart. It is compared
// as a whole.
type DataVersion struct {
	State     int64
	Timestamp int64
	Counter   int64
}

// Topic is a topic as one broker registers it.
type Topic struct {
	Name    string
	Read    int32
	Write   int32
	Perm    int32
	SysFlag int32
	Ordered bool // order=true or message type FIFO
}

// Registration is what a broker says about itself.
type Registration struct {
	Cluster      string
	Broker       string
	Addr         string // that clients use
	HAAddr       string
	Zone         string
	ID           int64 // 0 is the master
	ActingMaster bool
	Timeout      time.Duration // without a sign of life; 0 means the default
	Version      DataVersion
	Topics       []Topic
	Conn         uint64 // the connection it came on
}

// Limits bounds a table. Zero fields mean the defaults given here.
type Limits struct {
	Brokers  int // names, with all their addresses: 1,000
	Topics   int // 200,000
	KVItems  int // 100,000
	KVLength int // bytes of namespace, key and value together: 64 KiB
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Brokers:  cmp.Or(l.Brokers, 1000),
		Topics:   cmp.Or(l.Topics, 200_000),
		KVItems:  cmp.Or(l.KVItems, 100_000),
		KVLength: cmp.Or(l.KVLength, 64<<10),
	}
}

// Table is the name server's state. It has no lock, no clock and does no I/O.
type Table struct {
	limits  Limits
	timeout time.Duration // of a broker that names none

	brokers map[string]*broker               // by name
	topics  map[string]map[string]*queueData // topic -> broker name
	live    map[liveKey]*liveness
	orders  map[string]*orderPin // ordered topics; see order.go
	kv      map[string]map[string]string
	kvItems int
}

// broker is one broker name with its addresses. It exists as long as it has
// any.
type broker struct {
	name         string
	cluster      string
	zone         string
	actingMaster bool
	addrs        map[int64]string // by broker id
}

// queueData is what one broker has of one topic.
type queueData struct {
	Topic
	broker string
}

type liveKey struct{ cluster, addr string }

// liveness is the last sign of life of one address.
type liveness struct {
	broker  string
	id      int64
	haAddr  string
	version DataVersion
	seen    time.Time
	timeout time.Duration
	conn    uint64
}

// NewTable returns an empty table. timeout is after how long without a sign of
// life a broker is out, unless it asks for another time.
func NewTable(l Limits, timeout time.Duration) *Table {
	return &Table{
		limits:  l.withDefaults(),
		timeout: timeout,
		brokers: map[string]*broker{},
		topics:  map[string]map[string]*queueData{},
		live:    map[liveKey]*liveness{},
		orders:  map[string]*orderPin{},
		kv:      map[string]map[string]string{},
	}
}

// Registered is the answer to a registration.
type Registered struct {
	MasterAddr string // only for a slave whose master is registered
	HAAddr     string // of that master
	Conflicts  []Conflict
}

// Register takes a registration in.
func (t *Table) Register(now time.Time, r Registration) (Registered, error) {
	if err := t.checkRegistration(r); err != nil {
		return Registered{}, err
	}
	b := t.brokers[r.Broker]
	if b != nil && t.outdated(b, r) {
		return Registered{}, nil // another address with a newer state has this id
	}
	if b = t.moveIn(b, r); b != nil && b.cluster != r.Cluster {
		return Registered{}, fmt.Errorf("broker name %s is taken in cluster %s: broker names must differ across clusters", r.Broker, b.cluster)
	}
	if _, known := b.addr(r.ID); !known && len(r.Topics) == 1 {
		// An incremental registration of a broker that is not known (any
		// more): it shall send everything.
		return Registered{}, errRegisterFailed
	}
	b = t.place(b, r)
	old := t.live[liveKey{r.Cluster, r.Addr}]
	var conflicts []Conflict
	if t.isMaster(b, r.ID) {
		conflicts = t.applyTopics(r, old == nil || old.version != r.Version)
	}
	t.live[liveKey{r.Cluster, r.Addr}] = &liveness{
		broker: r.Broker, id: r.ID, haAddr: r.HAAddr, version: r.Version,
		seen: now, timeout: cmp.Or(r.Timeout, t.timeout), conn: r.Conn,
	}
	answer := Registered{Conflicts: conflicts}
	if master, ok := b.addr(0); ok && r.ID != 0 {
		if l := t.live[liveKey{r.Cluster, master}]; l != nil {
			answer.MasterAddr, answer.HAAddr = master, l.haAddr
		}
	}
	return answer, nil
}

func (t *Table) checkRegistration(r Registration) error {
	switch {
	case r.Broker == "" || r.Addr == "" || r.Cluster == "":
		return fmt.Errorf("a broker needs a name, a cluster and an address")
	case r.ID < 0:
		return fmt.Errorf("broker id %d is negative", r.ID)
	case t.brokers[r.Broker] == nil && len(t.brokers) >= t.limits.Brokers:
		return fmt.Errorf("the name server holds %d brokers, its bound", len(t.brokers))
	case len(t.topics)+len(r.Topics) > t.limits.Topics && t.grown(r.Topics) > t.limits.Topics:
		return fmt.Errorf("the name server holds %d topics; %d more exceed its bound of %d", len(t.topics), len(r.Topics), t.limits.Topics)
	}
	return nil
}

// grown returns how many topics there would be with these.
func (t *Table) grown(topics []Topic) int {
	n := len(t.topics)
	for _, topic := range topics {
		if t.topics[topic.Name] == nil {
			n++
		}
	}
	return n
}

// outdated reports whether another address holds r's id with a newer state.
func (t *Table) outdated(b *broker, r Registration) bool {
	addr, ok := b.addr(r.ID)
	if !ok || addr == r.Addr {
		return false
	}
	l := t.live[liveKey{r.Cluster, addr}]
	return l != nil && l.version.State > r.Version.State
}

// moveIn takes r's address out of where it was under another broker name or
// cluster, so that each address is one broker's. It returns r's broker, nil if
// that has no address (any more).
func (t *Table) moveIn(b *broker, r Registration) *broker {
	if l := t.live[liveKey{r.Cluster, r.Addr}]; l != nil && l.broker != r.Broker {
		t.Unregister(r.Cluster, l.broker, r.Addr)
	}
	if b != nil && b.cluster != r.Cluster {
		if l := t.live[liveKey{b.cluster, r.Addr}]; l != nil && l.broker == r.Broker {
			t.Unregister(b.cluster, r.Broker, r.Addr)
		}
	}
	return t.brokers[r.Broker]
}

// place gives r's address its id. An address that had another id changes it.
func (t *Table) place(b *broker, r Registration) *broker {
	if b == nil {
		b = &broker{name: r.Broker, addrs: map[int64]string{}}
		t.brokers[r.Broker] = b
	}
	b.cluster, b.zone, b.actingMaster = r.Cluster, r.Zone, r.ActingMaster
	maps.DeleteFunc(b.addrs, func(id int64, addr string) bool { return addr == r.Addr && id != r.ID })
	if old, ok := b.addrs[r.ID]; ok && old != r.Addr {
		delete(t.live, liveKey{r.Cluster, old})
	}
	b.addrs[r.ID] = r.Addr
	return b
}

// isMaster reports whether this id's topics are the broker's: the master's, or
// with acting masters the lowest id's.
func (t *Table) isMaster(b *broker, id int64) bool {
	if id == 0 {
		return true
	}
	return b.actingMaster && id == slices.Min(slices.Collect(maps.Keys(b.addrs)))
}

// applyTopics takes the topics over. When the data version is the one known,
// only topics that are missing here are: an administrator's edits stay.
func (t *Table) applyTopics(r Registration, changed bool) []Conflict {
	var conflicts []Conflict
	for _, topic := range r.Topics {
		if topic.Name == "" || !changed && t.topics[topic.Name][r.Broker] != nil {
			continue
		}
		t.setQueueData(topic, r.Broker)
		if c, ok := t.pinOrder(topic, r.Broker); ok {
			conflicts = append(conflicts, c)
		}
	}
	return conflicts
}

func (t *Table) setQueueData(topic Topic, broker string) {
	byBroker := t.topics[topic.Name]
	if byBroker == nil {
		byBroker = map[string]*queueData{}
		t.topics[topic.Name] = byBroker
	}
	byBroker[broker] = &queueData{Topic: topic, broker: broker}
}

// Unregister takes one address of a broker out. One that is not this broker's
// stays.
func (t *Table) Unregister(cluster, name, addr string) {
	b := t.brokers[name]
	l := t.live[liveKey{cluster, addr}]
	if b == nil || b.cluster != cluster || l == nil || l.broker != name {
		return
	}
	delete(t.live, liveKey{cluster, addr})
	maps.DeleteFunc(b.addrs, func(_ int64, a string) bool { return a == addr })
	if len(b.addrs) > 0 {
		return
	}
	delete(t.brokers, name)
	t.forgetConflicts(name)
	for topic, byBroker := range t.topics {
		delete(byBroker, name)
		if len(byBroker) == 0 {
			delete(t.topics, topic)
		}
	}
}

// Lost is a broker address that was taken out because nothing was heard of it.
type Lost struct {
	Cluster, Broker, Addr string
	ID                    int64
	Silent                time.Duration
}

// Expire takes out every address that gave no sign of life for its time-out.
func (t *Table) Expire(now time.Time) []Lost {
	return t.drop(now, func(l *liveness) bool { return now.Sub(l.seen) > l.timeout })
}

// ConnLost takes out every address that registered last on this connection.
func (t *Table) ConnLost(now time.Time, conn uint64) []Lost {
	return t.drop(now, func(l *liveness) bool { return l.conn == conn })
}

func (t *Table) drop(now time.Time, gone func(*liveness) bool) []Lost {
	var lost []Lost
	for key, l := range t.live {
		if gone(l) {
			lost = append(lost, Lost{key.cluster, l.broker, key.addr, l.id, now.Sub(l.seen)})
		}
	}
	slices.SortFunc(lost, func(a, b Lost) int { return cmp.Compare(a.Addr, b.Addr) })
	for _, l := range lost {
		t.Unregister(l.Cluster, l.Broker, l.Addr)
	}
	return lost
}

// Seen notes a sign of life of an address and the connection it came on. It
// returns the data version last registered.
func (t *Table) Seen(now time.Time, cluster, addr string, conn uint64) (DataVersion, bool) {
	l := t.live[liveKey{cluster, addr}]
	if l == nil {
		return DataVersion{}, false
	}
	l.seen, l.conn = now, conn
	return l.version, true
}

// addr returns the address of a broker id; b may be nil.
func (b *broker) addr(id int64) (string, bool) {
	if b == nil {
		return "", false
	}
	addr, ok := b.addrs[id]
	return addr, ok
}
