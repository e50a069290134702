// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"
)

// model is the state kept in the simplest way there is.
type model struct {
	topics   map[string]Topic
	groups   map[string]Group
	queues   map[QueueKey]modelQueue
	kv       map[[2]string]string
	marks    map[string]int64
	makers   map[uint64]Producer
	frames   map[ProducerKey][]Frame
	versions [3]DataVersion // topics, groups, offsets
	epochs   uint64
	boot     Boot
}

type modelQueue struct {
	Committed int64
	At        Time
	Epoch     uint64
	Settled   map[int64]bool
	Attempts  map[int64]int32
	Start     int64
	Reset     Reset
	Lease     Lease
}

func newModel() model {
	return model{
		topics: map[string]Topic{}, groups: map[string]Group{}, queues: map[QueueKey]modelQueue{},
		kv: map[[2]string]string{}, marks: map[string]int64{}, makers: map[uint64]Producer{},
		frames: map[ProducerKey][]Frame{},
	}
}

// clone copies what apply may change in place: the outermost maps.
func (m model) clone() model {
	m.topics, m.groups, m.queues = maps.Clone(m.topics), maps.Clone(m.groups), maps.Clone(m.queues)
	m.kv, m.marks = maps.Clone(m.kv), maps.Clone(m.marks)
	m.makers, m.frames = maps.Clone(m.makers), maps.Clone(m.frames)
	return m
}

const (
	topicTable = iota
	groupTable
	offsetTable
)

func (m *model) bump(table int, at Time) {
	v := &m.versions[table]
	v.Counter++
	v.Timestamp = int64(at) / 1_000_000
}

func (m *model) queue(k QueueKey) modelQueue {
	q, ok := m.queues[k]
	if !ok {
		q = modelQueue{Committed: -1, Start: -1}
	}
	q.Settled, q.Attempts = maps.Clone(q.Settled), maps.Clone(q.Attempts)
	if q.Settled == nil {
		q.Settled, q.Attempts = map[int64]bool{}, map[int64]int32{}
	}
	return q
}

func (m *model) forbid(group, topic string, bits int32, at Time) {
	g, ok := m.groups[group]
	if !ok || g.Forbidden[topic] == bits {
		return
	}
	f := map[string]int32{}
	maps.Copy(f, g.Forbidden)
	f[topic] = bits
	maps.DeleteFunc(f, func(_ string, bits int32) bool { return bits == 0 })
	g.Forbidden = f
	m.groups[group] = g
	m.bump(groupTable, at)
}

func (m *model) apply(c Change) {
	switch c := c.(type) {
	case PutTopic:
		m.topics[c.Topic.Name] = c.Topic
		m.bump(topicTable, c.At)
	case DeleteTopic:
		if _, ok := m.topics[c.Name]; ok {
			m.bump(topicTable, c.At)
		}
		delete(m.topics, c.Name)
		maps.DeleteFunc(m.queues, func(k QueueKey, _ modelQueue) bool { return k.Topic == c.Name })
		maps.DeleteFunc(m.frames, func(k ProducerKey, _ []Frame) bool { return k.Topic == c.Name })
		for _, g := range slices.Sorted(maps.Keys(m.groups)) {
			m.forbid(g, c.Name, 0, c.At)
		}
	case PutGroup:
		m.groups[c.Group.Name] = c.Group
		m.bump(groupTable, c.At)
	case DeleteGroup:
		if _, ok := m.groups[c.Name]; ok {
			m.bump(groupTable, c.At)
		}
		delete(m.groups, c.Name)
		for k, q := range m.queues {
			if k.Group == c.Name {
				q.Lease = Lease{}
				m.queues[k] = q
			}
		}
		if !c.KeepOffsets {
			maps.DeleteFunc(m.queues, func(k QueueKey, _ modelQueue) bool { return k.Group == c.Name })
		}
	case SetForbidden:
		m.forbid(c.Group, c.Topic, c.Bits, c.At)
	case PutKV:
		m.kv[[2]string{c.Namespace, c.Key}] = c.Value
	case DeleteKV:
		delete(m.kv, [2]string{c.Namespace, c.Key})
	case SetMark:
		m.marks[c.Name] = c.Value
	case DeleteMark:
		delete(m.marks, c.Name)
	case ReserveEpochs:
		m.epochs = max(m.epochs, c.Limit)
	case StartBroker:
		m.boot = Boot{m.boot.Starts + 1, c.BootID, c.At}
	case PutProducer:
		m.makers[c.Producer.ID] = c.Producer
	case DropProducer:
		delete(m.makers, c.ID)
		maps.DeleteFunc(m.frames, func(k ProducerKey, _ []Frame) bool { return k.Producer == c.ID })
	case AddFrame:
		f := append(slices.Clone(m.frames[c.ProducerKey]), c.Frame)
		m.frames[c.ProducerKey] = f[max(0, len(f)-16):]
	case SetStateVersion:
		for i := range m.versions {
			m.bump(i, c.At)
			m.versions[i].StateVersion = c.StateVersion
		}
	default:
		m.applyQueue(c)
	}
}

func (m *model) applyQueue(c Change) {
	switch c := c.(type) {
	case Commit:
		q := m.queue(c.QueueKey)
		if c.Offset >= 0 {
			q.Committed = c.Offset
		}
		q.At, q.Epoch = c.At, max(q.Epoch, c.Epoch)
		if c.Replace {
			clear(q.Settled)
			clear(q.Attempts)
		}
		for _, r := range c.Settled {
			for o := r.From; o < r.To; o++ {
				q.Settled[o] = true
			}
		}
		for _, a := range c.Attempts {
			q.Attempts[a.Offset] = a.Count
		}
		maps.DeleteFunc(q.Settled, func(o int64, _ bool) bool { return o < q.Committed })
		maps.DeleteFunc(q.Attempts, func(o int64, n int32) bool { return o < q.Committed || n == 0 })
		m.queues[c.QueueKey] = q
		m.bump(offsetTable, c.At)
	case FixStart:
		if q := m.queue(c.QueueKey); q.Start == -1 {
			q.Start = c.Offset
			m.queues[c.QueueKey] = q
		}
	case ResetOffset:
		q := m.queue(c.QueueKey)
		q.Reset = Reset{c.Sticky, q.Committed, c.Offset, c.Epoch, c.At}
		q.Committed, q.At, q.Epoch = c.Offset, c.At, max(q.Epoch, c.Epoch)
		clear(q.Settled)
		clear(q.Attempts)
		m.queues[c.QueueKey] = q
		m.bump(offsetTable, c.At)
	case ClearReset:
		if q, ok := m.queues[c.QueueKey]; ok {
			q.Reset.Pending = false
			m.queues[c.QueueKey] = q
		}
	case DropQueues:
		maps.DeleteFunc(m.queues, func(k QueueKey, _ modelQueue) bool {
			return (c.Group == "" || c.Group == k.Group) && (c.Topic == "" || c.Topic == k.Topic) &&
				(c.Queue == AllQueues || c.Queue == k.Queue)
		})
	case GrantLease:
		q := m.queue(c.QueueKey)
		q.Lease, q.Epoch = c.Lease, max(q.Epoch, c.Lease.Epoch)
		m.queues[c.QueueKey] = q
	case DropLease:
		if q, ok := m.queues[c.QueueKey]; ok && (c.Epoch == 0 || c.Epoch == q.Lease.Epoch) {
			q.Lease = Lease{}
			m.queues[c.QueueKey] = q
		}
	default:
		panic(fmt.Sprintf("model does not know %T", c))
	}
}

// of makes a model out of a View, through what readers can see.
func modelOf(v *View) (m model, broken string) {
	m = newModel()
	for t := range v.Topics() {
		m.topics[t.Name] = *t
	}
	for g := range v.Groups() {
		m.groups[g.Name] = *g
	}
	for k, q := range v.AllQueues() {
		mq := modelQueue{q.Committed, q.CommittedAt, q.Epoch, map[int64]bool{}, map[int64]int32{}, q.Start, q.Reset, q.Lease}
		end := q.Committed - 1
		for _, r := range q.Ranges {
			if r.From <= end || r.To <= r.From {
				broken = fmt.Sprintf("%v: ranges %v of committed %d", k, q.Ranges, q.Committed)
			}
			end = r.To
			for o := r.From; o < r.To; o++ {
				mq.Settled[o] = true
			}
		}
		for i, a := range q.Attempts {
			if a.Count == 0 || i > 0 && q.Attempts[i-1].Offset >= a.Offset {
				broken = fmt.Sprintf("%v: attempts %v", k, q.Attempts)
			}
			mq.Attempts[a.Offset] = a.Count
		}
		m.queues[k] = mq
	}
	v.kv.each(func(k kvKey, value string) bool { m.kv[[2]string{k.namespace, k.key}] = value; return true })
	maps.Insert(m.marks, v.Marks(""))
	for p := range v.Producers() {
		m.makers[p.ID] = *p
	}
	v.frames.each(func(k ProducerKey, f []Frame) bool { m.frames[k] = f; return true })
	m.versions = [3]DataVersion{v.TopicVersion(), v.GroupVersion(), v.OffsetVersion()}
	m.epochs, m.boot = v.EpochLimit(), v.Boot()
	return m, broken
}

// drawChange draws a change over few names and small numbers, so that changes
// meet each other.
func drawChange(t *rapid.T) Change {
	name := rapid.SampledFrom([]string{"A", "B", "C"})
	group, topic := name.Draw(t, "group"), name.Draw(t, "topic")
	key := QueueKey{group, topic, rapid.Int32Range(0, 2).Draw(t, "queue")}
	at := Time(rapid.Int64Range(0, 1e10).Draw(t, "at"))
	offset := rapid.Int64Range(0, 12)
	epoch := rapid.Uint64Range(0, 5)
	switch rapid.SampledFrom([]int{0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}).Draw(t, "kind") {
	case 0:
		return drawCommit(t, key, at)
	case 1:
		return PutTopic{Topic{Name: topic, ReadQueues: 4, WriteQueues: 4, Perm: rapid.Int32Range(0, 7).Draw(t, "perm")}, at}
	case 2:
		return DeleteTopic{topic, at}
	case 3:
		g := DefaultGroup(group)
		g.MaxAttempts = rapid.Int32Range(0, 9).Draw(t, "attempts")
		return PutGroup{g, at}
	case 4:
		return DeleteGroup{group, rapid.Bool().Draw(t, "keep"), at}
	case 5:
		return SetForbidden{group, topic, rapid.Int32Range(0, 2).Draw(t, "bits"), at}
	case 6:
		return FixStart{key, offset.Draw(t, "offset")}
	case 7:
		return ResetOffset{key, offset.Draw(t, "offset"), epoch.Draw(t, "epoch"), rapid.Bool().Draw(t, "sticky"), at}
	case 8:
		return ClearReset{key}
	case 9:
		return DropQueues{
			rapid.SampledFrom([]string{"", group}).Draw(t, "or all"), rapid.SampledFrom([]string{"", topic}).Draw(t, "or all"),
			rapid.SampledFrom([]int32{AllQueues, key.Queue}).Draw(t, "or all"),
		}
	case 10:
		return GrantLease{key, Lease{Holder: group + "@1", Session: epoch.Draw(t, "session"), Epoch: epoch.Draw(t, "epoch"), GrantedAt: at}}
	case 11:
		return DropLease{key, epoch.Draw(t, "epoch")}
	case 12:
		return PutKV{group, topic, fmt.Sprint(at)}
	case 13:
		return DeleteKV{group, topic}
	case 14:
		return SetMark{group, int64(at)}
	case 15:
		return DeleteMark{group}
	case 16:
		return ReserveEpochs{epoch.Draw(t, "limit")}
	case 17:
		return StartBroker{group, at}
	case 18:
		if rapid.Bool().Draw(t, "drop") {
			return DropProducer{epoch.Draw(t, "producer")}
		}
		return PutProducer{Producer{ID: epoch.Draw(t, "producer"), Epoch: 1, Group: group, SeenAt: at}}
	default:
		if rapid.IntRange(0, 9).Draw(t, "rare") == 0 {
			return SetStateVersion{int64(epoch.Draw(t, "version")), at}
		}
		return AddFrame{ProducerKey{epoch.Draw(t, "producer"), topic, 0}, Frame{Epoch: 1, First: uint64(at), Count: 1}}
	}
}

func drawCommit(t *rapid.T, key QueueKey, at Time) Change {
	offset := rapid.Int64Range(0, 12)
	c := Commit{
		QueueKey: key, Offset: rapid.Int64Range(-1, 12).Draw(t, "offset"), Epoch: rapid.Uint64Range(0, 5).Draw(t, "epoch"),
		Replace: rapid.Bool().Draw(t, "replace"), At: at,
	}
	for range rapid.IntRange(0, 3).Draw(t, "ranges") {
		from := offset.Draw(t, "from")
		c.Settled = append(c.Settled, Range{from, from + 1 + rapid.Int64Range(0, 3).Draw(t, "length")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "attempts") {
		c.Attempts = append(c.Attempts, Attempt{offset.Draw(t, "attempted"), rapid.Int32Range(0, 3).Draw(t, "count")})
	}
	return c
}
