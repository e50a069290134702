// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"strings"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// fillBatch makes the messages of a batch send. Each is stored with exactly
// the properties of its own record; the rest comes from the header.
func (b *Broker) fillBatch(s *sending, h *header.SendMessage) error {
	if strings.HasPrefix(h.Topic, msg.RetryPrefix) {
		return illegal("batch request does not support retry group %s", h.Topic)
	}
	if len(s.cmd.Body) == 0 {
		return &sendError{wire.SystemError, "the batch has no body"}
	}
	if len(s.cmd.Body) > b.cfg.MaxMessageSize {
		return b.checkSize(len(s.cmd.Body), 0)
	}
	records, err := msg.DecodeBatch(s.cmd.Body, b.cfg.MaxBatch)
	if err != nil {
		return &sendError{wire.SystemError, err.Error()}
	}
	s.key, _ = msg.Property(h.Properties, msg.PropUniqueKey)
	s.Append.Msgs = make([]msg.Message, len(records))
	for i := range records {
		rec := &records[i]
		if msg.DelayLevel(rec.Properties) > 0 {
			return illegal("message %d of the batch has a delay level: send it by itself", i)
		}
		s.Append.Msgs[i] = msg.Message{
			Topic: h.Topic, QueueID: s.queue, Flag: rec.Flag, SysFlag: h.SysFlag &^ (msg.FlagNeedUnwrap | msg.FlagInnerBatch),
			BornTimestamp: h.BornTimestamp, BornHost: s.c.peer, StoreHost: b.storeHost, ReconsumeTimes: h.ReconsumeTimes,
			Body: rec.Body, Properties: rec.Properties,
		}
	}
	return nil
}
