// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"cmp"
	"slices"
	"sync"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire/body"
)

// maxRefusals bounds what is kept of a group's refused commits; the one that
// was refused longest ago is forgotten first.
const maxRefusals = 64

// refusals are the commits of a group that did not count, by queue, sender and
// reason, since the broker's start.
type refusals struct {
	mu   sync.Mutex
	list map[refusalKey]*refusal
}

type refusalKey struct {
	queue order.Queue
	who   committer
	why   order.Why
}

// committer is who sent a commit.
type committer struct {
	client string // client id, "" if it has not told it
	host   string
}

type refusal struct {
	offset, position int64 // the last one's: what was committed, and what stands
	epoch            order.Epoch
	count            int64
	first, last      order.Time
}

// add notes one refused commit.
func (s *refusals) add(now order.Time, who committer, act *order.LeaseAction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := refusalKey{act.Queue, who, act.Why}
	r := s.list[key]
	if r == nil {
		if len(s.list) >= maxRefusals {
			s.forgetOldest()
		}
		if s.list == nil {
			s.list = map[refusalKey]*refusal{}
		}
		r = &refusal{first: now}
		s.list[key] = r
	}
	r.count++
	r.last, r.offset, r.position, r.epoch = now, act.Offset, act.Old, act.Epoch
}

func (s *refusals) forgetOldest() {
	var oldest refusalKey
	at := order.Never
	for key, r := range s.list {
		if r.last < at {
			oldest, at = key, r.last
		}
	}
	delete(s.list, oldest)
}

// refusedCommits lists the refused commits of a group on the topics, the latest
// first.
func (b *Broker) refusedCommits(group string, topics []string) []body.RefusedCommit {
	g := b.group(group)
	if g == nil {
		return nil
	}
	g.refusals.mu.Lock()
	defer g.refusals.mu.Unlock()
	var out []body.RefusedCommit
	for key, r := range g.refusals.list {
		if !slices.Contains(topics, key.queue.Topic) {
			continue
		}
		out = append(out, body.RefusedCommit{
			Topic: key.queue.Topic, QueueID: key.queue.ID, Client: key.who.client, Host: key.who.host, Why: whyText(key.why),
			Offset: r.offset, Position: r.position, Epoch: int64(r.epoch), Count: r.count,
			First: b.clock.stored(r.first).Millis(), Last: b.clock.stored(r.last).Millis(),
		})
	}
	slices.SortFunc(out, func(x, y body.RefusedCommit) int {
		return cmp.Or(cmp.Compare(y.Last, x.Last), cmp.Compare(x.Topic, y.Topic), cmp.Compare(x.QueueID, y.QueueID), cmp.Compare(x.Client, y.Client), cmp.Compare(x.Why, y.Why))
	})
	return out
}
