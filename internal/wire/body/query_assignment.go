// SPDX-License-Identifier: Apache-2.0

package body

// QueryAssignment is the body of QUERY_ASSIGNMENT 400, C to B. Java:
// QueryAssignmentRequestBody.
type QueryAssignment struct {
	Topic         string
	ConsumerGroup string
	ClientID      string
	StrategyName  string // AVG, ...
	MessageModel  string // Clustering, ...
}

// QueryAssignmentResponse is the answer to 400. Java:
// QueryAssignmentResponseBody. A client takes an answer without a list for no
// answer.
type QueryAssignmentResponse struct {
	Assignments []QueueAssignment // messageQueueAssignments
}

// QueueAssignment is one queue that the client may consume; the queue id -1 is
// every queue of the broker, in POP mode.
type QueueAssignment struct {
	Queue MessageQueue
	Mode  string // ModePull, ModePop
}

// Encode returns the body.
func (q *QueryAssignment) Encode() []byte { return encode(q.write) }

// Decode reads the body.
func (q *QueryAssignment) Decode(data []byte) error { return decode("assignment query", data, q.read) }

func (q *QueryAssignment) write(w *writer) {
	w.open('{')
	w.keyStr("clientId", q.ClientID)
	w.keyStr("consumerGroup", q.ConsumerGroup)
	w.keyOpt("messageModel", q.MessageModel)
	w.keyStr("strategyName", q.StrategyName)
	w.keyStr("topic", q.Topic)
	w.close('}')
}

func (q *QueryAssignment) read(r *reader) {
	*q = QueryAssignment{}
	r.object(func(key string) {
		switch key {
		case "topic":
			q.Topic = r.str()
		case "consumerGroup":
			q.ConsumerGroup = r.str()
		case "clientId":
			q.ClientID = r.str()
		case "strategyName":
			q.StrategyName = r.str()
		case "messageModel":
			q.MessageModel = r.enum(messageModels())
		}
	})
}

// Encode returns the body.
func (q *QueryAssignmentResponse) Encode() []byte { return encode(q.write) }

// Decode reads the body.
func (q *QueryAssignmentResponse) Decode(data []byte) error {
	return decode("assignment", data, q.read)
}

func (q *QueryAssignmentResponse) write(w *writer) {
	w.open('{')
	writeList(w, "messageQueueAssignments", q.Assignments, (*QueueAssignment).write)
	w.close('}')
}

func (q *QueryAssignmentResponse) read(r *reader) {
	*q = QueryAssignmentResponse{}
	r.object(func(key string) {
		if key == "messageQueueAssignments" {
			q.Assignments = readList(r, (*QueueAssignment).read)
		}
	})
}

func (a *QueueAssignment) write(w *writer) {
	w.open('{')
	w.key("messageQueue")
	a.Queue.write(w)
	w.keyStr("mode", orDefault(a.Mode, ModePull))
	w.close('}')
}

func (a *QueueAssignment) read(r *reader) {
	*a = QueueAssignment{Mode: ModePull}
	r.object(func(key string) {
		switch key {
		case "messageQueue":
			a.Queue.read(r)
		case "mode":
			a.Mode = orDefault(r.enum(requestModes()), ModePull)
		}
	})
}
