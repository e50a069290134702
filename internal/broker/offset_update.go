// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"errors"
	"fmt"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// updateOffset handles UPDATE_CONSUMER_OFFSET 15. The group's lease table
// decides whether the commit counts; it is written before it is answered.
func (b *Broker) updateOffset(r request) {
	var h header.UpdateConsumerOffset
	var fence header.Fence
	if err := h.Decode(r.cmd.Ext); err != nil {
		r.fail(wire.InvalidParameter, err.Error())
		return
	}
	if !r.decode(&fence) {
		return
	}
	g := b.group(h.ConsumerGroup)
	if g == nil {
		r.fail(wire.SubscriptionGroupNotExist, fmt.Sprintf("Group %s not exist!", h.ConsumerGroup))
		return
	}
	topic, ok := b.topic(h.Topic)
	if !ok {
		r.fail(wire.TopicNotExist, fmt.Sprintf("Topic %s not exist!", h.Topic))
		return
	}
	if h.QueueID < 0 || h.QueueID >= max(topic.ReadQueues, topic.WriteQueues) {
		b.stats.refusals.Add(1)
		r.ok(nil) // RocketMQ stores it; nobody ever reads it
		return
	}
	if !r.c.remember(g) {
		r.fail(wire.SystemBusy, "this connection takes part in too many groups: open another one")
		return
	}
	who := committer{r.c.client, r.c.host}
	a := &ask{done: func(acts []order.LeaseAction, err error) { b.committed(r, fence, g.countCommit(who, acts, err), err) }}
	if err := a.decodeProgress(r.cmd.Ext); err != nil {
		r.fail(wire.InvalidParameter, err.Error())
		return
	}
	ev := b.commitEvent(r.c, topic, g.name, h.QueueID, h.CommitOffset, fence)
	a.clip(ev.End)
	ev.Async = r.cmd.IsOneway() || fence.Session.Token == 0 && r.cmd.Language == wire.LanguageGo
	if !r.c.known {
		r.c.unsure[g.name] = g
	}
	g.feed(ev, a)
}

// commitEvent makes the event of a commit.
func (b *Broker) commitEvent(c *conn, topic *meta.Topic, group string, queue int32, offset int64, fence header.Fence) *order.LeaseEvent {
	_, end := b.store.Bounds(topic.Name, queue) // 0 when empty, which to the table means not known
	return &order.LeaseEvent{
		Kind: order.LeaseCommit, Link: c.id, Host: c.host, Session: order.Token(fence.Session.Token), Epoch: order.Epoch(fence.Epoch),
		Queue: order.Queue{Topic: topic.Name, ID: queue}, Offset: offset, End: max(end, 1), Known: c.known, Ordered: topic.Ordered(),
	}
}

// commitOfPull applies the commit that rides on a pull. Whatever becomes of it,
// the pull goes on.
func (b *Broker) commitOfPull(p *pulling) {
	ev := b.commitEvent(p.c, p.topic, p.group.name, p.h.QueueID, p.h.CommitOffset, p.fence)
	ev.Async = true
	g, who := p.group, committer{p.c.client, p.c.host}
	g.feed(ev, &ask{done: func(acts []order.LeaseAction, err error) { g.countCommit(who, acts, err) }})
}

// committed answers a commit; refused is the action that refused it, if one did.
func (b *Broker) committed(r request, fence header.Fence, refused *order.LeaseAction, err error) {
	switch {
	case err != nil:
		r.failed(err)
	case refused == nil:
		r.ok(nil)
	case fence.Session.Token == 0:
		remark := ""
		if refused.Why == order.WhyReset {
			remark = "Offset has been previously reset"
		}
		r.fail(wire.Success, remark) // stock clients know of no refusal
	case refused.Why == order.WhyFenced:
		r.fail(wire.CodeFenced, fmt.Sprintf("commit under an old epoch: the queue's is %d, held by %q", refused.Epoch, refused.Client))
	default:
		r.fail(wire.IllegalOperation, fmt.Sprintf("commit of offset %d is not applied: %s (position %d, held by %q)",
			refused.Offset, whyText(refused.Why), refused.Old, refused.Client))
	}
}

// countCommit counts a commit and returns the action that refused it, if one
// did.
func (g *group) countCommit(who committer, acts []order.LeaseAction, err error) *order.LeaseAction {
	if err != nil {
		return nil
	}
	for i := range acts {
		if acts[i].Kind == order.LeaseDropped {
			g.b.stats.refusals.Add(1)
			g.refusals.add(g.b.clock.now(), who, &acts[i])
			return &acts[i]
		}
	}
	g.b.stats.commits.Add(1)
	return nil
}

// decodeProgress reads the settled ranges and attempts that ride on a commit.
func (a *ask) decodeProgress(f wire.Fields) error {
	var p header.Progress
	if err := p.Decode(f); err != nil {
		return err
	}
	ranges, err := order.ParseRanges(nil, p.Ranges)
	attempts, err2 := order.ParseAttempts(nil, p.Attempts)
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	if len(ranges) > meta.MaxRanges || len(attempts) > meta.MaxAttempts {
		return fmt.Errorf("%d settled ranges and %d attempts: at most %d and %d", len(ranges), len(attempts), meta.MaxRanges, meta.MaxAttempts)
	}
	for _, x := range ranges {
		a.settled = append(a.settled, meta.Range{From: x.From, To: x.To})
	}
	for _, x := range attempts {
		a.attempts = append(a.attempts, storedAttempt(x))
	}
	a.replace = f.Has(header.ExtSession) // a session says all that it knows; a stock client knows of none
	return nil
}

// clip drops what a commit says of messages that are not there: kept, it would
// count for those that take these places later, or move the queue's end there.
func (a *ask) clip(end int64) {
	for i, x := range a.settled {
		if x.To > end {
			a.settled[i].To = end
			a.settled = a.settled[:i]
			if x.From < end {
				a.settled = a.settled[:i+1]
			}
			break
		}
	}
	for i, x := range a.attempts {
		if x.Offset >= end {
			a.attempts = a.attempts[:i]
			break
		}
	}
}

// storedAttempt counts an attempt under way as made: if nobody reports its end,
// it was.
func storedAttempt(a order.Attempt) meta.Attempt {
	n := a.Ended
	if a.Running && n < order.MaxAttempt {
		n++
	}
	return meta.Attempt{Offset: a.Offset, Count: n}
}
