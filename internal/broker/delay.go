// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"strconv"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/wire"
)

// delayRule sends a message with a delay level through the schedule topic, and
// refuses what needs a service that this broker does not have.
func (b *Broker) delayRule(m *msg.Message, t *traits) error {
	switch {
	case t.delay > 0:
		b.schedule(m, t.delay)
		return nil
	case t.timer:
		return &sendError{wire.SystemError, "timer messages are not enabled on this broker: use a delay level"}
	case t.half || m.SysFlag&msg.FlagTransactionMask != 0:
		return &sendError{wire.NoPermission, "the broker[" + b.cfg.Name + "] sending transaction message is forbidden"}
	}
	return nil
}

// schedule moves m to the queue of its delay level, with a note of where it
// belongs.
func (b *Broker) schedule(m *msg.Message, level int) {
	level = b.delays.Clamp(level)
	m.SetProperty(msg.PropDelay, strconv.Itoa(level))
	m.SetProperty(msg.PropRealTopic, m.Topic)
	m.SetProperty(msg.PropRealQueue, strconv.Itoa(int(m.QueueID)))
	m.Topic, m.QueueID = msg.TopicSchedule, int32(level-1)
}
