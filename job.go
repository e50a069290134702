// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// job is one call of a producer: a message, or the messages of a batch.
type job struct {
	ms       []*Message
	batch    bool
	oneway   bool
	size     int
	out      []*outgoing
	turn     turn
	deadline time.Time
	receipts []Receipt
	errs     []error
	done     func([]Receipt, error)
}

// submit takes j in call order. What can be told at once is told at once, on
// this goroutine; a refused message stops its key like any other failure, or
// calls already made behind it could overtake it.
func (p *Producer) submit(ctx context.Context, j *job, done func([]Receipt, error)) {
	j.done, j.receipts, j.errs = done, make([]Receipt, len(j.ms)), make([]error, len(j.ms))
	if err := p.prepare(ctx, j); err != nil {
		p.refuse(j, err)
		return
	}
	if err := p.budget.take(ctx, len(j.ms), j.size); err != nil {
		if !errors.Is(err, ErrClosed) {
			err = fmt.Errorf("orderly: send to %s: no room for it: %w", j.ms[0].Topic, err)
		}
		p.refuse(j, err)
		return
	}
	if !p.accept() {
		p.budget.give(len(j.ms), j.size)
		p.refuse(j, ErrClosed)
		return
	}
	j.deadline = time.Now().Add(p.cfg.DeliveryTimeout)
	j.turn.start = func() { go p.run(j) }
	p.chains.add(&j.turn)
}

// prepare encodes the messages and finds out what each is kept in order with.
func (p *Producer) prepare(ctx context.Context, j *job) error {
	for i, m := range j.ms {
		o, err := p.encode(m, j.batch)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		j.out = append(j.out, o)
		j.size += len(o.body) + len(o.props)
		l := keyLink(m)
		if sel := p.selector(m); sel != nil {
			queues, err := p.places.list(ctx, m.Topic)
			if err != nil {
				return err
			}
			if o.queue, err = choose(sel, queues, m); err != nil {
				return err
			}
			o.chosen = true
			if !l.keyed() {
				l = link{topic: m.Topic, queue: o.queue}
			}
		} else if !l.keyed() {
			continue
		}
		if !slices.Contains(j.turn.links, l) {
			j.turn.links = append(j.turn.links, l)
		}
	}
	return nil
}

func (p *Producer) selector(m *Message) QueueSelector {
	if m.Selector != nil {
		return m.Selector
	}
	return p.cfg.Selector
}

// choose runs a user's selector.
func choose(sel QueueSelector, queues []Queue, m *Message) (q Queue, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: it panicked: %v", ErrBadSelector, r)
		}
	}()
	q = sel(slices.Clone(queues), m, m.SelectorArg)
	if !slices.Contains(queues, q) {
		return q, fmt.Errorf("%w: it returned %v", ErrBadSelector, q)
	}
	return q, nil
}

// refuse fails j before it had a turn, and stops its keys.
func (p *Producer) refuse(j *job, err error) {
	for i, m := range j.ms {
		j.errs[i] = err
		if m != nil && !errors.Is(err, ErrClosed) && p.cfg.OnFailure == StopKey {
			p.chains.halt(keyLink(m), err)
		}
	}
	p.report(j)
}

// report tells the caller what became of j.
func (p *Producer) report(j *job) {
	for _, err := range j.errs {
		if err != nil {
			j.done(j.receipts, &BatchError{Errs: j.errs})
			return
		}
	}
	j.done(j.receipts, nil)
}

// run is j's turn: it sends the messages, group by group in their order, and
// lets the next ones of their keys go.
func (p *Producer) run(j *job) {
	defer p.sends.Done()
	for _, g := range p.groups(j) {
		if g = p.unbroken(j, g); len(g) > 0 {
			p.deliver(j, g)
		}
	}
	p.budget.give(len(j.ms), j.size)
	for l, err := range p.broken(j) {
		p.chains.halt(l, err)
	}
	p.report(j) // may resume what was just stopped
	p.chains.finish(&j.turn)
}

// broken is the first failure of each key in j, if failures stop keys.
func (p *Producer) broken(j *job) map[link]error {
	if p.cfg.OnFailure != StopKey {
		return nil
	}
	failed := map[link]error{}
	for i, err := range j.errs {
		if l := keyLink(j.ms[i]); err != nil && l.keyed() && failed[l] == nil && !errors.Is(err, ErrKeyStopped) {
			failed[l] = err
		}
	}
	return failed
}

// unbroken leaves out of a group the messages whose key has failed in a group
// before it: they must not overtake.
func (p *Producer) unbroken(j *job, group []int) []int {
	failed := p.broken(j)
	if len(failed) == 0 {
		return group
	}
	return slices.DeleteFunc(group, func(i int) bool {
		m := j.ms[i]
		if cause := failed[keyLink(m)]; cause != nil {
			j.errs[i] = &KeyStoppedError{Topic: m.Topic, OrderingKey: m.OrderingKey, Cause: cause}
			return true
		}
		return false
	})
}

// maxBatchBody is the largest batch request; brokers take 4 MiB.
const maxBatchBody = 4<<20 - 64<<10

// groups puts the messages of j, by index, into requests: one for each queue,
// more if they are too large for one. A message whose key is stopped, or that
// cannot be placed, has its error and is in no group.
func (p *Producer) groups(j *job) [][]int {
	var groups [][]int
	var sizes []int
	type target struct {
		queue  Queue // none: a message that may go anywhere
		chosen bool
	}
	last := map[target]int{} // -> its latest group
	for i, o := range j.out {
		if err := p.place(j, o); err != nil {
			j.errs[i] = err
			continue
		}
		size := len(o.body) + len(o.props) + msgOverhead
		to := target{o.queue, o.chosen}
		g, ok := last[to]
		if !ok || sizes[g]+size > maxBatchBody {
			g = len(groups)
			last[to] = g
			groups, sizes = append(groups, nil), append(sizes, 0)
		}
		groups[g] = append(groups[g], i)
		sizes[g] += size
	}
	return groups
}

const msgOverhead = 32

// place finds the queue of a message that has a key. It waits for a route for
// as long as the message may live. Others are placed at each attempt anew.
func (p *Producer) place(j *job, o *outgoing) error {
	l := keyLink(o.m)
	if err := p.chains.check(l); err != nil {
		return err
	}
	if o.chosen || !l.keyed() {
		return nil
	}
	ctx, cancel := context.WithDeadline(p.ctx, j.deadline)
	defer cancel()
	q, epoch, err := p.places.ofKey(ctx, o.m.Topic, o.m.OrderingKey)
	if err != nil {
		return &DeliveryError{Topic: o.m.Topic, OrderingKey: o.m.OrderingKey, Err: err}
	}
	o.queue, o.laneEpoch = q, epoch
	return nil
}

// deliver sends one group until it is stored, refused for good, or too old.
func (p *Producer) deliver(j *job, group []int) {
	outs := make([]*outgoing, len(group))
	for k, i := range group {
		outs[k] = j.out[i]
	}
	receipts, err := p.attempts(j, outs)
	for k, i := range group {
		if err != nil {
			failure := *err
			failure.OrderingKey = j.ms[i].OrderingKey
			j.errs[i] = &failure
			continue
		}
		j.receipts[i] = receipts[k]
	}
}
