// SPDX-License-Identifier: Apache-2.0

package body

// MessageRequestMode is the body of SET_MESSAGE_REQUEST_MODE 401, A to B. Java:
// SetMessageRequestModeRequestBody.
type MessageRequestMode struct {
	Topic            string
	ConsumerGroup    string
	Mode             string // ModePull, ModePop
	PopShareQueueNum int32
}

// MessageRequestModes is the answer to GET_ALL_MESSAGE_REQUEST_MODE 402: by
// topic and group.
type MessageRequestModes struct {
	Modes map[string]map[string]MessageRequestMode // messageRequestModeMap
}

// Encode returns the body.
func (m *MessageRequestMode) Encode() []byte { return encode(m.write) }

// Decode reads the body.
func (m *MessageRequestMode) Decode(data []byte) error { return decode("request mode", data, m.read) }

func (m *MessageRequestMode) write(w *writer) {
	w.open('{')
	w.keyStr("consumerGroup", m.ConsumerGroup)
	w.keyStr("mode", orDefault(m.Mode, ModePull))
	w.keyInt("popShareQueueNum", int64(m.PopShareQueueNum))
	w.keyStr("topic", m.Topic)
	w.close('}')
}

func (m *MessageRequestMode) read(r *reader) {
	*m = MessageRequestMode{Mode: ModePull}
	r.object(func(key string) {
		switch key {
		case "topic":
			m.Topic = r.str()
		case "consumerGroup":
			m.ConsumerGroup = r.str()
		case "mode":
			m.Mode = orDefault(r.enum(requestModes()), ModePull)
		case "popShareQueueNum":
			m.PopShareQueueNum = r.int32()
		}
	})
}

// Encode returns the body.
func (m *MessageRequestModes) Encode() []byte { return encode(m.write) }

// Decode reads the body.
func (m *MessageRequestModes) Decode(data []byte) error { return decode("request modes", data, m.read) }

func (m *MessageRequestModes) write(w *writer) {
	w.open('{')
	w.key("messageRequestModeMap")
	w.open('{')
	for _, topic := range sortedKeys(m.Modes) {
		writeTable(w, topic, m.Modes[topic], (*MessageRequestMode).write)
	}
	w.close('}')
	w.close('}')
}

func (m *MessageRequestModes) read(r *reader) {
	*m = MessageRequestModes{}
	r.object(func(key string) {
		if key == "messageRequestModeMap" {
			m.Modes = readTable(r, func(groups *map[string]MessageRequestMode, r *reader) {
				*groups = readTable(r, (*MessageRequestMode).read)
			})
		}
	})
}
