// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/route"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// request sends outs to q: one message, or a batch.
func (p *Producer) request(ctx context.Context, j *job, q Queue, outs []*outgoing) ([]Receipt, error) {
	cmd, err := p.sendCommand(j, q, outs)
	if err != nil {
		return nil, err
	}
	b := p.c.broker(q.Broker)
	if b == nil {
		return nil, ErrClosed
	}
	addr, err := b.address()
	if err != nil {
		return nil, err
	}
	conn, err := p.c.pool.Get(ctx, addr)
	if err != nil {
		return nil, err
	}
	if j.oneway {
		return onewayReceipts(q, outs), sendOneway(conn, cmd)
	}
	resp, err := conn.Call(ctx, cmd)
	b.heard(conn, err)
	if err != nil {
		return nil, fmt.Errorf("%s to %v: %w", wire.RequestName(cmd.Code), conn.RemoteAddr(), err)
	}
	status, ok := sendStatus(resp.Code)
	if !ok {
		return nil, refusal(conn, cmd, resp)
	}
	return receipts(resp, status, q, outs)
}

// maxStrikes is how many sends in a row may stay without an answer before their
// connection counts as dead. One alone is repeated on it, to keep its place.
const maxStrikes = 3

// heard notes whether a send was answered.
func (b *broker) heard(conn *transport.Conn, err error) {
	if !errors.Is(err, transport.ErrTimeout) {
		b.strikes.Store(0)
		return
	}
	if b.strikes.Add(1) >= maxStrikes {
		b.strikes.Store(0)
		conn.Close(fmt.Errorf("no answer to %d sends in a row", maxStrikes))
	}
}

// sendStatus maps the response codes that mean the message is stored.
func sendStatus(code int32) (SendStatus, bool) {
	switch code {
	case wire.Success:
		return SendOK, true
	case wire.FlushDiskTimeout:
		return FlushDiskTimeout, true
	case wire.FlushSlaveTimeout:
		return FlushSlaveTimeout, true
	case wire.SlaveNotAvailable:
		return SlaveNotAvailable, true
	}
	return 0, false
}

// sendCommand is the request of messages that need no order.
func (p *Producer) sendCommand(j *job, q Queue, outs []*outgoing) (*wire.Command, error) {
	if !j.batch {
		return p.command(q, outs[0], nil), nil
	}
	content, err := batchBody(outs)
	if err != nil {
		return nil, err
	}
	return p.command(q, outs[0], content), nil
}

// frameCommand is the request that carries f: a message, or a batch. The body
// of a batch is made once; a retry repeats it.
func (p *Producer) frameCommand(f *order.Frame, fo *frameOf) (*wire.Command, error) {
	if len(fo.outs) > 1 && fo.body == nil {
		var err error
		if fo.body, err = batchBody(fo.outs); err != nil {
			return nil, err
		}
	}
	cmd := p.command(fo.q, fo.outs[0], fo.body)
	header.Numbers{Producer: f.Producer, Epoch: f.Epoch, First: f.First}.Encode(&cmd.Ext)
	return cmd, nil
}

// command is a request with one message, or with a batch of which it is the
// first.
func (p *Producer) command(q Queue, first *outgoing, batch []byte) *wire.Command {
	h := &header.SendMessageV2{SendMessage: header.SendMessage{
		ProducerGroup: p.cfg.Group, Topic: first.m.Topic, DefaultTopic: msg.TopicAutoCreate, DefaultTopicQueueNums: autoQueues,
		QueueID: int32(q.ID), SysFlag: first.sysFlag, BornTimestamp: first.born, Properties: first.props,
		Batch: batch != nil, BrokerName: q.Broker,
	}}
	code, content := wire.ReqSendMessageV2, first.body
	if batch != nil {
		code, content = wire.ReqSendBatchMessage, batch
		h.Properties = ""
	}
	cmd := wire.NewRequest(code, h, content)
	p.laneOf(first).Encode(&cmd.Ext)
	return cmd
}

// laneOf tells a broker of ours how the queue was chosen.
func (p *Producer) laneOf(o *outgoing) header.Lane {
	if o.chosen {
		return header.Lane{Selector: true}
	}
	if o.m.OrderingKey == "" {
		return header.Lane{}
	}
	return header.Lane{Lane: header.Some(route.Lane(o.m.OrderingKey)), Epoch: o.laneEpoch}
}

func batchBody(outs []*outgoing) ([]byte, error) {
	batch := make([]msg.BatchMessage, len(outs))
	for i, o := range outs {
		batch[i] = msg.BatchMessage{Body: o.body, Properties: o.props}
	}
	return msg.AppendBatch(nil, batch)
}

func sendOneway(conn *transport.Conn, cmd *wire.Command) error {
	if err := conn.Send(cmd); err != nil {
		return fmt.Errorf("%s to %v: %w", wire.RequestName(cmd.Code), conn.RemoteAddr(), err)
	}
	return nil
}

func onewayReceipts(q Queue, outs []*outgoing) []Receipt {
	rs := make([]Receipt, len(outs))
	for i, o := range outs {
		rs[i] = Receipt{ID: o.id, Queue: q, Offset: -1}
	}
	return rs
}

// receipts reads the answer; the messages of a batch have offsets in a row.
func receipts(resp *wire.Command, status SendStatus, q Queue, outs []*outgoing) ([]Receipt, error) {
	var h header.SendMessageResponse
	if err := h.Decode(resp.Ext); err != nil {
		return nil, fmt.Errorf("answer to a send: %w", err)
	}
	ids := strings.Split(h.MsgID, ",")
	rs := make([]Receipt, len(outs))
	for i, o := range outs {
		rs[i] = Receipt{
			ID: o.id, Queue: Queue{Topic: q.Topic, Broker: q.Broker, ID: int(h.QueueID)},
			Offset: h.QueueOffset + int64(i), Status: status,
		}
		if i < len(ids) {
			rs[i].OffsetID = ids[i]
		}
	}
	return rs, nil
}
