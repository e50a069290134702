// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"fmt"
	"sync"

	"github.com/orderlymq/orderly/internal/route"
)

// places tells a producer where messages go. The queue set of a topic stays the
// same while the producer lives, or keys would move: it is what the caller
// stated, else what the topic's ordered-topic configuration says, else the
// first set seen.
type places struct {
	c   *Client
	cfg ProducerConfig

	mu     sync.Mutex
	pinned map[string][]Queue
	lanes  map[laneKey]laneInfo
}

// laneKey: a topic that has grown has other lanes.
type laneKey struct {
	topic  string
	queues int
}

func newPlaces(c *Client, cfg ProducerConfig) *places {
	return &places{c: c, cfg: cfg, pinned: map[string][]Queue{}, lanes: map[laneKey]laneInfo{}}
}

// list is the stable queue list of a topic.
func (p *places) list(ctx context.Context, topic string) ([]Queue, error) {
	if queues := p.cfg.Queues[topic]; len(queues) > 0 {
		return queues, nil
	}
	r, err := p.c.routes.get(ctx, topic)
	if err != nil {
		return nil, err
	}
	return p.pin(topic, r)
}

// pin keeps the list of r, unless r says itself what the list is.
func (p *places) pin(topic string, r *topicRoute) ([]Queue, error) {
	queues, ordered, err := r.writable(topic)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if ordered {
		return queues, nil
	}
	if first := p.pinned[topic]; first != nil {
		return first, nil
	}
	if len(queues) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoQueue, topic)
	}
	p.pinned[topic] = queues
	p.c.log.Info("topic has no ordered-topic configuration: its present queues are kept for ordering keys; a restart may see others",
		"topic", topic, "queues", len(queues))
	return queues, nil
}

// known tells whether keys of the topic can be placed without waiting.
func (p *places) known(topic string) bool {
	queues := p.cfg.Queues[topic]
	if len(queues) == 0 {
		r := p.c.routes.known(topic)
		if r == nil {
			return false
		}
		var err error
		if queues, err = p.pin(topic, r); err != nil {
			return false
		}
	}
	if p.cfg.Lane != LaneOfTopic {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.lanes[laneKey{topic, len(queues)}]
	return ok
}

// ofKey is the queue of an ordering key, and the epoch of the lane map that says
// so. It waits for a route until ctx ends.
func (p *places) ofKey(ctx context.Context, topic, key string) (Queue, uint64, error) {
	queues, err := p.patientList(ctx, topic)
	if err != nil {
		return Queue{}, 0, err
	}
	lanes, err := p.lanesOf(ctx, topic, queues)
	if err != nil {
		return Queue{}, 0, err
	}
	at := route.Placement{Function: lanes.function, Queues: int32(len(queues))}
	if lanes.queues == at.Queues {
		at.Map = lanes.lanes
	}
	i, err := at.Queue(key)
	if err != nil {
		return Queue{}, 0, err
	}
	return queues[i], uint64(at.Map.Epoch), nil
}

// lanesOf is how the topic's keys find their queues: as the caller stated, else
// as the broker of the first queue says. Nothing is placed before that is
// known.
func (p *places) lanesOf(ctx context.Context, topic string, queues []Queue) (laneInfo, error) {
	if p.cfg.Lane != LaneOfTopic {
		return laneInfo{function: route.Function(p.cfg.Lane)}, nil
	}
	at := laneKey{topic, len(queues)}
	p.mu.Lock()
	known, ok := p.lanes[at]
	p.mu.Unlock()
	if ok {
		return known, nil
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		lanes, err := p.c.lanes(ctx, topic, queues[0].Broker)
		if err == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.lanes[at] = lanes
			return lanes, nil
		}
		if !pause(ctx, wait) {
			return laneInfo{}, fmt.Errorf("lanes of the topic unknown: %w: %w", context.Cause(ctx), err)
		}
	}
}

// patientList is list, but it waits while no name server can be reached.
func (p *places) patientList(ctx context.Context, topic string) ([]Queue, error) {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		queues, err := p.list(ctx, topic)
		if err == nil || !retryable(err) {
			return queues, err
		}
		if !pause(ctx, wait) {
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// spread is what messages without key and selector may use now, and whether the
// topic is an ordered one, where there must be none.
func (p *places) spread(ctx context.Context, topic string) ([]Queue, bool, error) {
	r, err := p.c.routes.get(ctx, topic)
	if err != nil {
		return nil, false, err
	}
	queues, ordered, err := r.writable(topic)
	if err == nil && len(queues) == 0 {
		err = fmt.Errorf("%w: %s", ErrNoQueue, topic)
	}
	return queues, ordered, err
}

func fromRoute(list []route.MessageQueue) []Queue {
	queues := make([]Queue, len(list))
	for i, q := range list {
		queues[i] = Queue{Topic: q.Topic, Broker: q.Broker, ID: int(q.Queue)}
	}
	return queues
}
