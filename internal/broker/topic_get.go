// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// getTopicConfig handles GET_TOPIC_CONFIG 351.
func (b *Broker) getTopicConfig(r request) {
	var h header.GetTopicConfig
	if !r.decode(&h) {
		return
	}
	t, ok := b.topic(h.Topic)
	if !ok {
		r.fail(wire.TopicNotExist, "No topic in this broker. topic: "+h.Topic)
		return
	}
	cfg := topicBody(t)
	r.okBody(cfg.Encode())
}

// getAllTopicConfig handles GET_ALL_TOPIC_CONFIG 21. The answer has all topics,
// whatever page was asked for, and leaves the total out: tools then take it as
// complete.
func (b *Broker) getAllTopicConfig(r request) {
	all := b.topicTable(func(*meta.Topic) bool { return true })
	r.okBody(all.Encode())
}

// topicTable is all topics that want says, as they are told to others.
func (b *Broker) topicTable(want func(*meta.Topic) bool) body.TopicConfigSerializeWrapper {
	v := b.meta.View()
	version := dataVersion(v.TopicVersion())
	w := body.TopicConfigSerializeWrapper{DataVersion: version, MappingDataVersion: version, Topics: map[string]body.TopicConfig{}}
	for t := range v.Topics() {
		if want(t) {
			w.Topics[t.Name] = topicBody(t)
		}
	}
	return w
}

func dataVersion(v meta.DataVersion) body.DataVersion {
	return body.DataVersion{StateVersion: v.StateVersion, Timestamp: v.Timestamp, Counter: v.Counter}
}
