// SPDX-License-Identifier: Apache-2.0

package body

// ConsumeTimeSpans is the answer to QUERY_CONSUME_TIME_SPAN 303. Java:
// QueryConsumeTimeSpanBody.
type ConsumeTimeSpans struct {
	Spans []QueueTimeSpan // consumeTimeSpanSet
}

// QueueTimeSpan has the store times, in ms and as text, of a queue's first
// message, its last, and the last one consumed. Java: QueueTimeSpan.
type QueueTimeSpan struct {
	Queue                                        MessageQueue
	MinTimestamp, MaxTimestamp, ConsumeTimestamp int64
	MinText, MaxText, ConsumeText                string
	DelayTime                                    int64 // ms
}

// Encode returns the body.
func (c *ConsumeTimeSpans) Encode() []byte { return encode(c.write) }

// Decode reads the body.
func (c *ConsumeTimeSpans) Decode(data []byte) error { return decode("time spans", data, c.read) }

func (c *ConsumeTimeSpans) write(w *writer) {
	w.open('{')
	writeList(w, "consumeTimeSpanSet", c.Spans, (*QueueTimeSpan).write)
	w.close('}')
}

func (c *ConsumeTimeSpans) read(r *reader) {
	*c = ConsumeTimeSpans{}
	r.object(func(key string) {
		if key == "consumeTimeSpanSet" {
			c.Spans = readList(r, (*QueueTimeSpan).read)
		}
	})
}

func (s *QueueTimeSpan) write(w *writer) {
	w.open('{')
	w.keyInt("consumeTimeStamp", s.ConsumeTimestamp)
	w.keyOpt("consumeTimeStampStr", s.ConsumeText)
	w.keyInt("delayTime", s.DelayTime)
	w.keyInt("maxTimeStamp", s.MaxTimestamp)
	w.keyOpt("maxTimeStampStr", s.MaxText)
	w.key("messageQueue")
	s.Queue.write(w)
	w.keyInt("minTimeStamp", s.MinTimestamp)
	w.keyOpt("minTimeStampStr", s.MinText)
	w.close('}')
}

func (s *QueueTimeSpan) read(r *reader) {
	r.object(func(key string) {
		switch key {
		case "messageQueue":
			s.Queue.read(r)
		case "minTimeStamp":
			s.MinTimestamp = r.int64()
		case "maxTimeStamp":
			s.MaxTimestamp = r.int64()
		case "consumeTimeStamp":
			s.ConsumeTimestamp = r.int64()
		case "minTimeStampStr":
			s.MinText = r.str()
		case "maxTimeStampStr":
			s.MaxText = r.str()
		case "consumeTimeStampStr":
			s.ConsumeText = r.str()
		case "delayTime":
			s.DelayTime = r.int64()
		}
	})
}
