// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// Reset says where a group is to go on in a topic. Exactly one of First, Last,
// Time and Offset is given.
type Reset struct {
	Group, Topic string

	First bool      // at the first message there is
	Last  bool      // behind the last message
	Time  time.Time // at the first message stored then or later

	// Offset is the very position in one queue; needs Queue.
	Offset *int64
	// Queue is the only queue to reset. Nil: all queues.
	Queue *int
	// Broker is the only broker to reset on. Empty: all that have the topic.
	Broker string
}

// QueueReset is one queue's position before and after a reset.
type QueueReset struct {
	Topic  string `json:"topic"`
	Broker string `json:"broker"`
	ID     int    `json:"id"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
}

// ResetPositions sets a group's positions, whether it runs or not. Members that
// run drop what they have in hand of the queues and go on: Orderly's at once,
// Java and Go clients of RocketMQ after 1 to 15 s. What they commit in between
// does not count.
func (c *Client) ResetPositions(ctx context.Context, r Reset) ([]QueueReset, error) {
	h, err := r.header()
	if err != nil {
		return nil, err
	}
	if all, err := c.groups(ctx); err != nil {
		return nil, err
	} else if _, ok := all[r.Group]; !ok {
		return nil, fmt.Errorf("%w: %s", ErrGroupNotFound, r.Group)
	}
	var done []QueueReset
	hosts := 0
	err = c.each(ctx, func(m master) error {
		if r.Broker != "" && r.Broker != m.name {
			return nil
		}
		list, err := c.resetOn(ctx, m, h)
		if refused(err, wire.TopicNotExist) {
			return nil
		}
		hosts++
		done = append(done, list...)
		return err
	})
	if err == nil && hosts == 0 {
		err = fmt.Errorf("%w: %s", ErrTopicNotFound, r.Topic)
	}
	slices.SortFunc(done, func(a, b QueueReset) int { return cmp.Or(cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.ID, b.ID)) })
	return done, err
}

// header is the request that r stands for.
func (r Reset) header() (*header.InvokeBrokerToResetOffset, error) {
	h := &header.InvokeBrokerToResetOffset{Topic: r.Topic, Group: r.Group, IsForce: true}
	ways := 0
	if r.First {
		ways, h.Timestamp = ways+1, header.Some(int64(0))
	}
	if r.Last {
		ways, h.Timestamp = ways+1, header.Some(int64(-1))
	}
	if !r.Time.IsZero() {
		ways, h.Timestamp = ways+1, header.Some(max(0, r.Time.UnixMilli()))
	}
	if r.Queue != nil {
		if *r.Queue < 0 {
			return nil, fmt.Errorf("admin: reset %s: queue %d: use 0 and more", r.Group, *r.Queue)
		}
		h.QueueID = header.Some(int32(*r.Queue))
	}
	if r.Offset != nil {
		ways, h.Timestamp, h.Offset = ways+1, header.Some(int64(-1)), header.Some(*r.Offset)
		if r.Queue == nil {
			return nil, errors.New("admin: reset to an offset: name the queue")
		}
	}
	if ways != 1 {
		return nil, fmt.Errorf("admin: reset %s: give one of first, last, a time and an offset", r.Group)
	}
	return h, nil
}

// resetOn resets on one broker.
func (c *Client) resetOn(ctx context.Context, m master, h *header.InvokeBrokerToResetOffset) ([]QueueReset, error) {
	before, err := c.consumeStats(ctx, h.Group, h.Topic, m)
	if err != nil {
		return nil, err
	}
	resp, err := c.call(ctx, m.addr, wire.ReqInvokeBrokerToResetOffset, h, nil)
	if err != nil {
		return nil, err
	}
	var table body.ResetOffset
	if err := table.Decode(resp.Body); err != nil {
		return nil, fmt.Errorf("admin: reset %s on %s: %w", h.Group, m.name, err)
	}
	var list []QueueReset
	for q, to := range table.OffsetTable {
		list = append(list, QueueReset{
			Topic: q.Topic, Broker: q.BrokerName, ID: int(q.QueueID), From: before.OffsetTable[q].ConsumerOffset, To: to,
		})
	}
	return list, nil
}
