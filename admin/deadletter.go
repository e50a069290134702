// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// Letter is a message that a group has given up.
type Letter struct {
	// Broker, LetterQueue and Letter are where the dead letter is: in the topic
	// %DLQ%group.
	Broker      string `json:"broker"`
	LetterQueue int    `json:"letter_queue"`
	Letter      int64  `json:"letter"`
	// Topic, Queue and Offset are where the message was; Queue and Offset are -1
	// if a client of RocketMQ gave it up, which does not say.
	Topic  string `json:"topic"`
	Queue  int    `json:"queue"`
	Offset int64  `json:"offset"`
	ID     string `json:"id"` // the message's unique id
	Key    string `json:"key,omitempty"`
	// Attempts is how often it was tried, 0 if that is not known; Cause is the
	// last error, at most 1 KiB of it.
	Attempts int       `json:"attempts"`
	Cause    string    `json:"cause,omitempty"`
	Time     time.Time `json:"time"` // when it was given up
	Body     []byte    `json:"body"`

	physical int64
}

// maxLetters bounds what DeadLetters lists.
const maxLetters = 10_000

// DeadLetters lists the dead letters of a group, oldest first; the oldest 10,000
// if there are more.
func (c *Client) DeadLetters(ctx context.Context, group string) ([]Letter, error) {
	list := []Letter{}
	err := c.each(ctx, func(m master) error {
		for offset := int64(0); len(list) < maxLetters; {
			h := &header.PullMessage{
				ConsumerGroup: "TOOLS_CONSUMER", Topic: msg.DLQTopic(group), QueueOffset: offset, MaxMsgNums: 32,
				SysFlag: header.PullSubscription, Subscription: msg.AllTags, ExpressionType: body.ExpressionTag, BrokerName: m.name,
			}
			resp, err := c.call(ctx, m.addr, wire.ReqPullMessage, h, nil)
			if refused(err, wire.TopicNotExist, wire.PullNotFound) {
				return nil
			}
			if refused(err, wire.PullOffsetMoved) { // older ones are gone
				low, err := c.lowest(ctx, m, group)
				if err != nil || low <= offset {
					return err
				}
				offset = low
				continue
			}
			if err != nil {
				return err
			}
			var at header.PullMessageResponse
			if err := at.Decode(resp.Ext); err != nil {
				return fmt.Errorf("admin: dead letters of %s: %w", group, err)
			}
			got, err := letters(m.name, resp.Body)
			if err != nil {
				return fmt.Errorf("admin: dead letters of %s: %w", group, err)
			}
			list = append(list, got...)
			if at.NextBeginOffset <= offset {
				return nil
			}
			offset = at.NextBeginOffset
		}
		return nil
	})
	return list, err
}

func (c *Client) lowest(ctx context.Context, m master, group string) (int64, error) {
	resp, err := c.call(ctx, m.addr, wire.ReqGetMinOffset, &header.GetMinOffset{Topic: msg.DLQTopic(group)}, nil)
	if err != nil {
		return 0, err
	}
	var h header.OffsetResponse
	if err := h.Decode(resp.Ext); err != nil {
		return 0, fmt.Errorf("admin: dead letters of %s: %w", group, err)
	}
	return h.Offset, nil
}

// letters reads the records of a pull answer.
func letters(broker string, records []byte) ([]Letter, error) {
	var list []Letter
	for len(records) > 0 {
		m, n, err := msg.DecodeRecord(records)
		if err != nil {
			return nil, err
		}
		records = records[n:]
		list = append(list, letterFrom(broker, &m))
	}
	return list, nil
}

func letterFrom(broker string, m *msg.Message) Letter {
	l := Letter{
		Broker: broker, LetterQueue: int(m.QueueID), Letter: m.QueueOffset, Queue: -1, Offset: -1, ID: m.ID(),
		Key: m.OrderingKey(), Time: fromMillis(m.StoreTimestamp), Body: m.Body, physical: m.PhysicalOffset,
	}
	l.Topic, _ = m.Property(msg.PropDLQOriginTopic)
	if l.Topic == "" {
		l.Topic, _ = m.Property(msg.PropRetryTopic)
	}
	l.Cause, _ = m.Property(msg.PropLetterCause)
	if text, ok := m.Property(msg.PropLetterAttempts); ok {
		l.Attempts, _ = strconv.Atoi(text)
	}
	if id, ok := m.Property(msg.PropLetter); ok {
		if parts := strings.Split(id, "/"); len(parts) >= 4 {
			queue, err1 := strconv.Atoi(parts[len(parts)-2])
			offset, err2 := strconv.ParseInt(parts[len(parts)-1], 10, 64)
			if err1 == nil && err2 == nil {
				l.Queue, l.Offset = queue, offset
			}
		}
	}
	return l
}

// Resend sends a dead letter, as DeadLetters lists it, back to the topic where it
// came from: to the end of its key's queue, so behind every message of the key
// that is there already. All groups of that topic see it. The dead letter stays
// where it is; it is sent back once, a second call gets ErrSentBack.
func (c *Client) Resend(ctx context.Context, group string, l Letter) error {
	to, err := c.master(ctx, l.Broker)
	if err != nil {
		return err
	}
	h := resendOf{&header.ConsumerSendMsgBack{Offset: l.physical, Group: group, OriginMsgID: l.ID, BrokerName: to.name}}
	_, err = c.call(ctx, to.addr, wire.ReqConsumerSendMsgBack, h, nil)
	if refused(err, wire.CodeSentBack) {
		return fmt.Errorf("%w: letter %d of group %s", ErrSentBack, l.Letter, group)
	}
	return err
}

type resendOf struct{ *header.ConsumerSendMsgBack }

func (h resendOf) Encode(f *wire.Fields) {
	h.ConsumerSendMsgBack.Encode(f)
	f.Add(header.ExtResend, "1")
}
