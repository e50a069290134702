// SPDX-License-Identifier: Apache-2.0

package body

// QueryConsumeQueue is the answer to QUERY_CONSUME_QUEUE 321. Java:
// QueryConsumeQueueResponseBody.
type QueryConsumeQueue struct {
	Subscription  *SubscriptionData // nil without a group
	FilterData    string            // "" is absent
	Queue         []ConsumeQueueData
	MaxQueueIndex int64
	MinQueueIndex int64
}

// ConsumeQueueData is one entry of a consume queue. Java: ConsumeQueueData.
type ConsumeQueueData struct {
	PhysicOffset int64
	PhysicSize   int32
	TagsCode     int64
	Eval         bool
	BitMap       string // "" is absent
	Msg          string // "" is absent
}

// Encode returns the body.
func (q *QueryConsumeQueue) Encode() []byte { return encode(q.write) }

// Decode reads the body.
func (q *QueryConsumeQueue) Decode(data []byte) error { return decode("consume queue", data, q.read) }

func (q *QueryConsumeQueue) write(w *writer) {
	w.open('{')
	w.keyOpt("filterData", q.FilterData)
	w.keyInt("maxQueueIndex", q.MaxQueueIndex)
	w.keyInt("minQueueIndex", q.MinQueueIndex)
	writeList(w, "queueData", q.Queue, (*ConsumeQueueData).write)
	writeSubscription(w, q.Subscription)
	w.close('}')
}

func (q *QueryConsumeQueue) read(r *reader) {
	*q = QueryConsumeQueue{}
	r.object(func(key string) {
		switch key {
		case "filterData":
			q.FilterData = r.str()
		case "maxQueueIndex":
			q.MaxQueueIndex = r.int64()
		case "minQueueIndex":
			q.MinQueueIndex = r.int64()
		case "queueData":
			q.Queue = readList(r, (*ConsumeQueueData).read)
		case "subscriptionData":
			q.Subscription = readSubscription(r)
		}
	})
}

func (d *ConsumeQueueData) write(w *writer) {
	w.open('{')
	w.keyOpt("bitMap", d.BitMap)
	w.keyBool("eval", d.Eval)
	w.keyOpt("msg", d.Msg)
	w.keyInt("physicOffset", d.PhysicOffset)
	w.keyInt("physicSize", int64(d.PhysicSize))
	w.keyInt("tagsCode", d.TagsCode)
	w.close('}')
}

func (d *ConsumeQueueData) read(r *reader) {
	r.object(func(key string) {
		switch key {
		case "bitMap":
			d.BitMap = r.str()
		case "eval":
			d.Eval = r.bool()
		case "msg":
			d.Msg = r.str()
		case "physicOffset":
			d.PhysicOffset = r.int64()
		case "physicSize":
			d.PhysicSize = r.int32()
		case "tagsCode":
			d.TagsCode = r.int64()
		}
	})
}
