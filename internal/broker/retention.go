// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"math"

	"github.com/orderlymq/orderly/internal/store/meta"
)

// keepFrom is the place in the log from which on some ordered group has not
// finished messages of an ordered topic: the store keeps them, whatever their
// age. It asks when it would like to remove a file.
func (b *Broker) keepFrom() int64 {
	if !b.recovered.Load() {
		return 0 // nothing is known yet, so everything may be needed
	}
	first := int64(math.MaxInt64)
	view := b.meta.View()
	for g := range view.Groups() {
		if !g.Ordered {
			continue
		}
		for key, q := range view.QueuesOf(g.Name) {
			first = min(first, b.unfinished(key, q))
		}
	}
	return first
}

// unfinished is where a group's first unfinished message in a queue stands in
// the log, MaxInt64 if there is none. A message that cannot be found keeps all.
func (b *Broker) unfinished(key meta.QueueKey, q *meta.Queue) int64 {
	t, ok := b.topic(key.Topic)
	low, high := b.store.Bounds(key.Topic, key.Queue)
	if !ok || !t.Ordered() || q.Committed < 0 || q.Committed >= high {
		return math.MaxInt64
	}
	at, err := b.place(key.Topic, key.Queue, max(q.Committed, low))
	if err != nil {
		b.log.Warn("the first unfinished message of a group cannot be found: no log file is removed", "group", key.Group, "topic", key.Topic, "queue", key.Queue, "err", err)
		return 0
	}
	return at
}
