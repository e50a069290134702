// SPDX-License-Identifier: Apache-2.0

package body

// ConsumerList is the answer to GET_CONSUMER_LIST_BY_GROUP 38. Java:
// GetConsumerListByGroupResponseBody.
type ConsumerList struct {
	ClientIDs []string // consumerIdList
}

// Encode returns the body.
func (l *ConsumerList) Encode() []byte { return encode(l.write) }

// Decode reads the body.
func (l *ConsumerList) Decode(data []byte) error { return decode("consumer list", data, l.read) }

func (l *ConsumerList) write(w *writer) {
	w.open('{')
	w.keyStrings("consumerIdList", l.ClientIDs)
	w.close('}')
}

func (l *ConsumerList) read(r *reader) {
	*l = ConsumerList{}
	r.object(func(key string) {
		if key == "consumerIdList" {
			l.ClientIDs = r.strings()
		}
	})
}
