// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// stored is a message as the store has it.
type stored struct {
	Queue  int
	Offset int64
	Key    string
	Seq    int
	From   string // of a dead letter: the topic it came from
}

// readBack reads every message of a topic by offset, queue by queue, past any
// consumer.
func (s *scene) readBack(topic string, queues int) []stored {
	s.Helper()
	pool := transport.NewPool(transport.PoolConfig{Dialer: &transport.Dialer{}})
	defer func() { _ = pool.Close(context.WithoutCancel(s.Context())) }()
	ctx, cancel := context.WithTimeout(s.Context(), 30*time.Second)
	defer cancel()
	conn, err := pool.Get(ctx, s.srv.Broker)
	s.must(err)
	var all []stored
	for q := range queues {
		list, err := readQueue(ctx, conn, topic, int32(q))
		if err != nil {
			s.Fatalf("read back queue %d of %s: %v", q, topic, err)
		}
		all = append(all, list...)
	}
	return all
}

func readQueue(ctx context.Context, conn *transport.Conn, topic string, queue int32) ([]stored, error) {
	var list []stored
	for at := int64(0); ; {
		resp, err := conn.Call(ctx, wire.NewRequest(wire.ReqPullMessage, &header.PullMessage{
			ConsumerGroup: "read-back", Topic: topic, QueueID: queue, QueueOffset: at, MaxMsgNums: 32,
			SysFlag: header.PullSubscription, Subscription: "*", ExpressionType: "TAG",
		}, nil))
		if err != nil {
			return nil, err
		}
		var h header.PullMessageResponse
		if err := h.Decode(resp.Ext); err != nil {
			return nil, err
		}
		if resp.Code == wire.PullNotFound && at == h.MaxOffset {
			return list, nil
		}
		if resp.Code != wire.Success {
			return nil, fmt.Errorf("%s: %s", wire.ResponseName(resp.Code), resp.Remark)
		}
		for body := resp.Body; len(body) > 0; {
			m, n, err := msg.DecodeRecord(body)
			if err != nil {
				return nil, err
			}
			if m.QueueOffset != at {
				return nil, fmt.Errorf("offset %d stands where %d should", m.QueueOffset, at)
			}
			key, _ := msg.Property(m.Properties, msg.PropShardingKey)
			text, _ := msg.Property(m.Properties, "seq")
			seq, err := strconv.Atoi(text)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("message %d without number", at), err)
			}
			from, _ := msg.Property(m.Properties, msg.PropDLQOriginTopic)
			list = append(list, stored{int(queue), at, key, seq, from})
			body = body[n:]
			at++
		}
	}
}
