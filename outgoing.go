// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"fmt"
	"strings"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
)

// outgoing is a message on its way out: checked, encoded, perhaps placed.
type outgoing struct {
	m       *Message
	id      string
	props   string // raw property string
	body    []byte // as it travels, compressed or not
	sysFlag int32
	born    int64 // ms
	queue   Queue // where it goes; zero while it is not placed
	chosen  bool  // by a selector

	laneEpoch uint64 // of the lane map that gave queue

	job    *job
	index  int // in job
	parcel order.Parcel
}

// keyLink is the link of a keyed message.
func keyLink(m *Message) link { return link{topic: m.Topic, key: m.OrderingKey} }

// encode checks m by the rules of the protocol and makes what travels of it.
// Bodies of a batch travel as they are: the protocol has no compression there.
func (p *Producer) encode(m *Message, batch bool) (*outgoing, error) {
	if err := p.checkMessage(m); err != nil {
		return nil, err
	}
	o := &outgoing{m: m, id: p.c.ids.Next(), body: m.Body, born: time.Now().UnixMilli()}
	o.props = p.properties(m, o.id)
	if len(o.props) > msg.MaxProperties {
		return nil, fmt.Errorf("%w: properties of %d bytes, at most %d", ErrTooLarge, len(o.props), msg.MaxProperties)
	}
	if !batch && p.cfg.CompressAbove >= 0 && len(m.Body) >= p.cfg.CompressAbove {
		small, err := p.c.codec.Compress(nil, m.Body, msg.Zlib)
		if err != nil {
			return nil, fmt.Errorf("orderly: send to %s: %w", m.Topic, err)
		}
		if len(small) < len(m.Body) {
			o.body, o.sysFlag = small, msg.WithCompression(0, msg.Zlib)
		}
	}
	return o, nil
}

func (p *Producer) checkMessage(m *Message) error {
	if m == nil {
		return fmt.Errorf("%w message: nil", ErrInvalid)
	}
	var f faults
	f.check("Topic", msg.CheckTopic(m.Topic))
	if !msg.Sendable(m.Topic) {
		f.add("Topic: %s takes no messages from clients", m.Topic)
	}
	if len(m.Body) == 0 {
		f.add("Body: empty")
	}
	for _, k := range m.Keys {
		if strings.ContainsAny(k, " \x01\x02") || k == "" {
			f.add("Keys: %q is empty or has a space or a separator byte", k)
		}
	}
	if strings.ContainsAny(m.Tag, "|\x01\x02") || m.Tag != strings.TrimSpace(m.Tag) {
		f.add("Tag: %q has a '|', a separator byte, or blanks around it", m.Tag)
	}
	if strings.ContainsAny(m.OrderingKey, "\x01\x02") {
		f.add("OrderingKey: %q has a separator byte (1 or 2)", m.OrderingKey)
	}
	for name, value := range m.Properties {
		f.check("Properties", msg.CheckProperty(name, value))
	}
	if err := f.err("message"); err != nil {
		return err
	}
	if len(m.Body) > p.cfg.MaxMessageSize {
		return fmt.Errorf("%w: body of %d bytes, at most %d", ErrTooLarge, len(m.Body), p.cfg.MaxMessageSize)
	}
	return nil
}

func (p *Producer) properties(m *Message, id string) string {
	buf := make([]byte, 0, 128)
	buf = msg.AppendProperty(buf, msg.PropUniqueKey, id)
	buf = msg.AppendProperty(buf, msg.PropWait, "true")
	if m.Tag != "" {
		buf = msg.AppendProperty(buf, msg.PropTags, m.Tag)
	}
	if len(m.Keys) > 0 {
		buf = msg.AppendProperty(buf, msg.PropKeys, strings.Join(m.Keys, " "))
	}
	if m.OrderingKey != "" {
		buf = msg.AppendProperty(buf, msg.PropShardingKey, m.OrderingKey)
	}
	return string(msg.AppendProperties(buf, m.Properties))
}
