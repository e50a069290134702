// SPDX-License-Identifier: Apache-2.0

package body

// TopicList is the answer to 206, 224, 304, 305, 311, 312, 313 and 343. Java:
// TopicList.
type TopicList struct {
	Topics     []string
	BrokerAddr string // with 304 and 343
}

// Encode returns the body.
func (l *TopicList) Encode() []byte { return encode(l.write) }

// Decode reads the body.
func (l *TopicList) Decode(data []byte) error { return decode("topic list", data, l.read) }

func (l *TopicList) write(w *writer) {
	w.open('{')
	w.keyOpt("brokerAddr", l.BrokerAddr)
	w.keyStrings("topicList", l.Topics)
	w.close('}')
}

func (l *TopicList) read(r *reader) {
	*l = TopicList{}
	r.object(func(key string) {
		switch key {
		case "topicList":
			l.Topics = r.strings()
		case "brokerAddr":
			l.BrokerAddr = r.str()
		}
	})
}
