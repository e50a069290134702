// SPDX-License-Identifier: Apache-2.0

package body

// ConsumerConnection is the answer to GET_CONSUMER_CONNECTION_LIST 203. Java:
// ConsumerConnection.
type ConsumerConnection struct {
	Connections       []Connection                // connectionSet
	SubscriptionTable map[string]SubscriptionData // by topic
	ConsumeType       string
	MessageModel      string
	ConsumeFromWhere  string
}

// Encode returns the body.
func (c *ConsumerConnection) Encode() []byte { return encode(c.write) }

// Decode reads the body.
func (c *ConsumerConnection) Decode(data []byte) error {
	return decode("consumer connections", data, c.read)
}

func (c *ConsumerConnection) write(w *writer) {
	w.open('{')
	writeList(w, "connectionSet", c.Connections, (*Connection).write)
	w.keyOpt("consumeFromWhere", c.ConsumeFromWhere)
	w.keyOpt("consumeType", c.ConsumeType)
	w.keyOpt("messageModel", c.MessageModel)
	writeTable(w, "subscriptionTable", c.SubscriptionTable, (*SubscriptionData).write)
	w.close('}')
}

func (c *ConsumerConnection) read(r *reader) {
	*c = ConsumerConnection{}
	r.object(func(key string) {
		switch key {
		case "connectionSet":
			c.Connections = readList(r, (*Connection).read)
		case "subscriptionTable":
			c.SubscriptionTable = readTable(r, (*SubscriptionData).read)
		case "consumeType":
			c.ConsumeType = r.enum(consumeTypes())
		case "messageModel":
			c.MessageModel = r.enum(messageModels())
		case "consumeFromWhere":
			c.ConsumeFromWhere = r.enum(consumeFromWheres())
		}
	})
}
