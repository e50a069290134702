// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"fmt"
	"strings"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
)

// storedMessage is a message as the broker's log has it.
type storedMessage = msg.Message

// maxPlainBody bounds what a compressed body may grow to in the client.
const maxPlainBody = 64 << 20

// decodeRecords reads the records of a pull answer, whose memory they share.
func decodeRecords(body []byte) ([]storedMessage, error) {
	var ms []storedMessage
	for at := 0; at < len(body); {
		m, n, err := msg.DecodeRecord(body[at:])
		if err != nil {
			return nil, fmt.Errorf("record at byte %d: %w", at, err)
		}
		ms = append(ms, m)
		at += n
	}
	return ms, nil
}

// received makes the message that a handler sees. It is made anew for each
// attempt, so that a handler may change its maps and slices of strings.
func (c *Client) received(r *storedMessage, broker string, attempt int, fence uint64) (*Message, error) {
	body, err := c.codec.Plain(r, maxPlainBody)
	if err != nil {
		return nil, fmt.Errorf("message %s/%s/%d at %d: %w", r.Topic, broker, r.QueueID, r.QueueOffset, err)
	}
	m := &Message{
		Topic:       r.Topic,
		OrderingKey: r.OrderingKey(),
		Tag:         r.Tag(),
		Body:        body,
		Properties:  map[string]string{},
		ID:          r.ID(),
		OffsetID:    r.OffsetID(),
		Queue:       Queue{Topic: r.Topic, Broker: broker, ID: int(r.QueueID)},
		Offset:      r.QueueOffset,
		Attempt:     attempt,
		Fence:       fence,
		BornTime:    time.UnixMilli(r.BornTimestamp),
		StoreTime:   time.UnixMilli(r.StoreTimestamp),
		BornHost:    r.BornHost,
	}
	if keys := r.Keys(); keys != "" {
		m.Keys = strings.Fields(keys)
	}
	for name, value := range msg.Properties(r.Properties) {
		if !msg.ReservedProperty(name) {
			m.Properties[name] = value
		}
	}
	if origin, ok := r.Property(msg.PropRetryTopic); ok {
		m.Topic = origin
	}
	return m, nil
}
