// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"slices"
	"testing"
	"time"
)

func sampleView() *View {
	v := newView()
	for _, g := range []string{"G", "G2", "H"} {
		for _, topic := range []string{"T", "T2", "U"} {
			for q := range int32(3) {
				Commit{QueueKey: QueueKey{g, topic, q}, Offset: int64(q)}.apply(v)
			}
		}
		PutGroup{Group: DefaultGroup(g)}.apply(v)
		SetForbidden{Group: g, Topic: "T", Bits: 1}.apply(v)
	}
	for _, topic := range []string{"T2", "T", "U"} {
		PutTopic{Topic: Topic{Name: topic}}.apply(v)
		AddFrame{ProducerKey{1, topic, 0}, Frame{Count: 1}}.apply(v)
	}
	PutKV{"A", "k1", "1"}.apply(v)
	PutKV{"A", "k0", "0"}.apply(v)
	PutKV{"AB", "k2", "2"}.apply(v)
	SetMark{"delay/2", 2}.apply(v)
	SetMark{"delay/1", 1}.apply(v)
	SetMark{"delays", 3}.apply(v)
	return v
}

func TestViewLists(t *testing.T) {
	v := sampleView()
	var numbers []int32
	for k, q := range v.Queues("G", "T") {
		if k.Group != "G" || k.Topic != "T" || q.Committed != int64(k.Queue) {
			t.Errorf("%+v: %+v", k, q)
		}
		numbers = append(numbers, k.Queue)
	}
	if !slices.Equal(numbers, []int32{0, 1, 2}) {
		t.Errorf("queues %v", numbers)
	}
	count := 0
	for k := range v.QueuesOf("G") {
		if k.Group != "G" {
			t.Errorf("queue %+v", k)
		}
		count++
	}
	if count != 9 || v.QueueCount() != 27 || v.TopicCount() != 3 || v.GroupCount() != 3 {
		t.Errorf("%d queues of G, %d in all", count, v.QueueCount())
	}
	if got := slices.Collect(v.TopicsOf("G")); !slices.Equal(got, []string{"T", "T2", "U"}) {
		t.Errorf("topics of G: %v", got)
	}
	for range v.TopicsOf("G") {
		break // ends early without harm
	}
	var names []string
	for topic := range v.Topics() {
		names = append(names, topic.Name)
	}
	if !slices.IsSorted(names) || len(names) != 3 {
		t.Errorf("topics %v", names)
	}
	var keys []string
	for k, value := range v.Namespace("A") {
		keys = append(keys, k+"="+value)
	}
	if !slices.Equal(keys, []string{"k0=0", "k1=1"}) {
		t.Errorf("namespace A: %v", keys)
	}
	var delays []int64
	for _, value := range v.Marks("delay/") {
		delays = append(delays, value)
	}
	if !slices.Equal(delays, []int64{1, 2}) {
		t.Errorf("marks: %v", delays)
	}
}

func TestUntouchedQueue(t *testing.T) {
	v := newView()
	q, ok := v.Queue(QueueKey{"G", "T", 0})
	if ok || q.Committed != None || q.Start != None || q.Lease.Held() || v.Committed(QueueKey{"G", "T", 0}) != None {
		t.Errorf("%+v %v", q, ok)
	}
}

func TestDeleteTopicRemovesWhatHangsOnIt(t *testing.T) {
	v := sampleView()
	before := *v
	DeleteTopic{Name: "T"}.apply(v)
	if _, ok := v.Topic("T"); ok {
		t.Error("topic is still there")
	}
	for _, g := range []string{"G", "G2", "H"} {
		for k := range v.Queues(g, "T") {
			t.Errorf("queue %+v is still there", k)
		}
		group, _ := v.Group(g)
		if group.Forbidden["T"] != 0 {
			t.Errorf("%s is still forbidden", g)
		}
	}
	if v.QueueCount() != 18 || v.Frames(ProducerKey{1, "T", 0}) != nil || v.Frames(ProducerKey{1, "U", 0}) == nil {
		t.Errorf("%d queues left", v.QueueCount())
	}
	if before.QueueCount() != 27 {
		t.Error("the view before has changed")
	}
}

func TestDeleteGroupKeepsOffsetsIfAsked(t *testing.T) {
	key := QueueKey{"G", "T", 1}
	for _, keep := range []bool{false, true} {
		v := sampleView()
		GrantLease{key, Lease{Holder: "c", Epoch: 7}}.apply(v)
		DeleteGroup{Name: "G", KeepOffsets: keep}.apply(v)
		q, ok := v.Queue(key)
		if ok != keep || q.Lease.Held() || keep && (q.Committed != 1 || q.Epoch != 7) {
			t.Errorf("keep %v: %+v %v", keep, q, ok)
		}
		if v.Committed(QueueKey{"G2", "T", 1}) != 1 {
			t.Error("another group lost its offset")
		}
	}
}

func TestGroupTimes(t *testing.T) {
	for _, c := range []struct {
		graceMs, leaseMs int32
		grace, lease     time.Duration
	}{
		{0, 0, time.Second, 10 * time.Second},
		{250, 0, 250 * time.Millisecond, 10 * time.Second},
		{8000, 0, 8 * time.Second, 16 * time.Second},
		{8000, 3000, 8 * time.Second, 16 * time.Second},
		{1000, 60_000, time.Second, time.Minute},
		{10, 0, MinGrace, 10 * time.Second},
		{100_000, 0, MaxGrace, 2 * MaxGrace},
	} {
		g := Group{GraceMs: c.graceMs, LeaseMs: c.leaseMs}
		if g.Grace() != c.grace || g.Lease() != c.lease {
			t.Errorf("%+v: %v %v", c, g.Grace(), g.Lease())
		}
	}
}

func TestNamesOfPolicies(t *testing.T) {
	for _, f := range []LaneFunc{LaneOrderly, LaneJavaString, LaneGoFNV} {
		if got, ok := ParseLaneFunc(f.String()); got != f || !ok {
			t.Errorf("%v", f)
		}
	}
	for _, p := range []PoisonPolicy{PoisonBlock, PoisonDeadLetter, PoisonPark} {
		if got, ok := ParsePoisonPolicy(p.String()); got != p || !ok {
			t.Errorf("%v", p)
		}
	}
	for _, o := range []OverrunPolicy{OverrunKeep, OverrunRelease} {
		if got, ok := ParseOverrunPolicy(o.String()); got != o || !ok {
			t.Errorf("%v", o)
		}
	}
	for _, m := range []CheckMode{CheckWarn, CheckRefuse} {
		if got, ok := ParseCheckMode(m.String()); got != m || !ok {
			t.Errorf("%v", m)
		}
	}
	if _, ok := ParseLaneFunc("murmur"); ok {
		t.Error("an unknown lane function is taken")
	}
}

func TestLeaseEpochs(t *testing.T) {
	v := newView()
	key := QueueKey{"G", "T", 0}
	want := func(holder string, epoch uint64) {
		t.Helper()
		if q, _ := v.Queue(key); q.Lease.Holder != holder || q.Epoch != epoch {
			t.Errorf("held by %q, epoch %d; want %q, %d", q.Lease.Holder, q.Epoch, holder, epoch)
		}
	}
	GrantLease{key, Lease{Holder: "a", Epoch: 5}}.apply(v)
	want("a", 5)
	DropLease{key, 4}.apply(v) // of an earlier holder
	want("a", 5)
	DropLease{key, 5}.apply(v)
	want("", 5)
	GrantLease{key, Lease{Holder: "b", Epoch: 6}}.apply(v)
	DropLease{QueueKey: key}.apply(v)
	want("", 6)
	Commit{QueueKey: key, Offset: 3, Epoch: 2}.apply(v)
	want("", 6)
	ResetOffset{QueueKey: key, Offset: 1, Epoch: 9}.apply(v)
	want("", 9)
}
