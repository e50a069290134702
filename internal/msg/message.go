// SPDX-License-Identifier: Apache-2.0

package msg

import "net/netip"

// Message is one message with everything its stored record says.
//
// The body is kept as stored: still compressed if SysFlag says so (see Plain).
type Message struct {
	Topic                     string
	QueueID                   int32
	Flag                      int32 // the application's, opaque
	SysFlag                   int32 // Flag… bits
	QueueOffset               int64
	PhysicalOffset            int64
	BornTimestamp             int64 // ms since 1970, sender's clock
	StoreTimestamp            int64 // ms since 1970, broker's clock
	BornHost                  netip.AddrPort
	StoreHost                 netip.AddrPort
	ReconsumeTimes            int32
	PreparedTransactionOffset int64
	Body                      []byte
	Properties                string // raw property string
	StoreSize                 int32  // bytes of the record; set by DecodeRecord
	BodyCRC                   uint32 // as stored; set by DecodeRecord, AppendRecord works out its own
}

// Property returns the value of one property.
func (m *Message) Property(name string) (string, bool) { return Property(m.Properties, name) }

// SetProperty replaces or adds one property; an empty value removes it.
func (m *Message) SetProperty(name, value string) {
	m.Properties = SetProperty(m.Properties, name, value)
}

// Tag returns the message's tag, "" if it has none.
func (m *Message) Tag() string { return m.text(PropTags) }

// Keys returns the space-separated index words, "" if there are none.
func (m *Message) Keys() string { return m.text(PropKeys) }

// OrderingKey returns the key that orders this message among others, "" if it
// has none. Go clients of RocketMQ that set their own name for it count too.
func (m *Message) OrderingKey() string {
	if k, ok := m.Property(PropShardingKey); ok {
		return k
	}
	return m.text(PropShardingKeyGo)
}

// OffsetID returns the id by which the broker finds the record, made of the
// broker's address and the record's place.
func (m *Message) OffsetID() string {
	host := m.StoreHost
	if m.SysFlag&FlagStoreHostV6 != 0 {
		host = netip.AddrPortFrom(netip.AddrFrom16(host.Addr().As16()), host.Port())
	}
	return OffsetID(host, m.PhysicalOffset)
}

// ID returns what RocketMQ clients show as the message id: the sender's unique
// key, or the offset id if the sender gave none.
func (m *Message) ID() string {
	if id, ok := m.Property(PropUniqueKey); ok {
		return id
	}
	return m.OffsetID()
}

func (m *Message) text(name string) string {
	v, _ := m.Property(name)
	return v
}
