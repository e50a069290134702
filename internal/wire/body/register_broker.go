// SPDX-License-Identifier: Apache-2.0

package body

// RegisterBroker is the body of REGISTER_BROKER 103, B to N. Java:
// RegisterBrokerBody.
type RegisterBroker struct {
	FilterServers []string // filterServerList
	Topics        TopicConfigSerializeWrapper
}

// Encode returns the body.
func (b *RegisterBroker) Encode() []byte { return encode(b.write) }

// Decode reads the body.
func (b *RegisterBroker) Decode(data []byte) error {
	return decode("broker registration", data, b.read)
}

func (b *RegisterBroker) write(w *writer) {
	w.open('{')
	w.keyStrings("filterServerList", b.FilterServers)
	w.key("topicConfigSerializeWrapper")
	b.Topics.write(w)
	w.close('}')
}

func (b *RegisterBroker) read(r *reader) {
	*b = RegisterBroker{}
	r.object(func(key string) {
		switch key {
		case "filterServerList":
			b.FilterServers = r.strings()
		case "topicConfigSerializeWrapper":
			b.Topics.read(r)
		}
	})
}
