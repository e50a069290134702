// SPDX-License-Identifier: Apache-2.0

package body

// TopicConfig is one topic of a broker, and the answer to GET_TOPIC_CONFIG 351.
// Java: TopicConfig.
type TopicConfig struct {
	TopicName       string
	ReadQueueNums   int32
	WriteQueueNums  int32
	Perm            int32
	TopicFilterType string // SINGLE_TAG or MULTI_TAG
	TopicSysFlag    int32
	Order           bool
	Attributes      map[string]string
}

// Defaults of the Java class.
const (
	defaultQueueNums  = 16
	defaultPerm       = 6
	defaultFilterType = "SINGLE_TAG"
)

// Encode returns the body.
func (t *TopicConfig) Encode() []byte { return encode(t.write) }

// Decode reads the body.
func (t *TopicConfig) Decode(data []byte) error { return decode("topic config", data, t.read) }

func (t *TopicConfig) write(w *writer) {
	w.open('{')
	w.keyStringMap("attributes", t.Attributes)
	w.keyBool("order", t.Order)
	w.keyInt("perm", int64(t.Perm))
	w.keyInt("readQueueNums", int64(t.ReadQueueNums))
	w.keyStr("topicFilterType", orDefault(t.TopicFilterType, defaultFilterType))
	w.keyStr("topicName", t.TopicName)
	w.keyInt("topicSysFlag", int64(t.TopicSysFlag))
	w.keyInt("writeQueueNums", int64(t.WriteQueueNums))
	w.close('}')
}

func orDefault(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

func (t *TopicConfig) read(r *reader) {
	*t = TopicConfig{
		ReadQueueNums: defaultQueueNums, WriteQueueNums: defaultQueueNums,
		Perm: defaultPerm, TopicFilterType: defaultFilterType,
	}
	r.object(func(key string) {
		switch key {
		case "topicName":
			t.TopicName = r.str()
		case "readQueueNums":
			t.ReadQueueNums = r.int32()
		case "writeQueueNums":
			t.WriteQueueNums = r.int32()
		case "perm":
			t.Perm = r.int32()
		case "topicFilterType":
			t.TopicFilterType = orDefault(r.enum([]string{"SINGLE_TAG", "MULTI_TAG"}), defaultFilterType)
		case "topicSysFlag":
			t.TopicSysFlag = r.int32()
		case "order":
			t.Order = r.bool()
		case "attributes":
			t.Attributes = r.stringMap()
		}
	})
}

// TopicConfigList is the body of UPDATE_AND_CREATE_TOPIC_LIST 18, A to B. Java:
// CreateTopicListRequestBody.
type TopicConfigList struct {
	Topics []TopicConfig
}

// Encode returns the body.
func (l *TopicConfigList) Encode() []byte { return encode(l.write) }

// Decode reads the body.
func (l *TopicConfigList) Decode(data []byte) error { return decode("topic list", data, l.read) }

func (l *TopicConfigList) write(w *writer) {
	w.open('{')
	writeList(w, "topicConfigList", l.Topics, (*TopicConfig).write)
	w.close('}')
}

func (l *TopicConfigList) read(r *reader) {
	*l = TopicConfigList{}
	r.object(func(key string) {
		if key == "topicConfigList" {
			l.Topics = readList(r, (*TopicConfig).read)
		}
	})
}
