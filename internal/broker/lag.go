// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/wire/body"
)

// Bounds of counting what a group has still to get: index entries looked at in
// one queue, and in one request. Beyond them the rest is estimated.
const (
	maxCountQueue = 100_000
	maxCountAll   = 1_000_000
)

// lags counts what a group has still to get of the queues of the topics: only
// what its subscription takes, and what no member has settled.
func (b *Broker) lags(group string, topics []string) ([]body.QueueLag, error) {
	_, m := b.membersOf(group)
	view := b.meta.View()
	budget := maxCountAll
	var out []body.QueueLag
	for _, name := range topics {
		t, ok := b.topic(name)
		if !ok {
			continue
		}
		var match func(int64) bool
		if sub := m.subs[name]; sub != nil && !sub.filter.All() {
			match = sub.filter.MatchHash
		}
		for id := range t.ReadQueues {
			q, _ := view.Queue(metaKey(group, name, id))
			skip := make([]store.Span, 0, len(q.Ranges))
			for _, r := range q.Ranges {
				skip = append(skip, store.Span{From: r.From, To: r.To})
			}
			n, err := b.store.Count(name, id, max(q.Committed, 0), min(maxCountQueue, budget), match, skip)
			if err != nil {
				return nil, err
			}
			budget -= n.Looked
			l := body.QueueLag{Topic: name, QueueID: id, Messages: n.Messages, Exact: n.Exact, Oldest: n.Oldest}
			if n.Oldest > 0 {
				l.Delay = max(0, b.cfg.Clock().UnixMilli()-n.Oldest)
			}
			out = append(out, l)
		}
	}
	return out, nil
}
