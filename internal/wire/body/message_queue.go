// SPDX-License-Identifier: Apache-2.0

package body

import "cmp"

// MessageQueue names a queue. It is a key of many tables.
type MessageQueue struct {
	Topic      string
	BrokerName string
	QueueID    int32
}

// Compare orders queues by topic, broker and id.
func (q MessageQueue) Compare(o MessageQueue) int {
	return cmp.Or(cmp.Compare(q.Topic, o.Topic), cmp.Compare(q.BrokerName, o.BrokerName), cmp.Compare(q.QueueID, o.QueueID))
}

func (q *MessageQueue) write(w *writer) {
	w.open('{')
	w.keyStr("brokerName", q.BrokerName)
	w.keyInt("queueId", int64(q.QueueID))
	w.keyStr("topic", q.Topic)
	w.close('}')
}

func (q *MessageQueue) read(r *reader) {
	r.object(func(key string) { q.field(r, key) })
}

func (q *MessageQueue) field(r *reader, key string) {
	switch key {
	case "topic":
		q.Topic = r.str()
	case "brokerName":
		q.BrokerName = r.str()
	case "queueId":
		q.QueueID = r.int32()
	}
}
