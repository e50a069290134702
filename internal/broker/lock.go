// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// maxLockQueues bounds the queues of one lock or unlock.
const maxLockQueues = 16384

// lockBatch handles LOCK_BATCH_MQ 41. The answer lists the queues that the
// client holds now; ours also gets epochs and positions, and why the others
// were refused.
func (b *Broker) lockBatch(r request) {
	req, session, g, ok := b.lockRequest(r)
	if !ok {
		return
	}
	queues := b.queuesHere(req.Queues)
	ev := &order.LeaseEvent{
		Kind: order.LeaseLock, Link: r.c.id, Host: r.c.host, Port: r.c.port, Client: req.ClientID,
		Session: order.Token(session.Token), Queues: queues,
	}
	if session.Token != 0 {
		starts, err := b.starts(g, r.cmd.Ext.Value(header.ExtFrom), queues)
		if err != nil {
			r.fail(wire.InvalidParameter, err.Error())
			return
		}
		ev.Starts = starts
	}
	g.feed(ev, &ask{member: r.c.names[g.name], host: r.c.host, done: func(acts []order.LeaseAction, err error) {
		b.locked(r, g, session, acts, err)
	}})
}

// lockRequest reads a lock or unlock. If it cannot it answers and reports
// false.
func (b *Broker) lockRequest(r request) (req body.LockBatch, session header.Session, g *group, ok bool) {
	if err := req.Decode(r.cmd.Body); err != nil {
		r.fail(wire.SystemError, fmt.Sprintf("queue lock: %v", err))
		return
	}
	if !r.decode(&session) {
		return
	}
	if len(req.Queues) > maxLockQueues || req.ClientID == "" || len(req.ClientID) > maxClientID {
		r.fail(wire.InvalidParameter, fmt.Sprintf("queue lock: %d queues, client id of %d bytes: at most %d, and 1 to %d",
			len(req.Queues), len(req.ClientID), maxLockQueues, maxClientID))
		return
	}
	g, err := b.ensureGroup(b.ctx, req.ConsumerGroup)
	if err != nil {
		r.failed(err)
		return
	}
	if !r.c.remember(g) {
		r.fail(wire.SystemBusy, "this connection takes part in too many groups: open another one")
		return
	}
	if session.Token == 0 && r.c.client == "" {
		r.c.client = req.ClientID
	}
	r.c.becomeKnown()
	return req, session, g, true
}

// queuesHere leaves out queues of other brokers and queues that do not exist.
func (b *Broker) queuesHere(asked []body.MessageQueue) []order.Queue {
	queues := make([]order.Queue, 0, len(asked))
	for _, q := range asked {
		t, ok := b.topic(q.Topic)
		if !ok || q.QueueID < 0 || q.QueueID >= t.ReadQueues || q.BrokerName != "" && q.BrokerName != b.cfg.Name {
			continue
		}
		queues = append(queues, order.Queue{Topic: q.Topic, ID: q.QueueID})
	}
	return queues
}

// locked answers a lock, after the grants are written.
func (b *Broker) locked(r request, g *group, session header.Session, acts []order.LeaseAction, err error) {
	if err != nil {
		r.failed(err)
		return
	}
	var granted body.LockBatchResponse
	var grants header.LockGrants
	view := b.meta.View()
	for i := range acts {
		act := &acts[i]
		q := body.MessageQueue{Topic: act.Queue.Topic, BrokerName: b.cfg.Name, QueueID: act.Queue.ID}
		switch act.Kind {
		case order.LeaseGranted:
			granted.Locked = append(granted.Locked, q)
			state, _ := view.Queue(meta.QueueKey{Group: g.name, Topic: q.Topic, Queue: q.QueueID})
			grants.Grants = append(grants.Grants, header.LockGrant{
				Epoch: uint64(act.Epoch), Start: act.Offset, Progress: progressOf(state),
			})
		case order.LeaseRefused:
			grants.Refused = append(grants.Refused, header.LockRefusal{
				Topic: q.Topic, Queue: q.QueueID, Holder: act.Client, Why: whyText(act.Why),
			})
		}
	}
	resp := wire.NewResponse(r.cmd, wire.Success, "")
	resp.Body = granted.Encode()
	if session.Token != 0 {
		grants.Encode(&resp.Ext)
	}
	r.reply(resp)
}

// progressOf writes what is settled above a queue's committed offset.
func progressOf(q *meta.Queue) header.Progress {
	if len(q.Ranges) == 0 && len(q.Attempts) == 0 {
		return header.Progress{}
	}
	ranges := make([]order.Range, len(q.Ranges))
	for i, x := range q.Ranges {
		ranges[i] = order.Range{From: x.From, To: x.To}
	}
	return header.Progress{
		Ranges: string(order.AppendRanges(nil, ranges)), Attempts: string(order.AppendAttempts(nil, attemptsOf(q))),
	}
}

// starts works out, per queue, where the group begins if it has never met the
// queue. What is asked for wins over what the group's heartbeats say.
func (b *Broker) starts(g *group, from string, queues []order.Queue) ([]int64, error) {
	if from == "" {
		g.mu.Lock()
		from = g.members.from
		g.mu.Unlock()
	}
	at := make([]int64, len(queues))
	for i, q := range queues {
		var err error
		if at[i], err = b.start(from, q); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// start is the offset in q that a start position means, Unknown for a time that
// is not given.
func (b *Broker) start(from string, q order.Queue) (int64, error) {
	low, high := b.store.Bounds(q.Topic, q.ID)
	switch from {
	case "first", body.ConsumeFromFirst:
		return low, nil
	case body.ConsumeFromTimestamp:
		return order.Unknown, nil
	}
	text, timed := strings.CutPrefix(from, "time:")
	if !timed {
		return high, nil
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("start position %.64q: expected first, last or time:<ms>", from)
	}
	return b.store.OffsetAtTime(q.Topic, q.ID, ms, false)
}
