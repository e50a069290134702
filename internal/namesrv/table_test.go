// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// valid returns what is wrong with a table, "" if nothing is.
func (t *Table) valid() string {
	for name, b := range t.brokers {
		if len(b.addrs) == 0 {
			return fmt.Sprintf("broker %s has no address", name)
		}
		for id, addr := range b.addrs {
			if l := t.live[liveKey{b.cluster, addr}]; l == nil || l.broker != name || l.id != id {
				return fmt.Sprintf("broker %s, id %d, address %s never expires: %+v", name, id, addr, l)
			}
		}
	}
	for key, l := range t.live {
		if b := t.brokers[l.broker]; b == nil || b.cluster != key.cluster || b.addrs[l.id] != key.addr {
			return fmt.Sprintf("%+v lives without a broker that has it", key)
		}
	}
	for topic, byBroker := range t.topics {
		if len(byBroker) == 0 {
			return fmt.Sprintf("topic %s has no broker", topic)
		}
		for name, q := range byBroker {
			if t.brokers[name] == nil || q.broker != name || q.Name != topic {
				return fmt.Sprintf("topic %s at %s: %+v", topic, name, q)
			}
		}
	}
	items := 0
	for namespace, table := range t.kv {
		if items += len(table); len(table) == 0 {
			return fmt.Sprintf("namespace %s is empty", namespace)
		}
	}
	if items != t.kvItems {
		return fmt.Sprintf("%d items counted as %d", items, t.kvItems)
	}
	return ""
}

// TestTableStaysConsistent plays random registrations, losses and edits.
func TestTableStaysConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := NewTable(Limits{Topics: 6}, time.Minute)
		now := time.Unix(0, 0)
		name := rapid.SampledFrom([]string{"a", "b"})
		addr := rapid.SampledFrom([]string{"1", "2", "3"})
		cluster := rapid.SampledFrom([]string{"C", "D"})
		topic := rapid.SampledFrom([]string{"T", "U", "V"})
		conn := rapid.Uint64Range(1, 3)
		t.Repeat(map[string]func(*rapid.T){
			"register": func(t *rapid.T) {
				r := Registration{
					Broker: name.Draw(t, "broker"), Addr: addr.Draw(t, "addr"), Cluster: cluster.Draw(t, "cluster"),
					ID: rapid.Int64Range(0, 2).Draw(t, "id"), ActingMaster: rapid.Bool().Draw(t, "acting"),
					Version: DataVersion{State: rapid.Int64Range(0, 1).Draw(t, "state"), Counter: rapid.Int64Range(0, 2).Draw(t, "version")},
					Conn:    conn.Draw(t, "conn"),
				}
				for _, n := range rapid.SliceOfN(topic, 0, 3).Draw(t, "topics") {
					r.Topics = append(r.Topics, Topic{Name: n, Read: 4, Write: 4, Perm: 6, Ordered: rapid.Bool().Draw(t, "ordered")})
				}
				_, _ = table.Register(now, r)
			},
			"unregister": func(t *rapid.T) {
				table.Unregister(cluster.Draw(t, "cluster"), name.Draw(t, "broker"), addr.Draw(t, "addr"))
			},
			"silence": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second)
				for _, l := range table.Expire(now) {
					if l.Silent <= time.Minute {
						t.Fatalf("%+v expired too early", l)
					}
				}
			},
			"sign of life": func(t *rapid.T) {
				table.Seen(now, cluster.Draw(t, "cluster"), addr.Draw(t, "addr"), conn.Draw(t, "conn"))
			},
			"link lost": func(t *rapid.T) {
				id := conn.Draw(t, "conn")
				table.ConnLost(now, id)
				for key, l := range table.live {
					if l.conn == id {
						t.Fatalf("%+v outlives its connection", key)
					}
				}
			},
			"wipe":   func(t *rapid.T) { table.WipeWrite(name.Draw(t, "broker")) },
			"delete": func(t *rapid.T) { table.DeleteTopic(topic.Draw(t, "topic"), "") },
			"add": func(t *rapid.T) {
				_ = table.AddTopic(topic.Draw(t, "topic"), []Queues{{name.Draw(t, "broker"), Topic{Perm: 6}}})
			},
			"put": func(t *rapid.T) { table.PutKV(cluster.Draw(t, "namespace"), topic.Draw(t, "key"), "v") },
			"del": func(t *rapid.T) { table.DeleteKV(cluster.Draw(t, "namespace"), topic.Draw(t, "key")) },
			"": func(t *rapid.T) {
				if bad := table.valid(); bad != "" {
					t.Fatal(bad)
				}
				for _, n := range []string{"T", "U", "V"} {
					r, found := table.Route(n)
					if found != (len(r.Queues) > 0) || len(r.Brokers) != len(r.Queues) {
						t.Fatalf("route of %s: %+v, %v", n, r, found)
					}
				}
			},
		})
	})
}

func TestPinOfAnOrderedTopicOutlivesItsBroker(t *testing.T) {
	table := NewTable(Limits{}, time.Minute)
	reg := func(broker string, queues int32) []Conflict {
		t.Helper()
		answer, err := table.Register(time.Unix(0, 0), Registration{
			Broker: broker, Addr: broker, Cluster: "C", Version: DataVersion{Counter: int64(queues)},
			Topics: []Topic{{Name: "Orders", Write: queues, Ordered: true}, {Name: "Other"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Conflicts
	}
	want := func(conf string) {
		t.Helper()
		if got := table.OrderConf("Orders"); got != conf {
			t.Errorf("configuration %q, want %q", got, conf)
		}
	}
	if c := reg("a", 8); len(c) != 0 {
		t.Errorf("conflicts %v", c)
	}
	table.Unregister("C", "a", "a")
	want("a:8")
	if c := reg("b", 4); len(c) != 1 || c[0] != (Conflict{"Orders", "a", "b"}) {
		t.Errorf("conflicts %v", c)
	}
	want("a:8")
	if c := reg("b", 5); len(c) != 0 {
		t.Errorf("reported again: %v", c)
	}
	reg("a", 16)
	want("a:16")
	table.DeleteTopic("Orders", "")
	want("")
	reg("b", 6)
	want("b:6")
}

// FuzzCompressedBody checks that no body makes the reader panic or take more
// topics than it holds.
func FuzzCompressedBody(f *testing.F) {
	f.Add([]byte("x\x9c"))
	f.Add([]byte("\x00\x00\x00\x02{}\x00\x00\x00\x01\x00\x00\x00\x15T1 4 4 6 SINGLE_TAG {}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = compressedBody(b)
		w, err := plainBody(b)
		if err == nil && len(w.Topics) > len(b)/4 {
			t.Fatalf("%d topics out of %d bytes", len(w.Topics), len(b))
		}
		for name := range w.Topics {
			if strings.Contains(name, " ") {
				t.Fatalf("topic %q", name)
			}
		}
	})
}
