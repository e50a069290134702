// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"fmt"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// serve is what brokers ask of this client, for themselves or for an admin tool.
// It runs on the connection's reader and must be quick.
func (c *Client) serve(conn *transport.Conn, req *wire.Command) {
	switch req.Code {
	case wire.ReqNotifyConsumerIDsChanged:
		c.serveNotice(conn, req)
	case wire.ReqResetConsumerClientOffset:
		c.serveReset(conn, req)
	case wire.ReqGetConsumerStatusFromClient:
		c.serveStatus(conn, req)
	case wire.ReqGetConsumerRunningInfo:
		c.serveRunningInfo(conn, req)
	case wire.ReqConsumeMessageDirectly:
		c.serveVerb(conn, req)
	default:
		_ = conn.Reply(req, wire.NewResponse(req, wire.RequestCodeNotSupported, "this client does not serve "+wire.RequestName(req.Code)))
	}
}

// serveNotice handles NOTIFY_CONSUMER_IDS_CHANGED 40.
func (c *Client) serveNotice(conn *transport.Conn, req *wire.Command) {
	var h header.NotifyConsumerIDsChanged
	if h.Decode(req.Ext) == nil {
		if m := c.member(h.ConsumerGroup); m != nil {
			m.do(m.notice)
		}
	}
	_ = conn.Reply(req, wire.NewResponse(req, wire.Success, ""))
}

// serveReset handles RESET_CONSUMER_CLIENT_OFFSET 220: an operator has set the
// group's positions in a topic, and the members that have the queues are to move
// there.
func (c *Client) serveReset(conn *transport.Conn, req *wire.Command) {
	var h header.ResetConsumerClientOffset
	var table body.ResetOffset
	if err := h.Decode(req.Ext); err != nil {
		_ = conn.Reply(req, wire.NewResponse(req, wire.SystemError, err.Error()))
		return
	}
	if err := table.Decode(req.Body); err != nil {
		_ = conn.Reply(req, wire.NewResponse(req, wire.SystemError, err.Error()))
		return
	}
	if m := c.member(h.Group); m != nil {
		to := map[Queue]int64{}
		for q, offset := range table.OffsetTable {
			if q.Topic == h.Topic && offset >= 0 {
				to[Queue{Topic: q.Topic, Broker: q.BrokerName, ID: int(q.QueueID)}] = offset
			}
		}
		m.do(func() { m.reset(to) })
	}
	_ = conn.Reply(req, wire.NewResponse(req, wire.Success, ""))
}

// reset takes the lanes of queues down, to begin anew at a position that an
// operator has set. A broker of ours keeps that itself; elsewhere the queue's
// holder has to write it down, once its lane can no longer commit.
func (m *member) reset(to map[Queue]int64) {
	for q, offset := range to {
		l := m.lanes[q]
		if l == nil {
			continue
		}
		if !l.b.ours() || m.offsets != nil {
			m.resets[q] = offset
		}
		l.log.Warn("position was reset", "to", offset)
		l.post(order.LaneEvent{Kind: order.LaneLost})
	}
}

// writeReset writes the position down that q was reset to, if it was, and then
// calls done on the member's goroutine.
func (m *member) writeReset(l *lane, done func()) {
	offset, ok := m.resets[l.queue]
	if !ok {
		done()
		return
	}
	delete(m.resets, l.queue)
	written := func(err error) {
		if err != nil {
			l.log.Error("the position that an operator has set could not be written down", "to", offset, "err", err)
		}
		m.do(done)
	}
	if m.offsets != nil {
		written(m.offsets.store(l.queue, offset))
		return
	}
	l.b.commit(commitRequest{group: m.cfg.Group, queue: l.queue, offset: offset, epoch: l.grant.Epoch}, written)
}

// serveStatus handles GET_CONSUMER_STATUS_FROM_CLIENT 221: where the member is.
func (c *Client) serveStatus(conn *transport.Conn, req *wire.Command) {
	var h header.GetConsumerStatus
	err := h.Decode(req.Ext)
	c.reveal(conn, req, h.Group, err, func(_ *member, views map[Queue]laneView, _ []missingQueue) []byte {
		out := body.ConsumerStatus{Queues: map[body.MessageQueue]int64{}}
		for q, v := range views {
			if q.Topic == h.Topic {
				out.Queues[wireQueue(q)] = v.state.Low
			}
		}
		return out.Encode()
	})
}

// serveRunningInfo handles GET_CONSUMER_RUNNING_INFO 307: all about the member.
func (c *Client) serveRunningInfo(conn *transport.Conn, req *wire.Command) {
	var h header.GetConsumerRunningInfo
	err := h.Decode(req.Ext)
	c.reveal(conn, req, h.ConsumerGroup, err, func(m *member, views map[Queue]laneView, missing []missingQueue) []byte {
		info := m.runningInfo(views, missing)
		if h.JstackEnable.Or(false) {
			info.Jstack = stacks()
		}
		return info.Encode()
	})
}

// reveal answers a question about a member with what answer makes of its lanes.
func (c *Client) reveal(conn *transport.Conn, req *wire.Command, group string, err error, answer func(*member, map[Queue]laneView, []missingQueue) []byte) {
	m := c.member(group)
	if err == nil && m == nil {
		err = fmt.Errorf("no consumer of group %s in this client", group)
	}
	if err != nil {
		_ = conn.Reply(req, wire.NewResponse(req, wire.SystemError, err.Error()))
		return
	}
	c.spawn(func() {
		ctx, cancel := c.requestContext()
		defer cancel()
		resp := wire.NewResponse(req, wire.Success, "")
		views, missing := m.views(ctx)
		resp.Body = answer(m, views, missing)
		_ = conn.Reply(req, resp)
	})
}

// views asks all lanes of the member where they stand, and says which of its
// queues it does not have. A lane that is just beginning or ending may be
// missing from both.
func (m *member) views(ctx context.Context) (map[Queue]laneView, []missingQueue) {
	type answer struct {
		lanes   []*lane
		missing []missingQueue
	}
	got := make(chan answer, 1)
	m.do(func() {
		a := answer{missing: m.missing()}
		for _, l := range m.lanes {
			a.lanes = append(a.lanes, l)
		}
		got <- a
	})
	views := map[Queue]laneView{}
	select {
	case a := <-got:
		for _, l := range a.lanes {
			if v, ok := l.view(ctx); ok {
				views[l.queue] = v
			}
		}
		return views, a.missing
	case <-m.ended:
	case <-ctx.Done():
	}
	return views, nil
}

func wireQueue(q Queue) body.MessageQueue {
	return body.MessageQueue{Topic: q.Topic, BrokerName: q.Broker, QueueID: int32(q.ID)}
}
