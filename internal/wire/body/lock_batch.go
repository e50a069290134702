// SPDX-License-Identifier: Apache-2.0

package body

// LockBatch is the body of LOCK_BATCH_MQ 41 and UNLOCK_BATCH_MQ 42, C to B. Java:
// LockBatchRequestBody, UnlockBatchRequestBody.
type LockBatch struct {
	ConsumerGroup  string
	ClientID       string
	Queues         []MessageQueue // mqSet
	OnlyThisBroker bool
}

// LockBatchResponse is the answer to 41: the queues that the client now holds.
// Java: LockBatchResponseBody.
type LockBatchResponse struct {
	Locked []MessageQueue // lockOKMQSet
}

// Encode returns the body.
func (b *LockBatch) Encode() []byte { return encode(b.write) }

// Decode reads the body.
func (b *LockBatch) Decode(data []byte) error { return decode("lock request", data, b.read) }

func (b *LockBatch) write(w *writer) {
	w.open('{')
	w.keyStr("clientId", b.ClientID)
	w.keyStr("consumerGroup", b.ConsumerGroup)
	writeList(w, "mqSet", b.Queues, (*MessageQueue).write)
	w.keyBool("onlyThisBroker", b.OnlyThisBroker)
	w.close('}')
}

func (b *LockBatch) read(r *reader) {
	*b = LockBatch{}
	r.object(func(key string) {
		switch key {
		case "clientId":
			b.ClientID = r.str()
		case "consumerGroup":
			b.ConsumerGroup = r.str()
		case "mqSet":
			b.Queues = readList(r, (*MessageQueue).read)
		case "onlyThisBroker":
			b.OnlyThisBroker = r.bool()
		}
	})
}

// Encode returns the body.
func (b *LockBatchResponse) Encode() []byte { return encode(b.write) }

// Decode reads the body.
func (b *LockBatchResponse) Decode(data []byte) error { return decode("lock answer", data, b.read) }

func (b *LockBatchResponse) write(w *writer) {
	w.open('{')
	writeList(w, "lockOKMQSet", b.Locked, (*MessageQueue).write)
	w.close('}')
}

func (b *LockBatchResponse) read(r *reader) {
	*b = LockBatchResponse{}
	r.object(func(key string) {
		if key == "lockOKMQSet" {
			b.Locked = readList(r, (*MessageQueue).read)
		}
	})
}
