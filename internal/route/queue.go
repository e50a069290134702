// SPDX-License-Identifier: Apache-2.0

package route

import (
	"cmp"
	"strconv"
)

// MessageQueue names one queue: the number alone is not enough, each broker
// counts its own from 0.
type MessageQueue struct {
	Topic, Broker string
	Queue         int32
}

// String is the text that RocketMQ's clients hash and log.
func (q MessageQueue) String() string {
	return "MessageQueue [topic=" + q.Topic + ", brokerName=" + q.Broker + ", queueId=" + strconv.Itoa(int(q.Queue)) + "]"
}

// Compare orders queues by topic, broker and number, as all members of a group
// must before they split them.
func (q MessageQueue) Compare(o MessageQueue) int {
	return cmp.Or(cmp.Compare(q.Topic, o.Topic), cmp.Compare(q.Broker, o.Broker), cmp.Compare(q.Queue, o.Queue))
}
