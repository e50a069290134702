// SPDX-License-Identifier: Apache-2.0

package body

// ConsumerOffsets is the answer to GET_ALL_CONSUMER_OFFSET 43. Java:
// ConsumerOffsetSerializeWrapper.
type ConsumerOffsets struct {
	DataVersion DataVersion
	OffsetTable map[string]map[int32]int64 // "topic@group", queue
	PullOffsets map[string]map[int32]int64 // pullOffsetTable; nil is absent
	GroupTopics map[string][]string        // groupTopicMap; nil is absent
	TopicGroups map[string][]string        // topicGroupMap; nil is absent
}

// Encode returns the body.
func (c *ConsumerOffsets) Encode() []byte { return encode(c.write) }

// Decode reads the body.
func (c *ConsumerOffsets) Decode(data []byte) error { return decode("consumer offsets", data, c.read) }

func (c *ConsumerOffsets) write(w *writer) {
	w.open('{')
	w.key("dataVersion")
	c.DataVersion.write(w)
	if c.GroupTopics != nil {
		writeTable(w, "groupTopicMap", c.GroupTopics, writeStrings)
	}
	writeTable(w, "offsetTable", c.OffsetTable, writeQueueOffsets)
	if c.PullOffsets != nil {
		writeTable(w, "pullOffsetTable", c.PullOffsets, writeQueueOffsets)
	}
	if c.TopicGroups != nil {
		writeTable(w, "topicGroupMap", c.TopicGroups, writeStrings)
	}
	w.close('}')
}

func writeQueueOffsets(m *map[int32]int64, w *writer) { writeInts(w, *m, writeOffset) }
func readQueueOffsets(m *map[int32]int64, r *reader)  { *m = readInt32Table(r) }

func (c *ConsumerOffsets) read(r *reader) {
	*c = ConsumerOffsets{}
	r.object(func(key string) {
		switch key {
		case "dataVersion":
			c.DataVersion.read(r)
		case "groupTopicMap":
			c.GroupTopics = readTable(r, readStrings)
		case "offsetTable":
			c.OffsetTable = readTable(r, readQueueOffsets)
		case "pullOffsetTable":
			c.PullOffsets = readTable(r, readQueueOffsets)
		case "topicGroupMap":
			c.TopicGroups = readTable(r, readStrings)
		}
	})
}
