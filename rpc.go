// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// errFenced: the broker says that the epoch of the request is no longer the
// queue's.
var errFenced = errors.New("the lease of the queue is over")

// answerOf turns the answer to cmd into an error unless its code is Success.
func answerOf(conn *transport.Conn, cmd, resp *wire.Command, err error) (*wire.Command, error) {
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s to %v: %w", wire.RequestName(cmd.Code), conn.RemoteAddr(), err)
	case resp.Code == wire.CodeFenced:
		return resp, fmt.Errorf("%w: %s", errFenced, resp.Remark)
	case resp.Code != wire.Success:
		return resp, refusal(conn, cmd, resp)
	}
	return resp, nil
}

func refusal(conn *transport.Conn, cmd, resp *wire.Command) *BrokerError {
	return &BrokerError{
		Addr: conn.RemoteAddr().String(), Op: wire.RequestName(cmd.Code),
		Code: int(resp.Code), Name: wire.ResponseName(resp.Code), Remark: resp.Remark,
	}
}

// request asks the peer at addr and wants Success.
func (c *Client) request(ctx context.Context, addr string, cmd *wire.Command) (*wire.Command, error) {
	conn, err := c.pool.Get(ctx, addr)
	if err != nil {
		return nil, err
	}
	resp, err := conn.Call(ctx, cmd)
	return answerOf(conn, cmd, resp, err)
}

// request asks the broker on the link that is joined to the session.
func (b *broker) request(ctx context.Context, cmd *wire.Command) (*wire.Command, error) {
	conn := b.link.Load()
	if conn == nil {
		return nil, errNoLink
	}
	resp, err := conn.Call(ctx, cmd)
	return answerOf(conn, cmd, resp, err)
}

// requestAsync is request without waiting; done runs on the connection's
// reader, or before requestAsync returns.
func (b *broker) requestAsync(cmd *wire.Command, patience time.Duration, done func(*wire.Command, error)) {
	conn := b.link.Load()
	if conn == nil {
		done(nil, errNoLink)
		return
	}
	conn.CallAsync(cmd, time.Now().Add(patience), func(resp *wire.Command, err error) {
		done(answerOf(conn, cmd, resp, err))
	})
}

// offset asks for one of the offsets of a queue.
func (b *broker) offset(ctx context.Context, code int32, h wire.Encoder) (int64, error) {
	resp, err := b.request(ctx, wire.NewRequest(code, h, nil))
	if err != nil {
		return 0, err
	}
	var answer header.OffsetResponse
	if err := answer.Decode(resp.Ext); err != nil {
		return 0, err
	}
	return answer.Offset, nil
}

func (b *broker) firstOffset(ctx context.Context, q Queue) (int64, error) {
	return b.offset(ctx, wire.ReqGetMinOffset, &header.GetMinOffset{Topic: q.Topic, QueueID: int32(q.ID), BrokerName: b.name})
}

func (b *broker) endOffset(ctx context.Context, q Queue) (int64, error) {
	return b.offset(ctx, wire.ReqGetMaxOffset, &header.GetMaxOffset{Topic: q.Topic, QueueID: int32(q.ID), BrokerName: b.name})
}

func (b *broker) offsetAt(ctx context.Context, q Queue, at time.Time) (int64, error) {
	return b.offset(ctx, wire.ReqSearchOffsetByTimestamp, &header.SearchOffset{
		Topic: q.Topic, QueueID: int32(q.ID), Timestamp: at.UnixMilli(), BrokerName: b.name,
	})
}

// position is the group's committed offset, or order.Unknown.
func (b *broker) position(ctx context.Context, group string, q Queue) (int64, error) {
	n, err := b.offset(ctx, wire.ReqQueryConsumerOffset, &header.QueryConsumerOffset{
		ConsumerGroup: group, Topic: q.Topic, QueueID: int32(q.ID), BrokerName: b.name,
	})
	if refused, ok := errors.AsType[*BrokerError](err); ok && int32(refused.Code) == wire.QueryNotFound {
		return order.Unknown, nil
	}
	return n, err
}

// leave tells the broker that a group has one member less. The caller has taken
// the member off the client's list before, so the next link's heartbeat does not
// name the group: what cannot be told now is seen then. done runs unless the
// client ends first.
func (b *broker) leave(group string, done func(error)) {
	b.do(func() {
		h := &header.UnregisterClient{ClientID: b.c.id, ConsumerGroup: group}
		cmd := b.named(wire.NewRequest(wire.ReqUnregisterClient, h, nil))
		b.requestAsync(cmd, b.c.cfg.RequestTimeout, func(_ *wire.Command, err error) { done(err) })
	})
}

// sendBack asks the broker to put r into the group's retry topic, or with
// toDeadLetters into its dead-letter topic.
func (b *broker) sendBack(ctx context.Context, m *member, r *storedMessage, level int32, most header.Opt[int32], letter letterOf) error {
	h := &header.ConsumerSendMsgBack{
		Offset: r.PhysicalOffset, Group: m.cfg.Group, DelayLevel: level, OriginMsgID: r.ID(),
		OriginTopic: r.Topic, MaxReconsumeTimes: most, BrokerName: b.name,
	}
	cmd := wire.NewRequest(wire.ReqConsumerSendMsgBack, h, nil)
	letter.Encode(&cmd.Ext)
	if letter.epoch != 0 {
		cmd = b.fenced(cmd, letter.epoch)
	}
	_, err := b.request(ctx, cmd)
	return err
}

// letterOf is what a broker of ours is told of a dead letter. The zero value is
// a message that is to be retried.
type letterOf struct {
	header.Letter
	epoch order.Epoch
}

// Levels of sendBack.
const (
	brokerDecides int32 = 0
	toDeadLetters int32 = -1
)
