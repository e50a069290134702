// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/route"
)

// topicRoute is what a name server said about a topic. It does not change.
type topicRoute struct {
	route   route.TopicRoute
	pretend bool // made up from the template of created topics

	once sync.Once // guards list, which every send asks for
	list publishable
}

// publishable is the queues that may be sent to, not to be changed.
type publishable struct {
	queues  []Queue
	ordered bool
	err     error
}

// writable works out the queues of topic to send to.
func (r *topicRoute) writable(topic string) (queues []Queue, ordered bool, err error) {
	r.once.Do(func() {
		list, err := r.route.Publishable(topic)
		if err != nil {
			r.list.err = fmt.Errorf("orderly: %w", err)
			return
		}
		r.list = publishable{queues: fromRoute(list.Queues), ordered: list.Ordered}
	})
	return r.list.queues, r.list.ordered, r.list.err
}

// laneInfo is how the keys of a topic find their queue; zero: not told.
type laneInfo struct {
	function route.Function
	lanes    route.LaneMap
	queues   int32 // the length of the list that lanes is for
}

// routes keeps the routes of all topics that were asked for.
type routes struct {
	c *Client

	mu      sync.Mutex
	topics  map[string]*routeEntry
	changed func(topic string) // told after a refresh brought news
}

type routeEntry struct {
	now    *topicRoute // nil until known
	at     time.Time   // of the last answer
	asking chan struct{}
	err    error // of the last request
}

// freshEnough is the least time between requests for one topic that failures
// or made-up routes cause.
const freshEnough = time.Second

// get is the route of a topic; it asks a name server if none is known yet.
func (r *routes) get(ctx context.Context, topic string) (*topicRoute, error) {
	r.mu.Lock()
	e := r.topics[topic]
	if e != nil && e.now != nil {
		now, stale := e.now, e.now.pretend && time.Since(e.at) > freshEnough
		r.mu.Unlock()
		if stale {
			r.refreshSoon(topic)
		}
		return now, nil
	}
	r.mu.Unlock()
	return r.refresh(ctx, topic)
}

// known is the route of a topic, or nil if it has to be asked for.
func (r *routes) known(topic string) *topicRoute {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.topics[topic]; e != nil {
		return e.now
	}
	return nil
}

// refresh asks for the route of a topic. Callers that come while the question
// is under way share its answer.
func (r *routes) refresh(ctx context.Context, topic string) (*topicRoute, error) {
	r.mu.Lock()
	e := r.topics[topic]
	if e == nil {
		e = &routeEntry{}
		r.topics[topic] = e
	}
	if e.asking == nil {
		e.asking = make(chan struct{})
		if !r.c.spawn(func() { r.ask(topic, e) }) {
			e.asking = nil
			r.mu.Unlock()
			return nil, ErrClosed
		}
	}
	asking := e.asking
	r.mu.Unlock()
	select {
	case <-asking:
	case <-ctx.Done():
		return nil, fmt.Errorf("orderly: route of %s: %w", topic, context.Cause(ctx))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.now != nil {
		return e.now, nil
	}
	return nil, e.err
}

// ask is the question under way of e.
func (r *routes) ask(topic string, e *routeEntry) {
	now, err := r.c.names.route(r.c.ctx, topic)
	if errors.Is(err, ErrTopicNotFound) {
		if template, terr := r.c.names.route(r.c.ctx, msg.TopicAutoCreate); terr == nil && msg.Sendable(topic) {
			now, err = &topicRoute{route: template.route.AutoCreated(autoQueues), pretend: true}, nil
		}
	}
	r.mu.Lock()
	news := err == nil && (e.now == nil || e.now.pretend != now.pretend || !e.now.route.Equal(&now.route))
	switch {
	case err == nil && (e.now == nil || e.now.pretend || !now.pretend):
		e.now, e.err, e.at = now, nil, time.Now()
	case err == nil: // the topic is gone from the name server; keep what is known
		e.at = time.Now()
	default:
		e.err, e.at = err, time.Now()
		if e.now == nil && errors.Is(err, ErrTopicNotFound) {
			delete(r.topics, topic)
		}
	}
	close(e.asking)
	e.asking = nil
	r.mu.Unlock()
	if news {
		r.c.learn(&now.route)
		r.changed(topic)
	}
}

// autoQueues is how many queues per broker a topic gets that a send creates.
const autoQueues = 4

// suspect says that a send to the topic failed: the route may be old.
func (r *routes) suspect(topic string) { r.refreshSoon(topic) }

// refreshSoon refreshes in the background, unless that was just done.
func (r *routes) refreshSoon(topic string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.topics[topic]
	if e == nil || e.asking != nil || time.Since(e.at) < freshEnough {
		return
	}
	e.asking = make(chan struct{})
	if !r.c.spawn(func() { r.ask(topic, e) }) {
		e.asking = nil
	}
}

// refreshAll asks for all topics anew.
func (r *routes) refreshAll() {
	r.mu.Lock()
	topics := make([]string, 0, len(r.topics))
	for topic := range r.topics {
		topics = append(topics, topic)
	}
	r.mu.Unlock()
	for _, topic := range topics {
		r.refreshSoon(topic)
	}
}
