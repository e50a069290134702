// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"

	"github.com/orderlymq/orderly/internal/order"
)

// line is where calls become an order: messages enter the pipelines in the order
// in which they passed it.
//
// A message of which the queue is not known yet waits with all later ones of its
// topic, so that finding out cannot reorder them.

// enqueue puts the messages of j that have a key or a chosen queue into their
// pipelines, and returns the others by index.
func (p *Producer) enqueue(j *job) (loose []int) {
	at := p.c.now().Add(p.cfg.DeliveryTimeout)
	p.line.Lock()
	defer p.line.Unlock()
	for i, o := range j.out {
		if !o.chosen && o.m.OrderingKey == "" {
			loose = append(loose, i)
			continue
		}
		o.parcel = order.Parcel{Size: len(o.body) + len(o.props) + msgOverhead, Share: o.share(), Oneway: j.oneway, Deadline: at, Ref: o}
		if o.m.OrderingKey != "" {
			o.parcel.Key = parcelKey(o.m.Topic, o.m.OrderingKey)
		}
		topic := o.m.Topic
		waiting, waits := p.unplaced[topic]
		if !waits && (o.chosen || p.places.known(topic)) {
			p.place(o)
			continue
		}
		p.unplaced[topic] = append(waiting, o)
		if !waits {
			p.wg.Go(func() { p.placeAll(topic) })
		}
	}
	return loose
}

// share says with what else a message may share a frame.
func (o *outgoing) share() uint8 {
	switch {
	case o.sysFlag != 0:
		return 0
	case o.chosen:
		return shareChosen
	}
	return shareKeyed
}

func parcelKey(topic, key string) string { return topic + "\x00" + key }

// place finds the queue of o and posts it; p.line is held. It waits for nobody
// if the topic is known.
func (p *Producer) place(o *outgoing) {
	if err := p.chains.check(keyLink(o.m)); err != nil {
		p.turnBack(o, err)
		return
	}
	if !o.chosen {
		q, epoch, err := p.places.ofKey(p.ctx, o.m.Topic, o.m.OrderingKey)
		if err != nil {
			p.unplaceable(o, err)
			return
		}
		o.queue, o.laneEpoch = q, epoch
	}
	if !p.pipeline(o.queue.Broker).inbox.post(pipeEvent{kind: pipeAdd, o: o}) {
		p.turnBack(o, ErrClosed)
	}
}

// placeAll waits until the queues of a topic are known and places what waited
// for that.
func (p *Producer) placeAll(topic string) {
	for {
		p.line.Lock()
		waiting := p.unplaced[topic]
		if len(waiting) == 0 {
			delete(p.unplaced, topic)
			p.line.Unlock()
			return
		}
		o := waiting[0]
		p.line.Unlock()
		err := p.awaitPlace(o)
		p.line.Lock()
		p.unplaced[topic] = p.unplaced[topic][1:]
		if err != nil {
			p.unplaceable(o, err)
		} else {
			p.place(o)
		}
		p.line.Unlock()
	}
}

// awaitPlace waits for as long as the message may live.
func (p *Producer) awaitPlace(o *outgoing) error {
	if o.chosen || p.chains.check(keyLink(o.m)) != nil {
		return nil
	}
	ctx, cancel := context.WithDeadlineCause(p.ctx, o.job.deadline, errDeliveryTimeout)
	defer cancel()
	_, _, err := p.places.ofKey(ctx, o.m.Topic, o.m.OrderingKey)
	return err
}

// unplaceable gives o up; p.line is held.
func (p *Producer) unplaceable(o *outgoing, err error) {
	failure := &DeliveryError{Topic: o.m.Topic, OrderingKey: o.m.OrderingKey, Err: err}
	if p.cfg.OnFailure == StopKey && p.ctx.Err() == nil {
		p.chains.halt(keyLink(o.m), failure)
	}
	p.turnBack(o, failure)
}

// turnBack settles a message that no pipeline has seen.
func (p *Producer) turnBack(o *outgoing, err error) {
	o.job.errs[o.index] = err
	p.finish(o.job, 1, func(j *job) {
		go func() { // ends before the send counts as settled
			p.report(j)
			p.settled(j)
		}()
	})
}

// pipeline is the one to a broker; p.line is held.
func (p *Producer) pipeline(broker string) *pipeline {
	l := p.pipelines[broker]
	if l == nil {
		l = newPipeline(p, broker)
		p.pipelines[broker] = l
		p.wg.Go(l.run)
	}
	return l
}
