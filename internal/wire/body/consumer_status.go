// SPDX-License-Identifier: Apache-2.0

package body

// ConsumerStatus is the answer of a client to GET_CONSUMER_STATUS_FROM_CLIENT
// 221 (Queues) and of the broker to INVOKE_BROKER_TO_GET_CONSUMER_STATUS 223
// (Consumers). Java: GetConsumerStatusBody.
type ConsumerStatus struct {
	Queues    map[MessageQueue]int64            // messageQueueTable
	Consumers map[string]map[MessageQueue]int64 // consumerTable, by client id
}

// Encode returns the body.
func (c *ConsumerStatus) Encode() []byte { return encode(c.write) }

// Decode reads the body.
func (c *ConsumerStatus) Decode(data []byte) error { return decode("consumer status", data, c.read) }

func (c *ConsumerStatus) write(w *writer) {
	w.open('{')
	w.key("consumerTable")
	w.open('{')
	for _, id := range sortedKeys(c.Consumers) {
		writeQueueTable(w, id, c.Consumers[id], writeOffset)
	}
	w.close('}')
	writeQueueTable(w, "messageQueueTable", c.Queues, writeOffset)
	w.close('}')
}

func (c *ConsumerStatus) read(r *reader) {
	*c = ConsumerStatus{}
	r.object(func(key string) {
		switch key {
		case "consumerTable":
			c.Consumers = readTable(r, func(m *map[MessageQueue]int64, r *reader) {
				*m = readQueueTable(r, readOffset)
			})
		case "messageQueueTable":
			c.Queues = readQueueTable(r, readOffset)
		}
	})
}
