// SPDX-License-Identifier: Apache-2.0

package body

// QueueHolder says who may consume a queue of a group, and for how long. It
// rides on the answer to GET_CONSUME_STATS 208, if the request asks for it with
// header.ExtHolders; stock brokers know nothing of it.
type QueueHolder struct {
	Topic    string
	QueueID  int32
	Position int64    // committed offset, -1: none
	Epoch    int64    // of the last lease, the fence number
	Holder   string   // client id; "" if the queue is free
	Ours     bool     // the holder is a client of ours
	Since    int64    // ms; when the lease was granted
	Until    int64    // ms; when it ends unless it is refreshed
	Why      string   // held, grace, restart, leaving, taken by an operator; "" if free
	Reset    bool     // the position was reset and nobody has taken that up
	Waiting  int32    // members that asked for the queue and were refused
	Waiters  []string // the first of them, by client id
}

func (h *QueueHolder) write(w *writer) {
	w.open('{')
	w.keyInt("epoch", h.Epoch)
	w.keyStr("holder", h.Holder)
	w.keyBool("ours", h.Ours)
	w.keyInt("position", h.Position)
	w.keyInt("queueId", int64(h.QueueID))
	w.keyBool("reset", h.Reset)
	w.keyInt("since", h.Since)
	w.keyStr("topic", h.Topic)
	w.keyInt("until", h.Until)
	if len(h.Waiters) > 0 {
		w.keyStrings("waiters", h.Waiters)
	}
	w.keyInt("waiting", int64(h.Waiting))
	w.keyStr("why", h.Why)
	w.close('}')
}

func (h *QueueHolder) read(r *reader) {
	*h = QueueHolder{Position: -1}
	r.object(func(key string) { h.field(r, key) })
}

func (h *QueueHolder) field(r *reader, key string) {
	switch key {
	case "topic":
		h.Topic = r.str()
	case "queueId":
		h.QueueID = r.int32()
	case "position":
		h.Position = r.int64()
	case "epoch":
		h.Epoch = r.int64()
	case "holder":
		h.Holder = r.str()
	case "ours":
		h.Ours = r.bool()
	case "since":
		h.Since = r.int64()
	case "until":
		h.Until = r.int64()
	case "why":
		h.Why = r.str()
	case "reset":
		h.Reset = r.bool()
	case "waiters":
		h.Waiters = r.strings()
	case "waiting":
		h.Waiting = r.int32()
	}
}
