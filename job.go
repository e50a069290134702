// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// job is one call of a producer: a message, or the messages of a batch.
type job struct {
	ms       []*Message
	batch    bool
	oneway   bool
	inline   bool // done is ours and never waits
	size     int
	out      []*outgoing
	deadline time.Time
	receipts []Receipt
	errs     []error
	left     atomic.Int32 // messages that are not settled
	round    *round
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
	if p.cfg.FailFast && !p.budget.try(len(j.ms), j.size) {
		p.refuse(j, fmt.Errorf("orderly: send to %s: %w", j.ms[0].Topic, ErrProducerFull))
		return
	}
	if !p.cfg.FailFast {
		if err := p.budget.take(ctx, len(j.ms), j.size); err != nil {
			if !errors.Is(err, ErrClosed) {
				err = fmt.Errorf("orderly: send to %s: no room for it: %w", j.ms[0].Topic, err)
			}
			p.refuse(j, err)
			return
		}
	}
	if !p.accept(j) {
		p.budget.give(len(j.ms), j.size)
		p.refuse(j, ErrClosed)
		return
	}
	j.deadline = time.Now().Add(p.cfg.DeliveryTimeout)
	j.left.Store(int32(len(j.ms)))
	if loose := p.enqueue(j); len(loose) > 0 {
		go p.run(j, loose) // ends before the send counts as settled
	}
}

// prepare encodes the messages and runs their selectors.
func (p *Producer) prepare(ctx context.Context, j *job) error {
	j.out = make([]*outgoing, 0, len(j.ms))
	for i, m := range j.ms {
		o, err := p.encode(m, j.batch)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		o.job, o.index = j, i
		j.out = append(j.out, o)
		j.size += len(o.body) + len(o.props)
		if sel := p.selector(m); sel != nil {
			queues, err := p.places.list(ctx, m.Topic)
			if err != nil {
				return err
			}
			if o.queue, err = choose(sel, queues, m); err != nil {
				return err
			}
			o.chosen = true
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
		if m != nil && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrProducerFull) && p.cfg.OnFailure == StopKey {
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

// run sends the messages of j that need no order: those by index.
func (p *Producer) run(j *job, loose []int) {
	for _, g := range p.groups(j, loose) {
		p.deliver(j, g)
	}
	p.finish(j, len(loose), func(j *job) {
		p.report(j)
		p.settled(j)
	})
}

// finish notes that n messages of j are settled. After the last one j's caller
// is told, through tell if that is the application's code.
func (p *Producer) finish(j *job, n int, tell func(*job)) {
	if j.left.Add(int32(-n)) > 0 {
		return
	}
	p.budget.give(len(j.ms), j.size)
	if !j.inline {
		tell(j)
		return
	}
	p.report(j)
	p.settled(j)
}

// maxBatchBody is the largest batch request; brokers take 4 MiB.
const maxBatchBody = 4<<20 - 64<<10

// groups puts messages of j that may go anywhere, by index, into requests: one,
// or more if they are too large for one.
func (p *Producer) groups(j *job, loose []int) [][]int {
	var groups [][]int
	size := maxBatchBody
	for _, i := range loose {
		o := j.out[i]
		n := len(o.body) + len(o.props) + msgOverhead
		if size += n; size > maxBatchBody {
			groups, size = append(groups, nil), n
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], i)
	}
	return groups
}

const msgOverhead = 32

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
