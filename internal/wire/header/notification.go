// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// Notification is NOTIFICATION 200054, C to B. Java:
// NotificationRequestHeader.
type Notification struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32
	PollTime      int64
	BornTime      int64
	Order         Opt[bool]
	AttemptID     string
}

// Encode appends the fields.
func (h *Notification) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 7)
	w.str("consumerGroup", h.ConsumerGroup)
	w.str("topic", h.Topic)
	w.int("queueId", int64(h.QueueID))
	w.int("pollTime", h.PollTime)
	w.int("bornTime", h.BornTime)
	w.optBool("order", h.Order)
	w.optStr("attemptId", h.AttemptID)
	w.done()
}

// Decode reads the fields.
func (h *Notification) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = Notification{
		ConsumerGroup: r.str("consumerGroup"),
		Topic:         r.str("topic"),
		QueueID:       r.int32("queueId"),
		PollTime:      r.int64("pollTime"),
		BornTime:      r.int64("bornTime"),
		Order:         r.optBool("order"),
		AttemptID:     r.optStr("attemptId"),
	}
	return r.err
}

// NotificationResponse answers 200054. Java: NotificationResponseHeader.
type NotificationResponse struct {
	HasMsg      bool
	PollingFull bool
}

// Encode appends the fields.
func (h *NotificationResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.bool("hasMsg", h.HasMsg)
	w.bool("pollingFull", h.PollingFull)
	w.done()
}

// Decode reads the fields.
func (h *NotificationResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = NotificationResponse{
		HasMsg:      r.bool("hasMsg"),
		PollingFull: r.bool("pollingFull"),
	}
	return r.err
}
