// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"cmp"
	"iter"
	"strings"
)

// View is the whole state at one moment. It never changes, may be kept and is
// safe for concurrent use. What its methods answer is read-only.
type View struct {
	seq    uint64
	topics tree[string, *Topic]
	groups tree[string, *Group]
	queues tree[QueueKey, *Queue]
	kv     tree[kvKey, string]
	marks  tree[string, int64]

	producers tree[uint64, *Producer]
	frames    tree[ProducerKey, []Frame]

	topicVersion  DataVersion
	groupVersion  DataVersion
	offsetVersion DataVersion

	epochs uint64
	boot   Boot
}

type kvKey struct{ namespace, key string }

func compareKV(a, b kvKey) int {
	if c := strings.Compare(a.namespace, b.namespace); c != 0 {
		return c
	}
	return strings.Compare(a.key, b.key)
}

func compareProducerKeys(a, b ProducerKey) int {
	if c := cmp.Compare(a.Producer, b.Producer); c != 0 {
		return c
	}
	if c := strings.Compare(a.Topic, b.Topic); c != 0 {
		return c
	}
	return cmp.Compare(a.Queue, b.Queue)
}

func newView() *View {
	return &View{
		topics:    newTree[string, *Topic](strings.Compare),
		groups:    newTree[string, *Group](strings.Compare),
		queues:    newTree[QueueKey, *Queue](compareQueues),
		kv:        newTree[kvKey, string](compareKV),
		marks:     newTree[string, int64](strings.Compare),
		producers: newTree[uint64, *Producer](cmp.Compare[uint64]),
		frames:    newTree[ProducerKey, []Frame](compareProducerKeys),
	}
}

// Seq is the number of the last request that the View holds.
func (v *View) Seq() uint64 { return v.seq }

// Topic answers a topic's configuration.
func (v *View) Topic(name string) (*Topic, bool) { return v.topics.get(name) }

// Topics yields all topics by name.
func (v *View) Topics() iter.Seq[*Topic] { return values(v.topics) }

// TopicCount is the number of topics.
func (v *View) TopicCount() int { return v.topics.size }

// Group answers a group's configuration.
func (v *View) Group(name string) (*Group, bool) { return v.groups.get(name) }

// Groups yields all groups by name.
func (v *View) Groups() iter.Seq[*Group] { return values(v.groups) }

// GroupCount is the number of groups.
func (v *View) GroupCount() int { return v.groups.size }

// Queue answers what is kept of a queue for a group. A queue nobody has
// touched answers the state without offsets, and false.
func (v *View) Queue(key QueueKey) (*Queue, bool) {
	if q, ok := v.queues.get(key); ok {
		return q, true
	}
	return untouched(), false
}

func untouched() *Queue { return &Queue{Committed: None, Start: None} }

// Committed answers the committed offset, None if there is none.
func (v *View) Committed(key QueueKey) int64 {
	if q, ok := v.queues.get(key); ok {
		return q.Committed
	}
	return None
}

// Queues yields the queues of one group on one topic, by number.
func (v *View) Queues(group, topic string) iter.Seq2[QueueKey, *Queue] {
	return v.queuesWhile(QueueKey{Group: group, Topic: topic, Queue: minQueue}, func(k QueueKey) bool {
		return k.Group == group && k.Topic == topic
	})
}

// QueuesOf yields all queues of one group, by topic and number.
func (v *View) QueuesOf(group string) iter.Seq2[QueueKey, *Queue] {
	return v.queuesWhile(QueueKey{Group: group, Queue: minQueue}, func(k QueueKey) bool {
		return k.Group == group
	})
}

// AllQueues yields all queues, by group, topic and number.
func (v *View) AllQueues() iter.Seq2[QueueKey, *Queue] {
	return func(yield func(QueueKey, *Queue) bool) { v.queues.each(yield) }
}

// QueueCount is the number of queues that any group has touched.
func (v *View) QueueCount() int { return v.queues.size }

// TopicsOf yields the topics on which a group has touched a queue, by name.
func (v *View) TopicsOf(group string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from := QueueKey{Group: group, Queue: minQueue}
		for {
			key, ok := v.queues.first(from)
			if !ok || key.Group != group || !yield(key.Topic) {
				return
			}
			from = QueueKey{Group: group, Topic: key.Topic + "\x00", Queue: minQueue}
		}
	}
}

const minQueue int32 = -1 << 31

func (v *View) queuesWhile(from QueueKey, in func(QueueKey) bool) iter.Seq2[QueueKey, *Queue] {
	return func(yield func(QueueKey, *Queue) bool) {
		v.queues.ascend(from, func(k QueueKey, q *Queue) bool { return in(k) && yield(k, q) })
	}
}

// KV answers one of the name server's keys.
func (v *View) KV(namespace, key string) (string, bool) {
	return v.kv.get(kvKey{namespace, key})
}

// Namespace yields the keys and values of one namespace, by key.
func (v *View) Namespace(namespace string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		v.kv.ascend(kvKey{namespace: namespace}, func(k kvKey, value string) bool {
			return k.namespace == namespace && yield(k.key, value)
		})
	}
}

// Mark answers a named number.
func (v *View) Mark(name string) (int64, bool) { return v.marks.get(name) }

// Marks yields the named numbers whose names begin with prefix, by name.
func (v *View) Marks(prefix string) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		v.marks.ascend(prefix, func(name string, value int64) bool {
			return strings.HasPrefix(name, prefix) && yield(name, value)
		})
	}
}

// TopicVersion is the version of the table of topics.
func (v *View) TopicVersion() DataVersion { return v.topicVersion }

// GroupVersion is the version of the table of groups.
func (v *View) GroupVersion() DataVersion { return v.groupVersion }

// OffsetVersion is the version of the table of offsets.
func (v *View) OffsetVersion() DataVersion { return v.offsetVersion }

// EpochLimit is the limit below which lease epochs are reserved.
func (v *View) EpochLimit() uint64 { return v.epochs }

// Boot answers how often the broker has started.
func (v *View) Boot() Boot { return v.boot }

// Producer answers a producer.
func (v *View) Producer(id uint64) (*Producer, bool) { return v.producers.get(id) }

// Producers yields all producers by id.
func (v *View) Producers() iter.Seq[*Producer] { return values(v.producers) }

// Frames answers the last frames of a producer on a queue, oldest first.
func (v *View) Frames(key ProducerKey) []Frame {
	f, _ := v.frames.get(key)
	return f
}

// AllFrames yields the last frames of all producers' queues.
func (v *View) AllFrames() iter.Seq2[ProducerKey, []Frame] {
	return func(yield func(ProducerKey, []Frame) bool) { v.frames.each(yield) }
}

func values[K, V any](t tree[K, V]) iter.Seq[V] {
	return func(yield func(V) bool) {
		t.each(func(_ K, value V) bool { return yield(value) })
	}
}
