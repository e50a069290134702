// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// laneWord is an operator's word on a message that a lane has in hand.
type laneWord struct {
	verb   string // header.VerbRetry, ...
	offset int64
	answer chan wordAnswer
}

type wordAnswer struct {
	text string // what happens now
	err  error  // why nothing does
}

// verbEvents are the verbs in the words of the machine.
var verbEvents = map[string]order.LaneEventKind{
	header.VerbRetry: order.LaneRetryNow, header.VerbLetter: order.LaneLetterNow,
	header.VerbPark: order.LaneParkNow, header.VerbResume: order.LaneUnpark,
}

// serveVerb handles CONSUME_MESSAGE_DIRECTLY 309 with a verb of ours. Without
// one it is refused: this client takes no message out of turn.
func (c *Client) serveVerb(conn *transport.Conn, req *wire.Command) {
	var h header.ConsumeMessageDirectly
	var v header.Verb
	err := errors.Join(h.Decode(req.Ext), v.Decode(req.Ext))
	if err == nil && v.Verb == "" {
		_ = conn.Reply(req, wire.NewResponse(req, wire.RequestCodeNotSupported,
			"this client takes no message out of turn: reset the position of the queue, or send the message again"))
		return
	}
	m := c.member(h.ConsumerGroup)
	if err == nil && m == nil {
		err = fmt.Errorf("no consumer of group %s in this client", h.ConsumerGroup)
	}
	if err != nil {
		_ = conn.Reply(req, wire.NewResponse(req, wire.SystemError, err.Error()))
		return
	}
	q := Queue{Topic: v.Topic, Broker: h.BrokerName, ID: int(v.Queue)}
	c.spawn(func() {
		ctx, cancel := c.requestContext()
		defer cancel()
		text, err := m.say(ctx, q, v.Verb, v.Offset)
		resp := wire.NewResponse(req, wire.Success, text)
		if err != nil {
			resp = wire.NewResponse(req, wire.SystemError, err.Error())
		}
		_ = conn.Reply(req, resp)
	})
}

// say gives an operator's word to the lane of q and returns what came of it.
func (m *member) say(ctx context.Context, q Queue, verb string, offset int64) (string, error) {
	found := make(chan *lane, 1)
	if !m.do(func() { found <- m.lanes[q] }) {
		return "", fmt.Errorf("the consumer of group %s is closing", m.cfg.Group)
	}
	var l *lane
	select {
	case l = <-found:
	case <-m.ended:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if l == nil {
		return "", fmt.Errorf("queue %v is not this member's any more: ask again", q)
	}
	w := laneWord{verb: verb, offset: offset, answer: make(chan wordAnswer, 1)}
	select {
	case l.words <- w:
	case <-l.over:
		return "", fmt.Errorf("queue %v is just being given up: ask again", q)
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	a := <-w.answer
	return a.text, a.err
}

// word carries an operator's word out. It runs on the lane's goroutine.
func (l *lane) word(w laneWord) wordAnswer {
	kind, ok := verbEvents[w.verb]
	if !ok {
		return wordAnswer{err: fmt.Errorf("a consumer knows no verb %.32q", w.verb)}
	}
	before, ok := l.core.WaitAt(w.offset)
	switch {
	case !l.core.Open():
		return wordAnswer{err: fmt.Errorf("queue %v is being given up: ask again", l.queue)}
	case !ok:
		return wordAnswer{err: fmt.Errorf("offset %d is not the first unfinished message of a key in queue %v, whose position is %d",
			w.offset, l.queue, l.core.CommitOffset())}
	case kind == order.LaneUnpark && before.Why != order.LaneParked:
		return wordAnswer{err: fmt.Errorf("offset %d is not parked: %v", w.offset, before.Why)}
	case before.Why == order.LaneLettering || before.Why == order.LaneReporting:
		return wordAnswer{err: fmt.Errorf("offset %d: %v just now: ask again", w.offset, before.Why)}
	}
	l.log.Warn("an operator's word", "verb", w.verb, "offset", w.offset, "was", before.Why.String())
	l.step(order.LaneEvent{Kind: kind, Offset: w.offset})
	after, ok := l.core.WaitAt(w.offset)
	switch {
	case !ok:
		return wordAnswer{text: "done"}
	case before.Why == order.LaneHandling || before.Why == order.LaneIgnoring:
		return wordAnswer{text: "a handler has it: done when that returns without success"}
	}
	return wordAnswer{text: "now: " + after.Why.String()}
}
