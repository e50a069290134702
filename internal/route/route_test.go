// SPDX-License-Identifier: Apache-2.0

package route

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func broker(name string, addrs ...string) BrokerData {
	b := BrokerData{Cluster: "C", Name: name, Addrs: map[int64]string{}}
	for i := 0; i < len(addrs); i++ {
		if addrs[i] != "" {
			b.Addrs[int64(i)] = addrs[i]
		}
	}
	return b
}

func q(b string, ids ...int32) (out []MessageQueue) {
	for _, id := range ids {
		out = append(out, MessageQueue{"T", b, id})
	}
	return out
}

func join(lists ...[]MessageQueue) (out []MessageQueue) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func TestQueueLists(t *testing.T) {
	both := []BrokerData{broker("b", "b:1"), broker("a", "a:1", "a:2")}
	tests := []struct {
		name      string
		r         TopicRoute
		pub, sub  []MessageQueue
		isOrdered bool
	}{
		{
			"sorted by broker",
			TopicRoute{Brokers: both, Queues: []QueueData{{"b", 1, 2, 6, 0}, {"a", 2, 1, 6, 0}}},
			join(q("a", 0), q("b", 0, 1)), join(q("a", 0, 1), q("b", 0)), false,
		},
		{
			"read only",
			TopicRoute{Brokers: both, Queues: []QueueData{{"b", 1, 1, 4, 0}, {"a", 1, 1, 6, 0}}},
			q("a", 0), join(q("a", 0), q("b", 0)), false,
		},
		{
			"write only",
			TopicRoute{Brokers: both, Queues: []QueueData{{"b", 1, 1, 2, 0}, {"a", 1, 1, 6, 0}}},
			join(q("a", 0), q("b", 0)), q("a", 0), false,
		},
		{"no permission", TopicRoute{Brokers: both, Queues: []QueueData{{"a", 1, 1, 1, 0}}}, nil, nil, false},
		{
			"no master",
			TopicRoute{Brokers: []BrokerData{broker("a", "", "a:2"), broker("b", "b:1")}, Queues: []QueueData{{"a", 1, 1, 6, 0}, {"b", 1, 1, 6, 0}}},
			q("b", 0), join(q("a", 0), q("b", 0)), false,
		},
		{"broker unknown", TopicRoute{Queues: []QueueData{{"a", 1, 1, 6, 0}}}, nil, q("a", 0), false},
		{"nothing", TopicRoute{}, nil, nil, false},
		{"negative counts", TopicRoute{Brokers: both, Queues: []QueueData{{"a", -1, -5, 6, 0}}}, nil, nil, false},
		{"pinned: textual order, permission and master do not count", TopicRoute{
			OrderConf: "b:2;gone:1;a:1", Brokers: []BrokerData{broker("a", "", "a:2"), broker("b", "b:1")},
			Queues: []QueueData{{"a", 1, 1, 4, 0}, {"b", 8, 8, 6, 0}},
		}, join(q("b", 0, 1), q("gone", 0), q("a", 0)), join(q("a", 0), q("b", 0, 1, 2, 3, 4, 5, 6, 7)), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pub, err := tt.r.Publishable("T")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Publishable{tt.pub, tt.isOrdered}, pub, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("publish: %s", diff)
			}
			sub, err := tt.r.Subscribable("T")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.sub, sub, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("subscribe: %s", diff)
			}
		})
	}
}

func TestAbsurdRoutes(t *testing.T) {
	r := TopicRoute{Brokers: []BrokerData{broker("a", "a:1"), broker("b", "b:1")}, Queues: []QueueData{{"a", 65536, 65536, 6, 0}, {"b", 1, 1, 6, 0}}}
	if _, err := r.Publishable("T"); err == nil {
		t.Error("65537 queues to send to")
	}
	if _, err := r.Subscribable("T"); err == nil {
		t.Error("65537 queues to read")
	}
	r.OrderConf = "a"
	if _, err := r.Publishable("T"); err == nil {
		t.Error("a broken order configuration passed")
	}
}

func TestAddresses(t *testing.T) {
	r := TopicRoute{Brokers: []BrokerData{broker("a", "a:0", "a:1"), broker("b", "", "", "b:2"), broker("c")}}
	for name, want := range map[string][2]string{"a": {"a:0", "a:0"}, "b": {"", "b:2"}, "c": {"", ""}} {
		b, ok := r.Broker(name)
		if !ok {
			t.Fatalf("%s not found", name)
		}
		master, _ := b.Master()
		some, ok := b.Any()
		if master != want[0] || some != want[1] || ok != (want[1] != "") {
			t.Errorf("%s: master %q, any %q", name, master, some)
		}
	}
	if _, ok := r.Broker("x"); ok {
		t.Error("found a broker that is not there")
	}
}

func TestAutoCreated(t *testing.T) {
	template := TopicRoute{Brokers: []BrokerData{broker("a", "a:1")}, Queues: []QueueData{{"a", 8, 8, 7, 0}, {"b", 2, 8, 7, 0}}}
	got := template.AutoCreated(4)
	if want := []QueueData{{"a", 4, 4, 7, 0}, {"b", 2, 2, 7, 0}}; !cmp.Equal(got.Queues, want) {
		t.Errorf("%+v", got.Queues)
	}
	got.Brokers[0].Addrs[0] = "changed"
	if template.Queues[0].Read != 8 || template.Brokers[0].Addrs[0] != "a:1" {
		t.Error("the template changed")
	}
}

func TestEqual(t *testing.T) {
	make2 := func() TopicRoute {
		return TopicRoute{Brokers: []BrokerData{broker("a", "a:1"), broker("b", "b:1")}, Queues: []QueueData{{"a", 1, 2, 6, 0}, {"b", 1, 2, 6, 0}}}
	}
	a, b := make2(), make2()
	b.Brokers[0], b.Brokers[1] = b.Brokers[1], b.Brokers[0]
	b.Queues[0], b.Queues[1] = b.Queues[1], b.Queues[0]
	if !a.Equal(&b) || !b.Equal(&a) {
		t.Error("the order of entries counts")
	}
	for name, change := range map[string]func(*TopicRoute){
		"address":     func(r *TopicRoute) { r.Brokers[0].Addrs[0] = "x" },
		"slave":       func(r *TopicRoute) { r.Brokers[0].Addrs[1] = "x" },
		"broker gone": func(r *TopicRoute) { r.Brokers = r.Brokers[:1] },
		"permission":  func(r *TopicRoute) { r.Queues[0].Perm = 4 },
		"queue count": func(r *TopicRoute) { r.Queues[1].Write = 3 },
		"order":       func(r *TopicRoute) { r.OrderConf = "a:1" },
		"zone":        func(r *TopicRoute) { r.Brokers[0].Zone = "z" },
	} {
		c := make2()
		change(&c)
		if a.Equal(&c) || c.Equal(&a) {
			t.Errorf("%s: not noticed", name)
		}
	}
}

func TestOrderConf(t *testing.T) {
	for _, s := range []string{"broker-a:8", "broker-a:8;broker-b:4", "b:1;a:2"} {
		conf, err := ParseOrderConf(s)
		if err != nil || conf.String() != s {
			t.Errorf("%q: %q, %v", s, conf, err)
		}
	}
	if conf, err := ParseOrderConf(" a:1 ; ;b:2;"); err != nil || conf.String() != "a:1;b:2" || conf.Total() != 3 {
		t.Errorf("%v, %v", conf, err)
	}
	for _, bad := range []string{"", ";", "a", "a:", ":1", "a:0", "a:-1", "a:x", "a:1:2", "a:1;a:2", "a:65537", "a:65536;b:1", "a:99999999999999"} {
		if conf, err := ParseOrderConf(bad); err == nil {
			t.Errorf("%q passed: %v", bad, conf)
		}
	}
	conf := OrderConf{{"a", 1}, {"b", 2}}
	if got := conf.With("a", 4).With("c", 3).String(); got != "a:4;b:2;c:3" || conf.String() != "a:1;b:2" {
		t.Errorf("%s, before %s", got, conf)
	}
}

// A list that a producer has seen can be pinned, and comes back the same.
func TestPinOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var conf OrderConf
		for _, b := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), 1, 5, rapid.ID[string]).Draw(t, "brokers") {
			conf = append(conf, BrokerQueues{b, rapid.Int32Range(1, 20).Draw(t, "n")})
		}
		parsed, err := ParseOrderConf(conf.String())
		if err != nil || !cmp.Equal(parsed, conf) || !cmp.Equal(PinOf(conf.Queues("T")), conf) {
			t.Fatalf("%v, %v, %v", parsed, PinOf(conf.Queues("T")), err)
		}
	})
}

func FuzzParseOrderConf(f *testing.F) {
	f.Add("broker-a:8;broker-b:4")
	f.Add(" a:1 ; ;b:2;")
	f.Fuzz(func(t *testing.T, s string) {
		conf, err := ParseOrderConf(s)
		if err != nil {
			return
		}
		again, err := ParseOrderConf(conf.String())
		if err != nil || !cmp.Equal(again, conf) || int64(len(conf.Queues("T"))) != conf.Total() {
			t.Fatalf("%v, %v, %v", conf, again, err)
		}
	})
}

func TestMessageQueue(t *testing.T) {
	if got := (MessageQueue{"T", "B", 7}).String(); got != "MessageQueue [topic=T, brokerName=B, queueId=7]" {
		t.Error(got)
	}
	sorted := []MessageQueue{{"A", "b", 9}, {"B", "a", 2}, {"B", "a", 10}, {"B", "b", 0}}
	for i := range sorted {
		for j := range sorted {
			if got, want := sorted[i].Compare(sorted[j]), compareInt(i, j); got != want {
				t.Errorf("%v against %v: %d", sorted[i], sorted[j], got)
			}
		}
	}
}

func compareInt(i, j int) int {
	switch {
	case i < j:
		return -1
	case i > j:
		return 1
	}
	return 0
}
