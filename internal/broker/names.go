// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/msg"
)

// regionID is what sends are told as their region; traces carry it.
const regionID = "DefaultRegion"

// toolGroups are the groups that exist from the start.
func toolGroups() []string {
	return []string{
		msg.GroupTools, "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "CID_ONS-HTTP-PROXY",
		"CID_ONSAPI_PULL", "CID_ONSAPI_PERMISSION", "CID_ONSAPI_OWNER",
	}
}

// isSystemTopic says whether clients may neither create nor delete the topic.
func (b *Broker) isSystemTopic(topic string) bool {
	return msg.IsSystemTopic(topic) || topic == b.cfg.Cluster || topic == b.cfg.Name || topic == b.replyTopic()
}

func (b *Broker) replyTopic() string { return b.cfg.Cluster + msg.ReplyTopicSuffix }
