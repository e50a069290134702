// SPDX-License-Identifier: Apache-2.0

package body

// QueueLag is what a group has still to get of a queue: counted only over what
// its subscription takes and what is not settled. It rides on the answer to
// GET_CONSUME_STATS 208 beside QueueHolder; stock brokers know nothing of it.
type QueueLag struct {
	Topic    string
	QueueID  int32
	Messages int64
	Exact    bool  // else a part of it is estimated
	Oldest   int64 // ms; store time of the first of them, 0 if there is none
	Delay    int64 // ms since then, by the broker's clock
}

func (l *QueueLag) write(w *writer) {
	w.open('{')
	w.keyInt("delay", l.Delay)
	w.keyBool("exact", l.Exact)
	w.keyInt("messages", l.Messages)
	w.keyInt("oldest", l.Oldest)
	w.keyInt("queueId", int64(l.QueueID))
	w.keyStr("topic", l.Topic)
	w.close('}')
}

func (l *QueueLag) read(r *reader) {
	*l = QueueLag{}
	r.object(func(key string) {
		switch key {
		case "topic":
			l.Topic = r.str()
		case "queueId":
			l.QueueID = r.int32()
		case "messages":
			l.Messages = r.int64()
		case "exact":
			l.Exact = r.bool()
		case "oldest":
			l.Oldest = r.int64()
		case "delay":
			l.Delay = r.int64()
		}
	})
}
