// SPDX-License-Identifier: Apache-2.0

package body

// TopicStatsTable is the answer to GET_TOPIC_STATS_INFO 202. Java:
// TopicStatsTable.
type TopicStatsTable struct {
	OffsetTable map[MessageQueue]TopicOffset
	TopicPutTPS float64
}

// TopicOffset has the bounds of one queue.
type TopicOffset struct {
	MinOffset           int64
	MaxOffset           int64 // exclusive
	LastUpdateTimestamp int64 // ms
}

// Encode returns the body.
func (t *TopicStatsTable) Encode() []byte { return encode(t.write) }

// Decode reads the body.
func (t *TopicStatsTable) Decode(data []byte) error { return decode("topic stats", data, t.read) }

func (t *TopicStatsTable) write(w *writer) {
	w.open('{')
	writeQueueTable(w, "offsetTable", t.OffsetTable, (*TopicOffset).write)
	w.keyFloat("topicPutTps", t.TopicPutTPS)
	w.close('}')
}

func (t *TopicStatsTable) read(r *reader) {
	*t = TopicStatsTable{}
	r.object(func(key string) {
		switch key {
		case "offsetTable":
			t.OffsetTable = readQueueTable(r, (*TopicOffset).read)
		case "topicPutTps":
			t.TopicPutTPS = r.float()
		}
	})
}

func (o *TopicOffset) write(w *writer) {
	w.open('{')
	w.keyInt("lastUpdateTimestamp", o.LastUpdateTimestamp)
	w.keyInt("maxOffset", o.MaxOffset)
	w.keyInt("minOffset", o.MinOffset)
	w.close('}')
}

func (o *TopicOffset) read(r *reader) {
	r.object(func(key string) {
		switch key {
		case "lastUpdateTimestamp":
			o.LastUpdateTimestamp = r.int64()
		case "maxOffset":
			o.MaxOffset = r.int64()
		case "minOffset":
			o.MinOffset = r.int64()
		}
	})
}
