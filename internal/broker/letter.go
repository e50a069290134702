// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// letters are the dead letters, and what is sent back from them, that are being
// stored: the same one is not begun twice.
type letters struct {
	mu   sync.Mutex
	busy map[string]bool
}

func (l *letters) begin(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[id] {
		return false
	}
	if l.busy == nil {
		l.busy = map[string]bool{}
	}
	l.busy[id] = true
	return true
}

func (l *letters) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.busy, id)
}

// letter stores a message that a member of ours gives up as a dead letter, once:
// its identity is group, topic, queue and offset, and is looked up first. A
// member that holds a lease must still hold it.
func (b *Broker) letter(r request, h *header.ConsumerSendMsgBack, l *header.Letter, f *header.Fence) {
	if g := b.group(h.Group); f.Epoch != 0 && (g == nil || !g.holds(order.Queue{Topic: h.OriginTopic, ID: l.Queue}, f)) {
		r.fail(wire.CodeFenced, fmt.Sprintf("queue %d of topic %s is not this member's under epoch %d any more", l.Queue, h.OriginTopic, f.Epoch))
		return
	}
	id := strings.Join([]string{h.Group, h.OriginTopic, strconv.Itoa(int(l.Queue)), strconv.FormatInt(l.Offset, 10)}, "/")
	if _, err := b.ensureOwned(b.ctx, msg.DLQTopic(h.Group), 1); err != nil {
		r.failed(err)
		return
	}
	b.once(r, id, func(end func()) {
		m, ok := b.givenBack(r, h.Offset)
		if !ok {
			end()
			return
		}
		if m.Topic != h.OriginTopic || m.QueueID != l.Queue || m.QueueOffset != l.Offset {
			end()
			r.fail(wire.InvalidParameter, fmt.Sprintf("the message at %d is not offset %d of queue %d of topic %s", h.Offset, l.Offset, l.Queue, h.OriginTopic))
			return
		}
		found, err := b.hasCopy(msg.DLQTopic(h.Group), &m, msg.PropLetter, id)
		if err != nil || found {
			end()
			r.answer(err)
			return
		}
		m.SetProperty(msg.PropLetter, id)
		m.SetProperty(msg.PropLetterAttempts, strconv.Itoa(int(l.Attempts)))
		m.SetProperty(msg.PropDLQOriginTopic, m.Topic)
		m.SetProperty(msg.PropDLQOriginID, m.OffsetID())
		if _, ok := m.Property(msg.PropRetryTopic); !ok {
			m.SetProperty(msg.PropRetryTopic, m.Topic)
		}
		if cause := cleanCause(l.Cause); len(m.Properties)+len(cause)+64 <= msg.MaxProperties {
			m.SetProperty(msg.PropLetterCause, cause)
		}
		m.Properties = msg.WithoutCheck(m.Properties)
		m.StoreHost = b.storeHost
		m.ReconsumeTimes++
		deadLetter(&m, h.Group)
		b.storeBack(r, m, end)
	})
}

// once runs do as a read unless the same thing is under way; do calls end when it
// is over.
func (b *Broker) once(r request, id string, do func(end func())) {
	if !b.letters.begin(id) {
		r.fail(wire.SystemBusy, "the same request is being carried out: ask again")
		return
	}
	b.read(r, func() { do(func() { b.letters.end(id) }) })
}

// answer is success, or why not.
func (r request) answer(err error) {
	if err != nil {
		r.failed(err)
		return
	}
	r.ok(nil)
}

// hasCopy reports whether a copy of m with that property is in the topic. The
// copy has the unique key of m, under which the key index finds it.
func (b *Broker) hasCopy(topic string, m *msg.Message, name, value string) (bool, error) {
	key, ok := m.Property(msg.PropUniqueKey)
	if !ok {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(b.ctx, queryTimeout)
	defer cancel()
	records, err := b.store.QueryKey(ctx, topic, key, maxCopies, 0, forever)
	if err != nil {
		return false, fmt.Errorf("look for %s in %s: %w", value, topic, err)
	}
	for _, rec := range records {
		c, _, err := msg.DecodeRecord(rec)
		if err != nil {
			return false, fmt.Errorf("look for %s in %s: %w", value, topic, err)
		}
		if have, _ := c.Property(name); have == value {
			return true, nil
		}
	}
	return false, nil
}

// Bounds of hasCopy: one message may be a dead letter of many offsets if it was
// sent again and again.
const (
	maxCopies = 1024
	forever   = 1<<63 - 1
)

// cleanCause makes an error's text fit for a property.
func cleanCause(text string) string {
	text = strings.ToValidUTF8(text, "?")
	return strings.Map(func(r rune) rune {
		if r == 1 || r == 2 {
			return ' '
		}
		return r
	}, text)
}

// holds reports whether a session holds a queue under its epoch.
func (g *group) holds(q order.Queue, f *header.Fence) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leases.Holds(q, order.Token(f.Session.Token), order.Epoch(f.Epoch))
}

// resend handles CONSUMER_SEND_MSG_BACK 36 with resend: an operator sends a dead
// letter back to the topic where it came from. It goes to the end of its key's
// queue, or, without a key, of the queue where it was. The same dead letter is
// sent back once.
func (b *Broker) resend(r request, h *header.ConsumerSendMsgBack) {
	b.read(r, func() {
		m, ok := b.givenBack(r, h.Offset)
		if !ok {
			return
		}
		if m.Topic != msg.DLQTopic(h.Group) {
			r.fail(wire.InvalidParameter, fmt.Sprintf("the message at %d is no dead letter of group %s", h.Offset, h.Group))
			return
		}
		from := fmt.Sprintf("%s/%d/%d", m.Topic, m.QueueID, m.QueueOffset)
		if !b.letters.begin(from) {
			r.fail(wire.SystemBusy, "the dead letter is being sent back: ask again")
			return
		}
		end := func() { b.letters.end(from) }
		if err := b.toOrigin(&m); err != nil {
			end()
			r.fail(wire.SystemError, err.Error())
			return
		}
		found, err := b.hasCopy(m.Topic, &m, msg.PropResent, from)
		if err != nil || found {
			end()
			if err != nil {
				r.failed(err)
				return
			}
			r.fail(wire.CodeSentBack, "the dead letter "+from+" was sent back before")
			return
		}
		m.SetProperty(msg.PropResent, from)
		b.storeBack(r, m, end)
	})
}

// toOrigin turns a dead letter into the message that it was, to be placed anew.
func (b *Broker) toOrigin(m *msg.Message) error {
	origin, ok := m.Property(msg.PropDLQOriginTopic)
	if !ok {
		if origin, ok = m.Property(msg.PropRetryTopic); !ok {
			return errors.New("the dead letter does not say where it came from")
		}
	}
	topic, ok := b.topic(origin)
	if !ok {
		return fmt.Errorf("topic %s, where the dead letter came from, does not exist any more", origin)
	}
	queue := int32(0)
	if id, ok := m.Property(msg.PropLetter); ok {
		parts := strings.Split(id, "/")
		if n, err := strconv.ParseInt(parts[max(0, len(parts)-2)], 10, 32); err == nil && int32(n) < topic.WriteQueues {
			queue = int32(n)
		}
	}
	if key := m.OrderingKey(); key != "" && topic.Ordered() {
		where := placement(topic)
		at, err := where.Queue(key)
		if err != nil {
			return fmt.Errorf("place the dead letter's key: %w", err)
		}
		queue = at
	}
	for _, name := range []string{
		msg.PropLetter, msg.PropLetterAttempts, msg.PropLetterCause, msg.PropDLQOriginTopic, msg.PropDLQOriginID,
		msg.PropRetryTopic, msg.PropOriginID, msg.PropDelay, msg.PropRealTopic, msg.PropRealQueue, msg.PropResent,
	} {
		m.SetProperty(name, "")
	}
	m.Properties = msg.WithoutCheck(m.Properties)
	m.StoreHost, m.ReconsumeTimes, m.Topic, m.QueueID = b.storeHost, 0, topic.Name, queue
	return nil
}
