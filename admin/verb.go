// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"fmt"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// Verb is what is to become of a message that waits.
type Verb string

// The verbs. They reach the member that has the message in hand.
const (
	// Retry tries the message again now. If it fails it waits as before.
	Retry Verb = header.VerbRetry
	// DeadLetter moves the message to the group's dead letters and goes on,
	// which leaves a gap in the key's order.
	DeadLetter Verb = header.VerbLetter
	// Park stops the message's key, or its queue in a consumer by queue, until
	// Resume. It is kept by the member: who takes the queue over knows nothing
	// of it. Parking by the group's policy outlives its member.
	Park Verb = header.VerbPark
	// Resume lets a parked key go on, with its attempts counted from 0.
	Resume Verb = header.VerbResume
)

// Message names a message that waits: the first unfinished one of its key, as
// Blocked lists it.
type Message struct {
	Group, Topic, Broker string
	Queue                int
	Offset               int64
	// Owner is the client id of the member. Empty: the holder of the queue's
	// lease; consumers without order have none, so name it there.
	Owner string
}

// Do gives the word on a message that waits to the member that has it, and
// returns what that one says. A message that is not the first unfinished one of
// its key there, or not there any more, is refused with a *ResponseError.
func (c *Client) Do(ctx context.Context, verb Verb, m Message) (string, error) {
	switch verb {
	case Retry, DeadLetter, Park, Resume:
	default:
		return "", fmt.Errorf("admin: %q is no verb: use retry, dead-letter, park or resume", string(verb))
	}
	to, err := c.master(ctx, m.Broker)
	if err != nil {
		return "", err
	}
	h := verbOf{
		&header.ConsumeMessageDirectly{ConsumerGroup: m.Group, ClientID: m.Owner, BrokerName: to.name, Topic: m.Topic},
		&header.Verb{Verb: string(verb), Topic: m.Topic, Queue: int32(m.Queue), Offset: m.Offset},
	}
	resp, err := c.call(ctx, to.addr, wire.ReqConsumeMessageDirectly, h, nil)
	if err != nil {
		return "", err
	}
	return resp.Remark, nil
}

// Release takes a queue from the member that holds it, whose commits and pulls
// are refused from then on; its handler contexts end. Whoever the queue is meant
// for, which may be the same member, gets it after the group's grace. It returns
// what the broker says.
func (c *Client) Release(ctx context.Context, group, topic, broker string, queue int) (string, error) {
	to, err := c.master(ctx, broker)
	if err != nil {
		return "", err
	}
	req := body.LockBatch{ConsumerGroup: group, ClientID: "operator", Queues: []body.MessageQueue{{Topic: topic, BrokerName: to.name, QueueID: int32(queue)}}}
	h := verbOf{nil, &header.Verb{Verb: header.VerbRelease, Topic: topic, Queue: int32(queue)}}
	resp, err := c.call(ctx, to.addr, wire.ReqUnlockBatchMQ, h, req.Encode())
	if err != nil {
		return "", err
	}
	return resp.Remark, nil
}

// verbOf is a request's header with a verb.
type verbOf struct {
	*header.ConsumeMessageDirectly
	verb *header.Verb
}

func (h verbOf) Encode(f *wire.Fields) {
	if h.ConsumeMessageDirectly != nil {
		h.ConsumeMessageDirectly.Encode(f)
	}
	h.verb.Encode(f)
}

// master finds a broker by name; without one there must be only one.
func (c *Client) master(ctx context.Context, name string) (master, error) {
	ms, err := c.masters(ctx)
	if err != nil {
		return master{}, err
	}
	if name == "" && len(ms) == 1 {
		return ms[0], nil
	}
	for _, m := range ms {
		if m.name == name {
			return m, nil
		}
	}
	if name == "" {
		return master{}, fmt.Errorf("admin: there are %d brokers: name one", len(ms))
	}
	return master{}, fmt.Errorf("%w: %s", ErrNoBroker, name)
}
