// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"errors"
	"fmt"
	"sync"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// resetOffset handles INVOKE_BROKER_TO_RESET_OFFSET 222: it sets a group's
// positions in a topic, by time or to an offset. Each queue gets a new epoch;
// whoever holds it is told and moves with its next pull.
func (b *Broker) resetOffset(r request) {
	var h header.InvokeBrokerToResetOffset
	if !r.decode(&h) {
		return
	}
	topic, ok := b.topic(h.Topic)
	if !ok {
		r.fail(wire.TopicNotExist, fmt.Sprintf("Topic %s does not exist", h.Topic))
		return
	}
	g, err := b.ensureGroup(b.ctx, h.Group)
	if err != nil {
		r.fail(errorCodeOr(err, wire.SubscriptionGroupNotExist), err.Error())
		return
	}
	b.read(r, func() {
		targets, err := b.resetTargets(topic, &h)
		if err != nil {
			r.fail(wire.SystemError, err.Error())
			return
		}
		b.reset(r, g, targets)
	})
}

// target is where one queue's position is to go.
type target struct {
	queue  order.Queue
	offset int64
}

// resetTargets works out the new positions.
func (b *Broker) resetTargets(topic *meta.Topic, h *header.InvokeBrokerToResetOffset) ([]target, error) {
	first, last := int32(0), topic.ReadQueues-1
	if id := h.QueueID.Or(-1); id >= 0 {
		if id > last {
			return nil, fmt.Errorf("queue %d of topic %s does not exist", id, h.Topic)
		}
		first, last = id, id
	}
	var targets []target
	for id := first; id <= last; id++ {
		low, high := b.store.Bounds(h.Topic, id)
		at := high
		switch ms := h.Timestamp.Or(-1); {
		case h.Offset.Set && h.QueueID.Or(-1) >= 0:
			if at = h.Offset.Value; at < low || at > high {
				return nil, fmt.Errorf("target offset %d not in consume queue range [%d-%d]", at, low, high)
			}
		case ms >= 0:
			found, err := b.store.OffsetAtTime(h.Topic, id, ms, false)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return nil, err
			}
			at = max(low, min(found, high))
		}
		targets = append(targets, target{order.Queue{Topic: h.Topic, ID: id}, at})
	}
	return targets, nil
}

// reset has the group's table move the positions and answers when all are
// written.
func (b *Broker) reset(r request, g *group, targets []target) {
	out := body.ResetOffset{OffsetTable: map[body.MessageQueue]int64{}}
	var mu sync.Mutex
	var failed error
	var open counterDown
	open.Add(int64(len(targets)))
	for _, t := range targets {
		g.feed(&order.LeaseEvent{Kind: order.LeaseReset, Queue: t.queue, Offset: t.offset}, &ask{done: func(acts []order.LeaseAction, err error) {
			mu.Lock()
			if failed == nil {
				failed = errors.Join(err, notMoved(acts))
			}
			out.OffsetTable[b.queueName(t.queue.Topic, t.queue.ID)] = t.offset
			mu.Unlock()
			if !open.Done() {
				return
			}
			if failed != nil {
				r.failed(failed)
				return
			}
			r.okBody(out.Encode())
		}})
	}
}

// notMoved is the reason why a reset was not made, nil if it was.
func notMoved(acts []order.LeaseAction) error {
	for _, act := range acts {
		if act.Kind == order.LeaseDropped {
			return fmt.Errorf("reset of queue %d: %s: try again", act.Queue.ID, whyText(act.Why))
		}
	}
	return nil
}
