// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"
	"sync"
)

// table finds queues by name.
type table struct {
	mu     sync.RWMutex
	topics map[string]*topic
	count  int
}

type topic struct {
	name   string
	queues map[int32]*queue
}

func newTable() *table { return &table{topics: map[string]*topic{}} }

// get returns the queue, or nil.
func (t *table) get(name string, id int32) *queue {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if tp := t.topics[name]; tp != nil {
		return tp.queues[id]
	}
	return nil
}

// make returns the queue, which it makes if there is none.
func (t *table) make(name string, id int32) *queue {
	if q := t.get(name, id); q != nil {
		return q
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	tp := t.topics[name]
	if tp == nil {
		name = strings.Clone(name)
		tp = &topic{name: name, queues: map[int32]*queue{}}
		t.topics[name] = tp
	}
	q := tp.queues[id]
	if q == nil {
		q = &queue{topic: tp.name, id: id}
		tp.queues[id] = q
		t.count++
	}
	return q
}

// all returns every queue, by topic and id.
func (t *table) all() []*queue {
	t.mu.RLock()
	out := make([]*queue, 0, t.count)
	for _, tp := range t.topics {
		for _, q := range tp.queues {
			out = append(out, q)
		}
	}
	t.mu.RUnlock()
	slices.SortFunc(out, compareQueues)
	return out
}

func compareQueues(a, b *queue) int {
	if c := strings.Compare(a.topic, b.topic); c != 0 {
		return c
	}
	return int(a.id) - int(b.id)
}

// of returns the queues of a topic.
func (t *table) of(name string) []*queue {
	t.mu.RLock()
	defer t.mu.RUnlock()
	tp := t.topics[name]
	if tp == nil {
		return nil
	}
	out := make([]*queue, 0, len(tp.queues))
	for _, q := range tp.queues {
		out = append(out, q)
	}
	slices.SortFunc(out, compareQueues)
	return out
}

// names returns the topics that were not dropped, sorted.
func (t *table) names() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var out []string
	for name, tp := range t.topics {
		for _, q := range tp.queues {
			if q.isLive() {
				out = append(out, name)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

func (q *queue) isLive() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.dropped && (q.next > 0)
}
