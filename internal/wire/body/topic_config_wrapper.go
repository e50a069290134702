// SPDX-License-Identifier: Apache-2.0

package body

// TopicConfigSerializeWrapper is all topics of a broker: the answer to
// GET_ALL_TOPIC_CONFIG 21, and a part of RegisterBroker. Java:
// TopicConfigAndMappingSerializeWrapper. Static topics (the mapping tables) are
// not kept.
type TopicConfigSerializeWrapper struct {
	DataVersion        DataVersion
	MappingDataVersion DataVersion
	Topics             map[string]TopicConfig // topicConfigTable
}

// Encode returns the body.
func (t *TopicConfigSerializeWrapper) Encode() []byte { return encode(t.write) }

// Decode reads the body.
func (t *TopicConfigSerializeWrapper) Decode(data []byte) error {
	return decode("topic table", data, t.read)
}

func (t *TopicConfigSerializeWrapper) write(w *writer) {
	w.open('{')
	w.key("dataVersion")
	t.DataVersion.write(w)
	w.key("mappingDataVersion")
	t.MappingDataVersion.write(w)
	writeTable(w, "topicConfigTable", t.Topics, (*TopicConfig).write)
	w.key("topicQueueMappingDetailMap")
	w.open('{')
	w.close('}')
	w.key("topicQueueMappingInfoMap")
	w.open('{')
	w.close('}')
	w.close('}')
}

func (t *TopicConfigSerializeWrapper) read(r *reader) {
	*t = TopicConfigSerializeWrapper{}
	r.object(func(key string) {
		switch key {
		case "dataVersion":
			t.DataVersion.read(r)
		case "mappingDataVersion":
			t.MappingDataVersion.read(r)
		case "topicConfigTable":
			t.Topics = readTable(r, (*TopicConfig).read)
		}
	})
}
