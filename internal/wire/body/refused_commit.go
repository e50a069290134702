// SPDX-License-Identifier: Apache-2.0

package body

// RefusedCommit tells of commits to a queue that did not count, of one sender
// and for one reason. It rides on the answer to GET_CONSUME_STATS 208 beside
// QueueHolder; stock brokers know nothing of it.
type RefusedCommit struct {
	Topic    string
	QueueID  int32
	Client   string // client id; "" if the connection has not told it
	Host     string // address without port
	Why      string // not the holder, lower than the position, a reset is pending, ...
	Offset   int64  // of the last one
	Position int64  // the group's position then
	Epoch    int64  // of the queue's last lease then
	Count    int64
	First    int64 // ms
	Last     int64 // ms
}

func (c *RefusedCommit) write(w *writer) {
	w.open('{')
	w.keyStr("client", c.Client)
	w.keyInt("count", c.Count)
	w.keyInt("epoch", c.Epoch)
	w.keyInt("first", c.First)
	w.keyStr("host", c.Host)
	w.keyInt("last", c.Last)
	w.keyInt("offset", c.Offset)
	w.keyInt("position", c.Position)
	w.keyInt("queueId", int64(c.QueueID))
	w.keyStr("topic", c.Topic)
	w.keyStr("why", c.Why)
	w.close('}')
}

func (c *RefusedCommit) read(r *reader) {
	*c = RefusedCommit{}
	r.object(func(key string) { c.field(r, key) })
}

func (c *RefusedCommit) field(r *reader, key string) {
	switch key {
	case "topic":
		c.Topic = r.str()
	case "queueId":
		c.QueueID = r.int32()
	case "client":
		c.Client = r.str()
	case "host":
		c.Host = r.str()
	case "why":
		c.Why = r.str()
	case "offset":
		c.Offset = r.int64()
	case "position":
		c.Position = r.int64()
	case "epoch":
		c.Epoch = r.int64()
	case "count":
		c.Count = r.int64()
	case "first":
		c.First = r.int64()
	case "last":
		c.Last = r.int64()
	}
}
