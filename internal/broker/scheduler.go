// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"strconv"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/store/meta"
)

// scheduler delivers delayed messages: each delay level is a queue of the
// schedule topic, and the first message of a queue is always the next one due.
// Its position in each queue is a mark in the change log. A message whose
// delivery was stored and whose position was not, because of a crash, is
// delivered again.
type scheduler struct {
	b      *Broker
	wake   chan struct{}
	levels []delayLevel
}

// delayLevel is one queue of the schedule topic.
type delayLevel struct {
	queue  int32
	delay  time.Duration
	next   int64 // offset of the first message not delivered
	stored int64 // next, as it is in the change log
}

const (
	scheduleBatch = 64          // messages delivered at a time
	scheduleRetry = time.Second // after a failure
)

func newScheduler(b *Broker) *scheduler {
	s := &scheduler{b: b, wake: make(chan struct{}, 1), levels: make([]delayLevel, len(b.delays))}
	for i := range s.levels {
		at, _ := b.meta.View().Mark(delayMark(int32(i)))
		s.levels[i] = delayLevel{queue: int32(i), delay: b.delays.Delay(i + 1), next: at, stored: at}
	}
	return s
}

// delayMark names the mark that holds a level's position.
func delayMark(queue int32) string { return "delay/" + strconv.Itoa(int(queue)+1) }

// arrived wakes the scheduler if something is to be delayed.
func (s *scheduler) arrived(messages []store.Committed) {
	for i := range messages {
		if messages[i].Topic == msg.TopicSchedule {
			select {
			case s.wake <- struct{}{}:
			default:
			}
			return
		}
	}
}

// run delivers until ctx ends.
func (s *scheduler) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
		timer.Reset(s.round(ctx))
	}
}

// round delivers what is due in all levels and returns when to look again.
func (s *scheduler) round(ctx context.Context) time.Duration {
	wait := time.Hour
	var marks []meta.Change
	for i := range s.levels {
		l := &s.levels[i]
		wait = min(wait, s.level(ctx, l))
		if l.next != l.stored {
			l.stored = l.next
			marks = append(marks, meta.SetMark{Name: delayMark(l.queue), Value: l.next})
		}
	}
	if len(marks) > 0 {
		if err := s.b.meta.Apply(ctx, marks...); err != nil && ctx.Err() == nil {
			s.b.log.Error("positions of delayed messages cannot be written: after a crash some are delivered again", "err", err)
		}
	}
	return max(wait, time.Millisecond)
}

// level delivers what is due in one level, at most a batch, and returns when to
// look again.
func (s *scheduler) level(ctx context.Context, l *delayLevel) time.Duration {
	low, high := s.b.store.Bounds(msg.TopicSchedule, l.queue)
	l.next = max(l.next, low)
	if l.next >= high {
		return time.Hour
	}
	res, err := s.b.store.Read(msg.TopicSchedule, l.queue, l.next, store.ReadLimit{MaxMsgs: scheduleBatch, MaxBytes: 256 << 10}, nil)
	if err != nil || res.Status != store.Found {
		s.complain(ctx, "delayed messages cannot be read", err)
		return scheduleRetry
	}
	now := s.b.cfg.Clock().UnixMilli()
	var due []msg.Message
	wait := time.Duration(0) // there may be more
	next := res.Next
	for v, err := range msg.Views(res.Records) {
		if err != nil {
			s.complain(ctx, "a delayed message cannot be read and is left out", err)
			break
		}
		left := time.Duration(v.StoreTimestamp()-now)*time.Millisecond + l.delay
		if left = min(left, l.delay); left > 0 { // a clock that went back does not make it longer
			wait, next = left, v.QueueOffset()
			break
		}
		if m, ok := s.deliverable(v); ok {
			due = append(due, m)
		}
	}
	if len(due) > 0 {
		if err := s.store(ctx, due); err != nil {
			s.complain(ctx, "delayed messages cannot be delivered yet", err)
			return scheduleRetry
		}
	}
	l.next = next
	return wait
}

// deliverable is a delayed message as it goes to where it belongs; false if
// its topic is gone. The properties stay as they are, the delay level too: this
// way of storing does not look at it.
func (s *scheduler) deliverable(v msg.View) (msg.Message, bool) {
	m := v.Message()
	m.Topic, _ = m.Property(msg.PropRealTopic)
	text, _ := m.Property(msg.PropRealQueue)
	queue, err := strconv.ParseInt(text, 10, 32)
	if _, ok := s.b.topic(m.Topic); !ok || err != nil || queue < 0 {
		s.b.log.Warn("a delayed message is dropped: its topic is gone", "topic", m.Topic, "id", m.ID())
		return m, false
	}
	m.QueueID = int32(queue)
	m.Properties = msg.WithoutCheck(m.Properties)
	m.StoreHost = s.b.storeHost
	return m, true
}

// store appends the messages and waits until they are safe.
func (s *scheduler) store(ctx context.Context, due []msg.Message) error {
	done := make(chan error, 1)
	a := &store.Append{Msgs: due, Done: func(_ *store.Append, err error) { done <- err }}
	if err := s.b.store.Append(ctx, a); err != nil {
		return err
	}
	err := <-done // always called
	if err == nil {
		s.b.stats.stored(due)
	}
	return err
}

func (s *scheduler) complain(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		s.b.log.Error(what, "err", err)
	}
}

// delayOffsets is how far each delay level is: delivered and stored.
func (b *Broker) delayOffsets(level int) (delivered, stored int64) {
	delivered, _ = b.meta.View().Mark(delayMark(int32(level - 1)))
	_, stored = b.store.Bounds(msg.TopicSchedule, int32(level-1))
	return delivered, stored
}
