// SPDX-License-Identifier: Apache-2.0

package meta

// A snapshot is a list of changes that make its View out of an empty one. Most
// are ordinary changes; two kinds occur nowhere else.

// loadQueue sets all that is kept of a queue.
type loadQueue struct {
	QueueKey
	Queue Queue
}

// loadTables sets what is not in a tree. It comes last: the changes before it
// moved the versions.
type loadTables struct {
	seq                     uint64
	topics, groups, offsets DataVersion
	epochs                  uint64
	boot                    Boot
}

func (c loadQueue) apply(v *View) {
	q := c.Queue
	v.queues = v.queues.put(c.QueueKey, &q)
}

func (c loadTables) apply(v *View) {
	v.seq = c.seq
	v.topicVersion, v.groupVersion, v.offsetVersion = c.topics, c.groups, c.offsets
	v.epochs, v.boot = c.epochs, c.boot
}

// snapshotChanges yields the changes that make v, until yield answers false.
func (v *View) snapshotChanges(yield func(Change) bool) {
	ok := v.topics.each(func(_ string, t *Topic) bool { return yield(PutTopic{Topic: *t}) }) &&
		v.groups.each(func(_ string, g *Group) bool { return yield(PutGroup{Group: *g}) }) &&
		v.queues.each(func(k QueueKey, q *Queue) bool { return yield(loadQueue{k, *q}) }) &&
		v.kv.each(func(k kvKey, value string) bool { return yield(PutKV{k.namespace, k.key, value}) }) &&
		v.marks.each(func(name string, value int64) bool { return yield(SetMark{name, value}) }) &&
		v.producers.each(func(_ uint64, p *Producer) bool { return yield(PutProducer{*p}) }) &&
		v.frames.each(func(k ProducerKey, frames []Frame) bool {
			for _, f := range frames {
				if !yield(AddFrame{k, f}) {
					return false
				}
			}
			return true
		})
	if ok {
		yield(loadTables{v.seq, v.topicVersion, v.groupVersion, v.offsetVersion, v.epochs, v.boot})
	}
}

// snapshotItem is the size at which an item of a snapshot is handed on.
const snapshotItem = 32 << 10

// emit hands the snapshot of v over in items.
func (v *View) emit(emit func(item []byte) error) error {
	var err error
	item := make([]byte, 0, snapshotItem+1024)
	v.snapshotChanges(func(c Change) bool {
		item = appendChange(item, c)
		if len(item) >= snapshotItem {
			err = emit(item)
			item = item[:0]
		}
		return err == nil
	})
	if err == nil && len(item) > 0 {
		err = emit(item)
	}
	return err
}
